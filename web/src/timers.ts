// Deferred work: timers and frames. Each has a name, so that the page can list the pending work.

interface Timer {
  name: string;
  at: number;
  patient: boolean;
  id: ReturnType<typeof setTimeout>;
  work: () => void;
}

const timers = new Map<number, Timer>(),
  frames = new Map<number, string>();
let last = 0,
  ahead = 0;

/** changes.onChange is called whenever work is deferred, done or cancelled. */
export const changes: { onChange: () => void } = { onChange: () => undefined };

/** now returns the time in milliseconds by which timers run. runNextTimer moves it forward. */
export function now(): number {
  return performance.now() + ahead;
}

/**
 * callLater calls work after ms milliseconds, and returns a key for cancel. name is the name of the
 * timer. A patient timer waits for something outside of the page, such as the server, and runNextTimer
 * does not shorten it.
 */
export function callLater(name: string, ms: number, work: () => void, patient = false): number {
  const key = ++last;
  timers.set(key, { name, at: now() + ms, patient, work, id: setTimeout(() => run(key), ms) });
  changes.onChange();
  return key;
}

function run(key: number): void {
  const t = timers.get(key);
  if (!t) return;
  cancel(key);
  t.work();
}

/** cancel cancels the deferred work with the given key. */
export function cancel(key: number): void {
  const t = timers.get(key);
  if (!t) return;
  clearTimeout(t.id);
  timers.delete(key);
  changes.onChange();
}

/** nextFrame calls work in the next frame of the browser. */
export function nextFrame(name: string, work: () => void): number {
  const key = ++last;
  frames.set(key, name);
  changes.onChange();
  requestAnimationFrame(() => {
    frames.delete(key);
    changes.onChange();
    work();
  });
  return key;
}

/** deferred returns the names of all deferred work. */
export function deferred(): string[] {
  return [...[...timers.values()].map((t) => t.name), ...frames.values()];
}

/**
 * runNextTimer moves the clock forward to the next timer, and runs it. It does nothing while some timer is
 * patient, or while a frame is pending.
 */
export function runNextTimer(): void {
  const list = [...timers].sort((a, b) => a[1].at - b[1].at || a[0] - b[0]);
  if (list.length === 0 || frames.size > 0 || list.some(([, t]) => t.patient)) return;
  ahead += Math.max(0, list[0][1].at - now());
  run(list[0][0]);
}
