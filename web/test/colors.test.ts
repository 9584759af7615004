import { expect, test } from "vitest";
import { contrast, ink, shareColors } from "../src/colors";

test("the contrast of two colours equals that of WCAG", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 5);
  // two examples of WebAIM's contrast checker
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
  expect(contrast("#0000ff", "#ffffff")).toBeCloseTo(8.59, 2);
});

test("names in spans are readable on any colour", () => {
  for (let v = 0; v < 0x1000; v++) {
    const hex = "#" + [v >> 8, (v >> 4) & 15, v & 15].map((x) => x.toString(16).repeat(2)).join("");
    expect(contrast(hex, ink(hex))).toBeGreaterThanOrEqual(4.5);
  }
});

test("a name has the same colour in all traces, and the names of a trace have different colours if possible", () => {
  const trace = (...regions: [string, number][]): Parameters<typeof shareColors>[0][0] => ({
    regions: regions.map(([name, color]) => ({ name, color, group: "" })),
    palettes: { light: ["a", "b", "c", "d"], dark: [] },
  });
  const of = (...l: Parameters<typeof shareColors>[0]): Record<string, number> =>
    Object.fromEntries(shareColors(l).regions);
  // of one trace they are as the server says
  expect(of(trace(["f", 1], ["g", 1], ["h", 0]))).toEqual({ f: 1, g: 1, h: 0 });
  // x keeps its colour although y, which comes before it, needs another one
  expect(of(trace(["f", 0], ["g", 1]), trace(["f", 3], ["y", 1], ["x", 2]))).toEqual({ f: 0, g: 1, y: 3, x: 2 });
  // none is free: y and z share colours with names that their trace does not have, y its own
  expect(of(trace(["f", 0], ["g", 1], ["h", 2], ["i", 3]), trace(["f", 2], ["y", 2], ["z", 0]))).toEqual({
    f: 0,
    g: 1,
    h: 2,
    i: 3,
    y: 2,
    z: 1,
  });
});
