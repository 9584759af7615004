import { expect, test } from "vitest";
import { type Bitmap, oneToOne, pack } from "../src/raster";
import { drawStack, outline, pieceAt, stack } from "../src/stack";
import { decodeTile } from "../src/tile";
import { makeTile } from "./tiles";

const box = { x: 0, y: 0, w: 10, h: 10 };
/** picture draws lanes of runs as letters: region 0 is a, 1 is b; nothing is a dot. */
function picture(lanes: number[][][], r = box, m = oneToOne, least = 1, offsets = false): string[] {
  const t = decodeTile(
    makeTile(
      10,
      lanes.map((runs, depth) => ({ track: 0, depth, kind: 0, runs, offsets })),
    ),
  );
  const white = pack("#ffffff"),
    colors = new Uint32Array([pack("#ff0000"), pack("#00ff00")]);
  const b: Bitmap = { width: 10, height: 10, pixels: new Uint32Array(100).fill(white) };
  drawStack(b, t, t.strips, r, colors, pack("#808080"), m, least);
  return Array.from({ length: 10 }, (_, y) =>
    [...b.pixels.subarray(y * 10, y * 10 + 10)]
      .map((p) => (p === white ? "." : p === colors[0] ? "a" : p === colors[1] ? "b" : "o"))
      .join(""),
  );
}

test("claims with offsets are drawn at their offsets", () => {
  // a holds 20 % of the capacity from 50 % on in columns 0 to 5, b 30 % from 0 % on in columns 3 to 6, and then
  // 20 % from 90 % on, which exceeds the capacity
  const a = [0, 0, 6, 255, 255, 51, 3, 128],
    b = [
      [1, 3, 4, 255, 255, 77, 3, 0],
      [1, 7, 2, 255, 255, 51, 3, 230],
    ];
  expect(picture([[a], b], box, oneToOne, 1, true)).toEqual([
    ".......bb.",
    "..........",
    "..........",
    "aaaaaa....",
    "aaaaaa....",
    "..........",
    "..........",
    "...bbbb...",
    "...bbbb...",
    "...bbbb...",
  ]);
  // the same claims on each other
  expect(picture([[a], b], box, oneToOne, 1, false)[9]).toBe("aaaaaabbb.");
});

test("lanes are stacked, and move down when a lane below them ends", () => {
  // a holds 20 % of the capacity in columns 0 to 5, b 30 % in columns 3 to 8
  expect(picture([[[0, 0, 6, 255, 255, 51, 3]], [[1, 3, 6, 255, 255, 77, 3]]])).toEqual([
    "..........",
    "..........",
    "..........",
    "..........",
    "..........",
    "...bbb....",
    "...bbb....",
    "...bbbbbb.",
    "aaaaaabbb.",
    "aaaaaabbb.",
  ]);
});

test("if a pixel covers several claims, the height of a lane is their mean", () => {
  // half covered, 80 % of the capacity: 40 %; a line of background parts it from its neighbours
  expect(picture([[[0, 2, 1, 128, 128, 204, 0]]])).toEqual([
    ...Array.from({ length: 7 }, () => ".........."),
    "..a.......",
    "..a.......",
    "..a.......",
  ]);
});

test("small amounts stay visible, and amounts beyond the capacity are clipped", () => {
  expect(picture([[[0, 0, 3, 255, 255, 0, 1]]])[9]).toBe("aaa.......");
  const over = picture([[[0, 0, 3, 255, 255, 204, 1]], [[1, 0, 3, 255, 255, 204, 1]]]);
  expect(over.map((x) => x[0]).join("")).toBe("bb.aaaaaaa");
});

test("neighbouring claims are separated, columns are mapped, and an unknown region has the colour of others", () => {
  expect(
    picture([
      [
        [0, 0, 5, 255, 255, 77, 7],
        [1, 5, 5, 255, 255, 77, 7],
      ],
    ])[9],
  ).toBe("aaaa.bbbb.");
  expect(picture([[[0xffffffff, 1, 2, 255, 255, 77, 1]]], box, { scale: 2, offset: -1 })[9]).toBe(".oooo.....");
});

test("pieceAt finds the piece at a point, and outline surrounds all of a run", () => {
  const t = decodeTile(
    makeTile(10, [
      { track: 0, depth: 0, kind: 0, runs: [[0, 0, 6, 255, 255, 51, 3]] },
      { track: 0, depth: 1, kind: 0, runs: [[1, 3, 6, 255, 255, 77, 3]] },
    ]),
  );
  const p = stack(t, t.strips, box, oneToOne, 1);
  expect(pieceAt(p, 4, 6)).toMatchObject({ depth: 1, run: 1 });
  expect(pieceAt(p, 4, 9)).toMatchObject({ depth: 0, run: 0 });
  expect(pieceAt(p, 7, 9)).toMatchObject({ depth: 1, run: 1 });
  expect(pieceAt(p, 1, 4)).toBeNull();
  expect(outline(p, 1)).toEqual([
    [3, 5],
    [6, 5],
    [6, 7],
    [9, 7],
    [9, 10],
    [6, 10],
    [6, 8],
    [3, 8],
  ]);
});
