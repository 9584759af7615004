import { expect, test } from "vitest";
import { lineOf } from "./failures";

test("a failure is a line with the test, the place in the test's own file, and the message", () => {
  const stacks = [
    { file: "/w/node_modules/x.js", line: 1, column: 2 },
    { file: "/w/test/page.test.ts", line: 97, column: 11 },
    { file: "/w/test/pagetests.ts", line: 167, column: 11 },
  ];
  expect(lineOf("/w/test/page.test.ts", "the page > zooms", { message: "expected 1\n  to be 2", stacks })).toBe(
    "page.test.ts: the page > zooms (page.test.ts:97:11): expected 1 to be 2",
  );
  expect(lineOf("/w/test/page.test.ts", "all", { message: "no browser" })).toBe("page.test.ts: all: no browser");
});
