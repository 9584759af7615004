import { expect, test } from "vitest";
import type { RegionInfo, TrackInfo } from "../src/api";
import { fullNames, regionLabels } from "../src/lane";
import { leftOut } from "../src/panels/profile";

test("regions with the same name get their file and line if these differ", () => {
  const r = (name: string, file?: string, line?: number): RegionInfo => ({ name, group: "", color: 0, file, line });
  expect(
    regionLabels([
      r("work", "a.c", 3),
      r("work", "a.c", 3),
      r("work", "a.c", 9),
      r("work"),
      r("f", "b.c", 1),
      r("f", "b.c", 1),
      r("g", undefined, 7),
      r("g", "c.c"),
      r("", "d.c", 1),
      r("", "d.c", 2),
      r("h", "e.c", -1),
      r("h", "", -1),
    ]),
  ).toEqual([
    "work (a.c:3)",
    "work (a.c:3)",
    "work (a.c:9)",
    "work (no place)",
    "f",
    "f",
    "g (line 7)",
    "g (c.c)",
    "",
    "",
    "h (e.c)",
    "h (no place)",
  ]);
});

test("tracks with the same name and group get their id, and counters the id of their location", () => {
  const t = (kind: TrackInfo["kind"], name: string, id: string, group: number, parent = -1): TrackInfo =>
    ({ kind, name, id, group, parent, sort: "" }) as TrackInfo;
  expect(
    fullNames({
      groups: [
        { name: "node", kind: "node", parent: -1 },
        { name: "rank 1", kind: "process", parent: 0 },
      ],
      tracks: [
        t("location", "Master thread", "7", 0),
        t("location", "Master thread", "8", 0),
        t("location", "Master thread", "9", 1),
        t("resource", "Master thread", "10", 0),
        t("counter", "memory", "1", 0, 0),
        t("counter", "memory", "1", 0, 1),
        t("counter", "load", "1", -1),
        t("counter", "load", "2", -1),
        t("location", "", "11", -1),
      ],
    }),
  ).toEqual([
    "node · Master thread (7)",
    "node · Master thread (8)",
    "rank 1 · Master thread",
    "node · Master thread",
    "node · Master thread (7) · memory",
    "node · Master thread (8) · memory",
    "load (1)",
    "load (2)",
    "location 11",
  ]);
});

test("the profile states how many rows are left out", () => {
  const lacks = (rows: number): { rows: null; left: { rows: number; exclusive: string; held: string } } => ({
    rows: null,
    left: { rows, exclusive: "0", held: "0" },
  });
  expect(leftOut(lacks(0))).toBe("");
  expect(leftOut(lacks(1))).toBe("1 row with less exclusive time is left out");
  expect(leftOut(lacks(668000))).toBe("668\u202F000 rows with less exclusive time are left out");
});
