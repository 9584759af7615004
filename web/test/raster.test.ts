import { expect, test } from "vitest";
import { type Bitmap, blend, drawCurve, drawInstants, drawSpans, fill, pack, rowOf } from "../src/raster";
import { decodeTile } from "../src/tile";
import { makeTile } from "./tiles";

const white = pack("#ffffff"),
  red = pack("#ff0000"),
  grey = pack("#a9b0b8");
function bitmap(width: number, height: number): Bitmap {
  return { width, height, pixels: new Uint32Array(width * height).fill(white) };
}
function rows(b: Bitmap, letters: Record<number, string>): string[] {
  return Array.from({ length: b.height }, (_, y) =>
    [...b.pixels.subarray(y * b.width, (y + 1) * b.width)].map((p) => letters[p] ?? "?").join(""),
  );
}
const letters = { [white]: ".", [red]: "R", [grey]: "g" };

test("pack has red in the lowest byte", () => expect(pack("#123456")).toBe(0xff563412));

test("blend rounds to nearest per channel", () => {
  // (0*128 + 255*127 + 127) / 255 = 127.498 -> 127, (255*128 + 255*127 + 127) / 255 = 255
  expect(blend(pack("#ff0000"), white, 128)).toBe(pack("#ff7f7f"));
  expect(blend(red, white, 255)).toBe(red);
  expect(blend(red, white, 0)).toBe(white);
});

test("spans are drawn with seams between them, unknown regions, and partly covered columns", () => {
  const t = decodeTile(
    makeTile(12, [
      {
        track: 0,
        depth: 0,
        kind: 0,
        runs: [
          [0, 0, 4, 255, 255, 255, 7], // a seam: n >= 4 and it ends at its right edge
          [0, 4, 3, 255, 255, 255, 7], // too narrow for a seam
          [0xffffffff, 7, 2, 255, 255, 255, 0],
          [9, 9, 1, 255, 255, 255, 0], // no such region
          [0, 10, 1, 100, 100, 255, 0],
        ],
      },
    ]),
  );
  const b = bitmap(12, 4);
  drawSpans(b, t, t.strips[0], { x: 0, y: 1, w: 12, h: 2 }, new Uint32Array([red]), grey, white);
  // 128 + (100 >> 1) = 178: (0*178 + 255*77 + 127) / 255 = 77.49 -> 77
  const part = pack("#ff4d4d");
  expect(rows(b, { ...letters, [part]: "p" })).toEqual([
    "............",
    "RRR.RRRgggp.",
    "RRR.RRRgggp.",
    "............",
  ]);
});

test("spans with a height start at the bottom of the strip", () => {
  const t = decodeTile(
    makeTile(4, [
      {
        track: 0,
        depth: 0,
        kind: 0,
        runs: [
          [0, 0, 1, 255, 255, 255, 1],
          [0, 1, 1, 255, 255, 128, 1],
          [0, 2, 1, 255, 255, 0, 1],
        ],
      },
    ]),
  );
  const b = bitmap(4, 4);
  drawSpans(b, t, t.strips[0], { x: 0, y: 0, w: 4, h: 4 }, new Uint32Array([red]), grey, white);
  // (4*128 + 127) / 255 = 2.5 -> 2 rows; at least one row
  expect(rows(b, letters)).toEqual(["R...", "R...", "RR..", "RRR."]);
});

test("spans are mapped to columns and clipped to the bitmap", () => {
  const t = decodeTile(
    makeTile(4, [
      {
        track: 0,
        depth: 0,
        kind: 0,
        runs: [
          [0, 0, 1, 255, 255, 255, 1],
          [0, 2, 2, 255, 255, 255, 1],
        ],
      },
    ]),
  );
  const b = bitmap(6, 2);
  drawSpans(b, t, t.strips[0], { x: 0, y: -3, w: 6, h: 4 }, new Uint32Array([red]), grey, white, {
    scale: 2,
    offset: -1,
  });
  expect(rows(b, letters)).toEqual(["R..RRR", "......"]);
});

test("instants are translucent marks of full height", () => {
  const t = decodeTile(makeTile(4, [{ track: 0, depth: 0, kind: 1, runs: [[0xffffffff, 2, 1, 255, 3, 255, 0]] }]));
  const b = bitmap(4, 2);
  drawInstants(b, t, t.strips[0], { x: 0, y: 0, w: 4, h: 2 }, pack("#1c2127"));
  // (28*200 + 255*55 + 127) / 255 = 77.4, (33*200 + ...) = 81.4, (39*200 + ...) = 86.1
  expect(rows(b, { ...letters, [pack("#4d5156")]: "i" })).toEqual(["..i.", "..i."]);
});

test("curves have bands, connections and a filled area", () => {
  const cells = [
    [0, 0, 0, 0, 0],
    [1, 2, 2, 2, 2],
    [3, 1, 2, 1, 2],
  ];
  const t = decodeTile(makeTile(5, [{ track: 0, depth: 0, kind: 2, cells }]));
  const b = bitmap(5, 3);
  drawCurve(b, t, t.strips[0], { x: 0, y: 0, w: 5, h: 3 }, red, { low: 0, high: 2 }, false);
  // cell 0 is joined to the first value of cell 1; cell 1 has no neighbour at 2
  expect(rows(b, letters)).toEqual(["RR.R.", "R..R.", "R...."]);
  const f = bitmap(5, 3);
  drawCurve(f, t, t.strips[0], { x: 0, y: 0, w: 5, h: 3 }, red, { low: 0, high: 2 }, true);
  expect(rows(f, letters)).toEqual([".R.R.", ".R.R.", "RR.R."]);
});

test("a constant curve lies at the top, next to its label", () => {
  expect(rowOf(5, { x: 0, y: 10, w: 1, h: 8 }, { low: 5, high: 5 })).toBe(10);
  // as the tile has it
  expect(rowOf(Math.fround(0.7), { x: 0, y: 10, w: 1, h: 8 }, { low: 0.7, high: 0.7 })).toBe(10);
});

test("fill clips the rectangle to the bitmap", () => {
  const b = bitmap(3, 2);
  fill(b, { x: -1, y: 1, w: 3, h: 9 }, red);
  expect(rows(b, letters)).toEqual(["...", "RR."]);
});
