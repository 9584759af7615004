import { expect, test } from "vitest";
import { ApiError, say } from "../src/api";
import { left } from "../src/indexing";

test("what remains follows from the progress since the first look", () => {
  // from 20 % to 40 % in 10 s: 60 % take 30 s
  expect(left(0.2, 0.4, 10)).toBeCloseTo(30, 9);
  expect(left(0.2, 0.4, 1)).toBeNull();
  expect(left(0.2, 0.2, 100)).toBeNull();
});

test("errors are said in words", () => {
  expect(say(new TypeError("Failed to fetch"))).toContain("does not answer");
  expect(say(new ApiError("the sentence of the server", 503))).toBe("the sentence of the server");
});
