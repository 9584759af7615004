import { expect, test } from "vitest";
import { weigh } from "../src/legend";
import { decodeTile } from "../src/tile";
import { makeTile } from "./tiles";

test("a region weighs what lies in no span below, in the window alone", () => {
  const t = decodeTile(makeTile(100, [{ track: 0, depth: 0, kind: 0, runs: [[0, 0, 100, 255, 255, 255, 7]] }, { track: 0, depth: 1, kind: 0, runs: [[1, 10, 60, 255, 255, 255, 7], [2, 80, 10, 255, 102, 255, 0]] }]));
  const w = weigh(t, t.strips, 0, 100, true);
  expect([...w].map(([r, x]) => [r, Math.round(x / 255)])).toEqual([[0, 30], [1, 60], [2, 4]]);
  expect(Math.round((weigh(t, t.strips, 0, 20, true).get(0) ?? 0) / 255)).toBe(10);
  expect(weigh(t, t.strips, 0, 20, true).has(2)).toBe(false);
});

test("claims weigh by their part of the capacity, in every lane", () => {
  const t = decodeTile(makeTile(100, [{ track: 0, depth: 0, kind: 0, runs: [[0, 0, 100, 255, 255, 51, 7]] }, { track: 0, depth: 1, kind: 0, runs: [[1, 0, 50, 255, 255, 255, 7]] }]));
  const w = weigh(t, t.strips, 0, 100, false);
  expect([...w].map(([r, x]) => [r, Math.round(x / 255)])).toEqual([[0, 20], [1, 50]]);
});
