import { expect, test } from "vitest";
import { atOnce, each, inSlices, sorted } from "../src/slices";

test("what compares as equal stays as it is", () => {
  const list = Array.from({ length: 1001 }, (_, i) => ({ key: (i * 7919) % 13, i }));
  let out: typeof list = [];
  atOnce((function* () { out = yield* sorted(list, (a, b) => a.key - b.key); })());
  expect(out).toEqual([...list].sort((a, b) => a.key - b.key || a.i - b.i));
  atOnce((function* () { out = yield* sorted([], () => 0); })());
  expect(out).toEqual([]);
});

test("work that takes long is done in slices, and not when it is given up", async () => {
  const slowly = (n: number, seen: number[]) => (function* () { yield* each(n, (i) => { const until = performance.now() + 0.2; while (performance.now() < until); seen.push(i); }); })();
  const all: number[] = [], some: number[] = [], abort = new AbortController();
  await new Promise<void>((done) => { inSlices(slowly(1000, all), new AbortController().signal, done); expect(all.length).toBeLessThan(1000); });
  expect(all).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  let ended = 0;
  inSlices(slowly(1000, some), abort.signal, () => ended++);
  abort.abort();
  const at = some.length;
  await new Promise((r) => setTimeout(r, 50));
  expect([ended, some.length]).toEqual([1, at]);
});
