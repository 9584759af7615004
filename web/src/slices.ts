// Long work in slices. Between two slices, the page reacts to the user.
import { cancel, callLater } from "./timers";

/** Work is work that makes a little progress with each step of the iterator. */
export type Work = Iterator<void, void>;

/** Run starts work, and may finish it later. The function that it returns cancels the work. */
export type Run = (work: Work) => () => void;

/** slice is the duration of a slice in milliseconds. */
const slice = 8;

/** runAtOnce does all of the work before it returns. */
export const runAtOnce: Run = (work) => {
  while (work.next().done !== true);
  return () => undefined;
};

/**
 * inSlices does a slice of the work now, and further slices later, until the work ends or the
 * signal aborts. It calls done in both cases.
 */
export function inSlices(work: Work, signal: AbortSignal, done: () => void): () => void {
  let timer = 0,
    over = false;
  const end = (): void => {
    if (over) return;
    over = true;
    cancel(timer);
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
    timer = callLater("work in slices", 0, step);
  };
  if (signal.aborted) {
    end();
    return end;
  }
  signal.addEventListener("abort", end, { once: true });
  step();
  return end;
}

/** stepsPerCheck is the number of steps after which the clock is read again. */
const stepsPerCheck = 128;

/** each calls f with the numbers from 0 to n − 1. */
export function* each(n: number, f: (i: number) => void): Generator<void, void> {
  for (let i = 0; i < n; i++) {
    f(i);
    if (i % stepsPerCheck === stepsPerCheck - 1) yield;
  }
}

/** sorted returns a sorted copy of a list. Equal elements keep their order. */
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
        if (++steps % stepsPerCheck === 0) yield;
      }
    }
    [from, to] = [to, from];
  }
  return from;
}
