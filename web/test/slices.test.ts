import { expect, test, vi } from "vitest";
import { runAtOnce, each, inSlices, sorted } from "../src/slices";

test("sorting keeps the order of equal elements", () => {
  const list = Array.from({ length: 1001 }, (_, i) => ({ key: (i * 7919) % 13, i }));
  let out: typeof list = [];
  runAtOnce(
    (function* () {
      out = yield* sorted(list, (a, b) => a.key - b.key);
    })(),
  );
  expect(out).toEqual([...list].sort((a, b) => a.key - b.key || a.i - b.i));
  runAtOnce(
    (function* () {
      out = yield* sorted([], () => 0);
    })(),
  );
  expect(out).toEqual([]);
});

test("long work runs in slices, and stops when it is cancelled", () => {
  let time = 0;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(performance, "now").mockImplementation(() => time);
  try {
    // a step takes a fifth of a millisecond, and the clock is looked at after 128
    const slowly = (n: number, seen: number[]) =>
      (function* () {
        yield* each(n, (i) => {
          time += 0.2;
          seen.push(i);
        });
      })();
    const all: number[] = [],
      some: number[] = [],
      abort = new AbortController();
    let done = 0,
      ended = 0;
    inSlices(slowly(1000, all), new AbortController().signal, () => done++);
    expect([done, all.length]).toEqual([0, 128]);
    vi.runAllTimers();
    expect(done).toBe(1);
    expect(all).toEqual(Array.from({ length: 1000 }, (_, i) => i));
    inSlices(slowly(1000, some), abort.signal, () => ended++);
    abort.abort();
    expect(vi.getTimerCount()).toBe(0);
    expect([ended, some.length]).toEqual([1, 128]);
  } finally {
    vi.useRealTimers();
    vi.restoreAllMocks();
  }
});
