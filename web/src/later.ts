// Deferred work: timers and frames with names, so that the page knows what is pending.

interface Timer {
  what: string;
  at: number;
  patient: boolean;
  id: ReturnType<typeof setTimeout>;
  work: () => void;
}

const timers = new Map<number, Timer>(),
  frames = new Map<number, string>();
let last = 0,
  ahead = 0;

/** changes.onChange is called whenever work is deferred, done or dropped. */
export const changes: { onChange: () => void } = { onChange: () => undefined };

/** now is the time in milliseconds by which work is deferred; hurry advances it. */
export function now(): number {
  return performance.now() + ahead;
}

/**
 * later does work after some milliseconds. Its result can be passed to drop. Patient work waits for
 * something else, such as the server, and cannot be hurried.
 */
export function later(what: string, ms: number, work: () => void, patient = false): number {
  const key = ++last;
  timers.set(key, { what, at: now() + ms, patient, work, id: setTimeout(() => run(key), ms) });
  changes.onChange();
  return key;
}

function run(key: number): void {
  const t = timers.get(key);
  if (!t) return;
  drop(key);
  t.work();
}

/** drop cancels deferred work. */
export function drop(key: number): void {
  const t = timers.get(key);
  if (!t) return;
  clearTimeout(t.id);
  timers.delete(key);
  changes.onChange();
}

/** nextFrame does work in the next frame. */
export function nextFrame(what: string, work: () => void): number {
  const key = ++last;
  frames.set(key, what);
  changes.onChange();
  requestAnimationFrame(() => {
    frames.delete(key);
    changes.onChange();
    work();
  });
  return key;
}

/** deferred returns the names of deferred work. */
export function deferred(): string[] {
  return [...[...timers.values()].map((t) => t.what), ...frames.values()];
}

/**
 * hurry advances the clock to the next timer, as if nothing happened until then. It does nothing if
 * that timer is patient or a frame is pending.
 */
export function hurry(): void {
  const list = [...timers].sort((a, b) => a[1].at - b[1].at || a[0] - b[0]);
  if (list.length === 0 || frames.size > 0 || list.some(([, t]) => t.patient)) return;
  ahead += Math.max(0, list[0][1].at - now());
  run(list[0][0]);
}
