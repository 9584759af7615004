import { expect, test } from "vitest";
import { ApiError, errorText, type TraceState } from "../src/api";
import { remainingSeconds, overviewWords, sizeOf } from "../src/indexing";

test("the remaining time follows from the progress since the first request", () => {
  // from 20 % to 40 % in 10 s: 60 % take 30 s
  expect(remainingSeconds(0.2, 0.4, 10)).toBeCloseTo(30, 9);
  expect(remainingSeconds(0.2, 0.4, 1)).toBeNull();
  expect(remainingSeconds(0.2, 0.2, 100)).toBeNull();
});

test("a text describes the stored sums of a trace", () => {
  const sums = { regions: [], locations: [], events: 7, missing: "0" },
    clock = { num: 1000n, den: 1n };
  expect(overviewWords(sums, clock)).toEqual({ events: "events", sums: "The trace's own sums, of all its events." });
  expect(overviewWords({ ...sums, missing: "3" }, clock).sums).toBe(
    "The trace's own sums, of all its events; each time may lack up to 3 ms.",
  );
  // 2001 ticks of a thousand in a second
  expect(overviewWords({ ...sums, to: "2001" }, clock)).toEqual({
    events: "visits and messages",
    sums: "The trace's own sums, up to 2.001 s of its clock; of its events they count visits and messages.",
  });
  expect(overviewWords({ ...sums, to: "0" }, null).sums).toContain("up to 0 ticks");
});

test("errors are shown as text", () => {
  expect(errorText(new TypeError("Failed to fetch"))).toContain("does not answer");
  expect(errorText(new ApiError("the sentence of the server", 503))).toBe("the sentence of the server");
});

test("the size of a trace is that of all its files", () => {
  const of = (format: string, state: TraceState): string => sizeOf({ format, state, bytes: 11674 });
  expect([
    of("otf2", "indexing"),
    of("otf2", "new"),
    of("", "new"),
    of("otf2", "ready"),
    of("etf", "indexing"),
  ]).toEqual(["", "", "", "11.4 KiB", "11.4 KiB"]);
});
