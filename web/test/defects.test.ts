import { expect, test } from "vitest";
import type { Defect } from "../src/api";
import { found } from "../src/panels/defects";

const defect = (severity: string): Defect => ({ rule: "r", severity, message: "", file: "", position: "", time: "", track: -1 });
const answer = (more: number, ...severities: string[]): { defects: Defect[]; more: number } => ({ defects: severities.map(defect), more });

test("defects of all traces are counted, in words; notes are none", () => {
  expect(found([answer(0, "note"), { defects: null, more: 0 }])).toEqual({ count: 0, words: "", bad: false });
  expect(found([answer(0, "warning", "note")])).toEqual({ count: 1, words: "1 warning", bad: false });
  expect(found([answer(0, "error", "warning"), answer(0, "error", "warning", "warning")])).toEqual({ count: 5, words: "2 errors, 3 warnings", bad: true });
  // those that are not listed may be of any kind
  expect(found([answer(1204, "warning", "error")])).toEqual({ count: 1206, words: "1\u202F206 defects, errors among them", bad: true });
});
