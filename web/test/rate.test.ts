import { expect, test } from "vitest";
import { rateOf } from "../src/rate";
import { decodeTile } from "../src/tile";
import { makeTile } from "./tiles";

test("a rate is the growth since the previous value, and is constant between two values", () => {
  // 10 until column 2, 16 from there on, 12 from column 6 on
  const values = [10, 10, 16, 16, 16, 16, 12, 12],
    cells = values.map((v, i) => [
      i,
      Math.min(v, values[i - 1] ?? v),
      Math.max(v, values[i - 1] ?? v),
      values[i - 1] ?? v,
      v,
    ]);
  const t = decodeTile(makeTile(8, [{ track: 0, depth: 0, kind: 2, cells }])),
    r = rateOf(t, t.strips[0], 0.5);
  // +6 in 2 columns of half a second, −4 in 4 of them, then nothing
  expect([...r.tile.max]).toEqual([0, 6, 6, -2, -2, -2, -2, 0]);
  expect([r.low, r.high]).toEqual([-2, 6]);
});

test("without cells there is no rate", () => {
  const t = decodeTile(makeTile(8, [{ track: 0, depth: 0, kind: 2, cells: [] }])),
    r = rateOf(t, t.strips[0], 1);
  expect([r.tile.max.length, r.low, r.high]).toEqual([0, 0, 0]);
});
