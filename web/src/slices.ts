// Long work in slices, between which the page can react.
import { drop, later } from "./later";

/** Work does a bit with each step. */
export type Work = Iterator<void, void>;

/** Run does work, immediately if that is fast; the returned function cancels it. */
export type Run = (work: Work) => () => void;

/** slice is the duration of a slice in milliseconds. */
const slice = 8;

/** atOnce does work to its end. */
export const atOnce: Run = (work) => {
  while (work.next().done !== true);
  return () => undefined;
};

/**
 * inSlices does work for the duration of a slice, and the rest later, until the signal aborts; it
 * calls done at the end.
 */
export function inSlices(work: Work, signal: AbortSignal, done: () => void): () => void {
  let timer = 0,
    over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    drop(timer);
    signal.removeEventListener("abort", end);
    done();
  };
  const step = (): void => {
    const until = performance.now() + slice;
    try {
      do {
        if (work.next().done === true) {
          end();
          return;
        }
      } while (performance.now() < until);
    } catch (e) {
      end();
      throw e;
    }
    timer = later("work in slices", 0, step);
  };
  if (signal.aborted) {
    end();
    return end;
  }
  signal.addEventListener("abort", end, { once: true });
  step();
  return end;
}

/** pause is the number of steps between two looks at the clock. */
const pause = 128;

/** each calls f for the numbers below n. */
export function* each(n: number, f: (i: number) => void): Generator<void, void> {
  for (let i = 0; i < n; i++) {
    f(i);
    if (i % pause === pause - 1) yield;
  }
}

/** sorted sorts a copy of a list; equal elements keep their order. */
export function* sorted<T>(list: readonly T[], compare: (a: T, b: T) => number): Generator<void, T[]> {
  let from = [...list],
    to = Array<T>(list.length),
    steps = 0;
  for (let run = 1; run < from.length; run *= 2) {
    for (let a = 0; a < from.length; a += 2 * run) {
      const middle = Math.min(a + run, from.length),
        end = Math.min(a + 2 * run, from.length);
      for (let i = a, j = middle, k = a; k < end; k++) {
        to[k] = i < middle && (j >= end || compare(from[i], from[j]) <= 0) ? from[i++] : from[j++];
        if (++steps % pause === 0) yield;
      }
    }
    [from, to] = [to, from];
  }
  return from;
}
