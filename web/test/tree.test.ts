import { expect, test } from "vitest";
import { readOpen, writeOpen } from "../src/panels/tree";

/** written returns the result of writeOpen. */
function written(open: ReadonlySet<string>): string {
  for (const w = writeOpen(open); ;) {
    const r = w.next();
    if (r.done === true) return r.value;
  }
}

test("an address restores the open call paths", () => {
  const open = new Set(["3", "3.1", "3.1.2", "3.10", "30", "7"]);
  expect(written(open)).toBe("3.1.2_3.10_30_7");
  expect(readOpen(written(open))).toEqual(open);
  expect(written(new Set())).toBe("-");
  expect(readOpen("-")).toEqual(new Set());
});

test("an address omits paths below a closed path", () => expect(written(new Set(["1", "2.1", "2.1.1"]))).toBe("1"));

test("an address holds a limited number of open paths", () => {
  const many = new Set(Array.from({ length: 1000 }, (_, i) => String(1000 + i)));
  expect(written(many).length).toBeLessThanOrEqual(1000);
  expect(readOpen(written(many)).size).toBe(200);
});

test("invalid paths are left out", () => expect(readOpen("1.x_..2_3.4_")).toEqual(new Set(["3", "3.4"])));
