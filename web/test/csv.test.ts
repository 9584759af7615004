import { expect, test } from "vitest";
import { csv, fileName } from "../src/export";
import { ranges } from "../src/api";
import { accessibleName, printable } from "../src/dom";
import { valid } from "../src/notes";
import { formatValue, withoutRounding } from "../src/panels/counters";

test("CSV quotes the cells that need it", () => {
  expect(
    csv(
      ["region", "n"],
      [
        ["a,b", 1],
        ['say "hi"', 2n],
        ["two\nlines", 1.5],
        ["plain", -3],
      ],
    ),
  ).toBe('region,n\r\n"a,b",1\r\n"say ""hi""",2\r\n"two\nlines",1.5\r\nplain,-3\r\n');
});

test("CSV protects names that a spreadsheet would execute as formulas", () => {
  expect(csv(["n"], [["=1+1"], ["@x"], ["+f"], ["-f"], ["-12"]])).toBe(
    'n\r\n"\'=1+1"\r\n"\'@x"\r\n"\'+f"\r\n"\'-f"\r\n-12\r\n',
  );
});

test("CSV keeps all digits of times beyond 2^53", () =>
  expect(csv(["t"], [[9007199254740993n]])).toBe("t\r\n9007199254740993\r\n"));

test("exported files have valid names", () => {
  expect(fileName("a/b <c>.otf2", ".png")).toBe("a_b_c_.otf2.png");
  expect(fileName("..", ".csv")).toBe(".csv");
});

test("track numbers are combined into ranges", () => {
  expect(ranges([0, 1, 2, 5, 7, 8])).toBe("0-2,5,7-8");
  expect(ranges([])).toBe("");
});

test("printable shows characters that would hide text or change its direction", () =>
  expect(printable("a\u202Eb\u0000c\u2066")).toBe("a\uFFFDb\uFFFDc\uFFFD"));

test("invalid notes in a file are left out or rejected", () => {
  expect(
    valid({
      notes: [{ id: "x", from: "1", to: "2", track: 3, text: "hi", created: "" }, { from: "a", to: "2" }, 7, null],
    }),
  ).toEqual([{ id: "x", from: "1", to: "2", track: 3, text: "hi", created: "" }]);
  expect(valid({ notes: null })).toEqual([]);
  expect(() => valid({ notes: "no" })).toThrow("notes");
});

test("computed values are written without digits of rounding errors", () => {
  const values = [0.00751 - 0.002495, 1 / 3, 0.1 + 0.2, undefined, 9007199254740991];
  expect(values.map(withoutRounding)).toEqual([0.005015, 0.333333333333333, 0.3, undefined, 9007199254740991]);
});

test("the accessible name of a control has the symbols of a name, and no pictograms", () => {
  expect(accessibleName("id=50% ✕", "Show all spans")).toBe("id=50%: Show all spans");
  expect(accessibleName("operator()", "A region")).toBe("operator(): A region");
  expect(accessibleName("next ▶", "Next span")).toBe("Next span");
  expect(accessibleName("View…", "What colours stand for")).toBe("View: What colours stand for");
  expect(accessibleName("✕", "Close")).toBe("Close");
});

test("values have six digits, and a space between thousands like all numbers", () => {
  const thin = "\u202F";
  expect([36389.68, -1464190.25, 0.03125, 42, 1.5e21].map(formatValue)).toEqual([
    `36${thin}389.7`,
    `−1${thin}464${thin}190`,
    "0.03125",
    "42",
    "1.5e+21",
  ]);
});
