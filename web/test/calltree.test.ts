import { expect, test } from "vitest";
import { readOpen, writeOpen } from "../src/panels/calltree";

test("open call paths come back from an address", () => {
  const open = new Set(["3", "3.1", "3.1.2", "3.10", "30", "7"]);
  expect(writeOpen(open)).toBe("3.1.2_3.10_30_7");
  expect(readOpen(writeOpen(open))).toEqual(open);
  expect(writeOpen(new Set())).toBe("-");
  expect(readOpen("-")).toEqual(new Set());
});

test("paths below a closed one are not in an address", () => expect(writeOpen(new Set(["1", "2.1", "2.1.1"]))).toBe("1"));

test("an address has room for so many open paths", () => {
  const many = new Set(Array.from({ length: 1000 }, (_, i) => String(1000 + i)));
  expect(writeOpen(many).length).toBeLessThanOrEqual(1000);
  expect(readOpen(writeOpen(many)).size).toBe(200);
});

test("what is no path is left out", () => expect(readOpen("1.x_..2_3.4_")).toEqual(new Set(["3", "3.4"])));
