import { expect, test } from "vitest";
import { decodeTile, runAt } from "../src/tile";
import { timeInside } from "../src/hit";
import { makeTile } from "./tiles";

test("a tile that was encoded by hand is decoded", () => {
  const t = decodeTile(
    makeTile(100, [
      {
        track: 3,
        depth: 1,
        kind: 0,
        runs: [
          [7, 10, 5, 255, 255, 255, 7],
          [8, 20, 1, 100, 60, 255, 0],
        ],
      },
      {
        track: 4,
        depth: 0,
        kind: 2,
        cells: [
          [0, 1.5, 2.5, 1.5, 2],
          [1, 2, 3, 2, 3],
        ],
      },
    ]),
  );
  expect(t.width).toBe(100);
  expect(t.strips).toEqual([
    { track: 3, depth: 1, kind: 0, first: 0, count: 2, uniform: true, offsets: false },
    { track: 4, depth: 0, kind: 2, first: 0, count: 2, uniform: true, offsets: false },
  ]);
  expect([...t.region]).toEqual([7, 8]);
  expect([...t.x]).toEqual([10, 20]);
  expect([...t.n]).toEqual([5, 1]);
  expect([...t.cover]).toEqual([255, 100]);
  expect([...t.share]).toEqual([255, 60]);
  expect([...t.flags]).toEqual([7, 0]);
  expect([...t.cellX]).toEqual([0, 1]);
  expect([...t.min]).toEqual([1.5, 2]);
  expect([...t.max]).toEqual([2.5, 3]);
  expect([...t.start]).toEqual([1.5, 2]);
  expect([...t.end]).toEqual([2, 3]);
});

test("damaged tiles are rejected with a message", () => {
  expect(() => decodeTile(new ArrayBuffer(3))).toThrow("3 bytes");
  expect(() => decodeTile(new ArrayBuffer(24))).toThrow("weftile2");
  const whole = makeTile(10, [{ track: 0, depth: 0, kind: 0, runs: [[1, 0, 1, 255, 255, 255, 0]] }]);
  for (let n = 0; n < whole.byteLength; n++) expect(() => decodeTile(whole.slice(0, n)), `cut at ${n}`).toThrow();
  const wrong = whole.slice(0);
  new DataView(wrong).setUint32(24 + 12, 2, true);
  expect(() => decodeTile(wrong)).toThrow("strip 0");
});

test("a strip with heights is not uniform", () => {
  expect(
    decodeTile(makeTile(10, [{ track: 0, depth: 0, kind: 0, runs: [[1, 0, 1, 255, 255, 254, 0]] }])).strips[0].uniform,
  ).toBe(false);
});

test("runAt finds the run at a column, or the nearest one", () => {
  const t = decodeTile(
    makeTile(100, [
      {
        track: 0,
        depth: 0,
        kind: 0,
        runs: [
          [1, 10, 5, 255, 255, 255, 0],
          [2, 20, 1, 255, 255, 255, 0],
        ],
      },
    ]),
  );
  const s = t.strips[0];
  expect(runAt(t, s, 9)).toBe(-1);
  expect(runAt(t, s, 10)).toBe(0);
  expect(runAt(t, s, 14)).toBe(0);
  expect(runAt(t, s, 15)).toBe(-1);
  expect(runAt(t, s, 20)).toBe(1);
  expect(runAt(t, s, 18, 2)).toBe(1);
  expect(runAt(t, s, 16, 2)).toBe(0);
  expect(runAt(t, s, 15, 1)).toBe(0);
  expect(runAt(t, s, 16, 1)).toBe(-1);
  expect(runAt(t, s, 30, 2)).toBe(-1);
});

test("timeInside returns a time within the span for each pixel of the span", () => {
  const all = 7;
  // 8 ticks in 20 columns, two and a half each: a span from 2 to 3 has those from 5 to 7, of the last one half
  const g = { from: 100n, to: 108n, width: 20 },
    t = { x: new Uint16Array([5, 12]), n: new Uint16Array([3, 8]), flags: new Uint8Array([all, 3]) };
  expect([101n, 102n, 103n].map((time) => timeInside(g, t, 0, time))).toEqual([102n, 102n, 102n]);
  // one that began in the second half of a column and goes on beyond the tile
  expect([104n, 105n, 107n, 108n].map((time) => timeInside(g, t, 1, time))).toEqual([105n, 105n, 107n, 108n]);
  // hundreds of ticks in a column: nothing is known of a span of one column
  expect(
    timeInside(
      { from: 0n, to: 100000n, width: 100 },
      { x: new Uint16Array([4]), n: new Uint16Array([1]), flags: new Uint8Array([all]) },
      0,
      4321n,
    ),
  ).toBe(4321n);
});
