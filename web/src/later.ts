// What the page puts off: timers and frames with names, so that it can tell what is still to come.

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

/** changes.told is called whenever something is put off, is done or is dropped. */
export const changes: { told: () => void } = { told: () => undefined };

/** now is the time by which work is put off, in milliseconds; hurry puts it forward. */
export function now(): number {
  return performance.now() + ahead;
}

/** later does work after some milliseconds; the result is for drop. What is patient waits for others, such as the server, and cannot be hurried. */
export function later(what: string, ms: number, work: () => void, patient = false): number {
  const key = ++last;
  timers.set(key, { what, at: now() + ms, patient, work, id: setTimeout(() => run(key), ms) });
  changes.told();
  return key;
}

function run(key: number): void {
  const t = timers.get(key);
  if (!t) return;
  drop(key);
  t.work();
}

/** drop gives up what is put off. */
export function drop(key: number): void {
  const t = timers.get(key);
  if (!t) return;
  clearTimeout(t.id);
  timers.delete(key);
  changes.told();
}

/** nextFrame does work in the next frame. */
export function nextFrame(what: string, work: () => void): number {
  const key = ++last;
  frames.set(key, what);
  changes.told();
  requestAnimationFrame(() => {
    frames.delete(key);
    changes.told();
    work();
  });
  return key;
}

/** putOff names what is put off. */
export function putOff(): string[] {
  return [...[...timers.values()].map((t) => t.what), ...frames.values()];
}

/** hurry puts the clock forward to the timer that is due first, as if nothing happened until then; it does nothing where a timer is patient or a frame is to come. */
export function hurry(): void {
  const list = [...timers].sort((a, b) => a[1].at - b[1].at || a[0] - b[0]);
  if (list.length === 0 || frames.size > 0 || list.some(([, t]) => t.patient)) return;
  ahead += Math.max(0, list[0][1].at - now());
  run(list[0][0]);
}
