import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sources } from "../src/panels/findings";

test("each type of finding that the server sends has a panel with its figures", () => {
  const text = readFileSync(new URL("../../serve/openapi.json", import.meta.url), "utf8"),
    ids = [...text.matchAll(/"enum": (\[[^\]]*"late"[^\]]*\])/g)].map((m) => JSON.parse(m[1]!) as string[]);
  expect(ids).toEqual([expect.arrayContaining(Object.keys(sources))]);
  expect(ids[0]!.length).toBe(Object.keys(sources).length);
});
