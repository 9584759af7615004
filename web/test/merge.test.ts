import { expect, test } from "vitest";
import type { ProfileRow } from "../src/api";
import { leftOut, mergeByName } from "../src/panels/merge";

const row = (region: number, name: string, count: number, inclusive: string, exclusive: string, min: string, max: string): ProfileRow => ({ track: -1, group: -1, region, name, count, inclusive, exclusive, min, max, sum: inclusive });

test("regions of one name are added up exactly", () => {
  const m = mergeByName([row(4, "MPI_Send", 1, "9007199254740993", "9007199254740993", "9007199254740993", "9007199254740993"), row(2, "main", 1, "7", "1", "7", "7"), row(9, "MPI_Send", 3, "6", "5", "1", "3")]);
  expect(m).toEqual([
    row(4, "MPI_Send", 4, "9007199254740999", "9007199254740998", "1", "9007199254740993"),
    row(2, "main", 1, "7", "1", "7", "7"),
  ]);
});

test("calls and claims of one name are never added up", () => {
  const claim = { ...row(4, "job", 1, "5", "5", "5", "5"), kind: "claim" };
  expect(mergeByName([row(4, "job", 1, "7", "7", "7", "7"), claim, row(5, "job", 1, "1", "1", "1", "1")]).map((r) => [r.kind, r.count, r.inclusive])).toEqual([[undefined, 2, "8"], ["claim", 1, "5"]]);
});

test("a profile that lacks rows says so", () => {
  const lacks = (rows: number): { rows: null; left: { rows: number; exclusive: string; held: string } } => ({ rows: null, left: { rows, exclusive: "0", held: "0" } });
  expect(leftOut(lacks(0), false)).toBe("");
  expect(leftOut(lacks(1), false)).toBe("1 row with less exclusive time is left out");
  expect(leftOut(lacks(668000), true)).toBe("668\u202F000 rows with less exclusive time are not in these sums");
});
