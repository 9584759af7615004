import { expect, test } from "vitest";
import { columnsByRegion } from "../src/legend";
import { decodeTile } from "../src/tile";
import { makeTile } from "./tiles";

test("the legend orders regions by the columns in their colour, within the window", () => {
  const t = decodeTile(
    makeTile(100, [
      {
        track: 0,
        depth: 0,
        kind: 0,
        runs: [
          [0, 0, 70, 255, 255, 255, 7],
          [1, 70, 10, 255, 255, 255, 7],
          [0, 80, 20, 255, 102, 255, 0],
        ],
      },
      { track: 0, depth: 1, kind: 0, runs: [[2, 0, 100, 255, 255, 255, 7]] },
    ]),
  );
  expect([...columnsByRegion(t, t.strips[0], 0, 100)]).toEqual([
    [0, 90],
    [1, 10],
  ]);
  expect([...columnsByRegion(t, t.strips[0], 60, 75)]).toEqual([
    [0, 10],
    [1, 5],
  ]);
});

test("the legend counts claims by their share of the capacity", () => {
  const t = decodeTile(makeTile(100, [{ track: 0, depth: 0, kind: 0, runs: [[0, 0, 100, 255, 255, 51, 7]] }]));
  expect([...columnsByRegion(t, t.strips[0], 0, 100)]).toEqual([[0, 20]]);
});
