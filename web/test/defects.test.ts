import { expect, test } from "vitest";
import type { Defect } from "../src/api";
import type { TrackInfo } from "../src/api";
import { countAnswers, placeOf } from "../src/panels/defects";

const defect = (severity: string): Defect => ({
  rule: "r",
  severity,
  message: "",
  file: "",
  position: "",
  time: "",
  track: -1,
});
const answer = (more: number, ...severities: string[]): { defects: Defect[]; more: number } => ({
  defects: severities.map(defect),
  more,
});

test("the text states the number of defects of all traces, without notes", () => {
  expect(countAnswers([answer(0, "note"), { defects: null, more: 0 }])).toEqual({ count: 0, words: "", bad: false });
  expect(countAnswers([answer(0, "warning", "note")])).toEqual({ count: 1, words: "1 warning", bad: false });
  expect(countAnswers([answer(0, "error", "warning"), answer(0, "error", "warning", "warning")])).toEqual({
    count: 5,
    words: "2 errors, 3 warnings",
    bad: true,
  });
  // omitted defects may be of any kind
  expect(countAnswers([answer(1204, "warning", "error")])).toEqual({
    count: 1206,
    words: "1\u202F206 defects, errors among them",
    bad: true,
  });
});

test("damage in the file of a location is shown at the end of its events", () => {
  const track = (kind: string, id: string, last: string) => ({ kind, id, last }) as TrackInfo,
    tracks = [track("location", "0", "563176"), track("counter", "1", "9"), track("location", "1", "38681")];
  const of = (file: string, format = "otf2", more: { track?: number; time?: string } = {}) =>
    placeOf({ file, track: -1, time: "", ...more }, { format, tracks });
  expect(of("/a/traces/1.evt")).toEqual({ track: 2, time: 38681n, ends: true });
  expect(of("/a/traces.otf2")).toEqual({ track: -1, time: null, ends: false });
  expect(of("/a/traces/7.evt").track).toBe(-1);
  expect(of("/a/1.evt", "otf").track).toBe(-1);
  expect(of("/a/traces/1.evt", "otf2", { track: 0, time: "5" })).toEqual({ track: 0, time: 5n, ends: false });
});
