import { expect, test } from "vitest";
import { contrast, ink } from "../src/colors";

test("contrast is that of WCAG", () => {
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
