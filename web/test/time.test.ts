import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  convert,
  exact,
  floorDiv,
  meanOf,
  meanOrder,
  meanTicks,
  parse,
  parseTime,
  short,
  shortFloat,
  shortMean,
  stepFor,
  stepLabel,
  stepsBefore,
  ticksOf,
} from "../src/time";

const ns = { num: 1000000000n, den: 1n };

describe("exact writes all digits", () => {
  test.each([
    [0n, "0 s"],
    [1n, "1 ns"],
    [999n, "999 ns"],
    [1000n, "1 µs"],
    [1001n, "1.001 µs"],
    [7428493n, "7.428493 ms"],
    [1234567891n, "1.234567891 s"],
    [-1500n, "−1.5 µs"],
    // one more than 2^53, which a number cannot hold
    [9007199254740993n, "9\u202F007\u202F199.254740993 s"],
    [9223372036854775807n, "9\u202F223\u202F372\u202F036.854775807 s"],
  ])("%s ns", (t, want) => expect(exact(t, ns)).toBe(want));
  test("a clock of 3 ticks a second has no finite decimal", () =>
    expect(exact(1n, { num: 3n, den: 1n })).toBe("333.333333333333333… ms"));
  test("a clock with long ticks", () => expect(exact(3n, { num: 1n, den: 2n })).toBe("6 s"));
  test("picoseconds", () => expect(exact(1n, { num: 1000000000000n, den: 1n })).toBe("1 ps"));
});

// the texts that trace/clock_test.go holds the command line to
const durations = JSON.parse(readFileSync(new URL("./durations.json", import.meta.url), "utf8")) as {
  ticks: string;
  num: string;
  den: string;
  text: string;
}[];
test("short returns the same text as the command line", () => {
  expect(durations.length).toBeGreaterThan(20);
  for (const d of durations)
    expect([d.ticks, d.num, short(BigInt(d.ticks), { num: BigInt(d.num), den: BigInt(d.den) })]).toEqual([
      d.ticks,
      d.num,
      d.text.replace("-", "−"),
    ]);
});

test("a mean is not rounded to whole ticks", () => {
  // 32 waits of examples/ring.trf: 203 ticks of 10 µs, which are 63.4375 µs each
  const m = meanOf(203n, 32),
    c = { num: 100000n, den: 1n };
  expect(shortMean(m, c)).toBe("63.438 µs");
  expect(meanTicks(m)).toBe("6.344");
  expect(meanTicks(meanOf(6n, 2))).toBe("3");
  expect(meanTicks(meanOf(1n, 2))).toBe("0.5");
  expect(meanTicks(meanOf(1n, 1000000))).toBe("0");
  expect(meanTicks(meanOf(-3n, 2))).toBe("-1.5");
  // beyond 2^53, where numbers round
  expect(meanTicks(meanOf(36028797018963973n, 4))).toBe("9007199254740993.25");
  expect(shortMean(meanOf(1n, 4000), ns)).toBe("250 fs");
  // nothing has no mean
  expect([shortMean(meanOf(0n, 0), ns), meanTicks(meanOf(0n, 0))]).toEqual(["–", ""]);
});

test("means are sorted by all of their digits", () => {
  const order = [
    meanOf(9007199254740993n, 9007199254740992),
    meanOf(1n, 3),
    meanOf(0n, 5),
    meanOf(9007199254740992n, 9007199254740991),
    meanOf(0n, 0),
    meanOf(2n, 6),
  ].map(meanOrder);
  expect([
    order[4] < order[2],
    order[2] < order[1],
    order[1] === order[5],
    order[1] < order[0],
    order[0] < order[3],
  ]).toEqual([true, true, true, true, true]);
});

test("parse reads units and is exact", () => {
  expect(parse("12.5 ms", ns)).toBe(12500000n);
  expect(parse("3s", ns)).toBe(3000000000n);
  expect(parse("250us", ns)).toBe(250000n);
  expect(parse("9007199.254740993 s", ns)).toBe(9007199254740993n);
  expect(parse("-2 ns", ns)).toBe(-2n);
  expect(parse("kernel", ns)).toBeNull();
  expect(parse("", ns)).toBeNull();
});

// The values are those of weft print --from with the same text; docs/commands.md describes the notation.
test("parse accepts the notation of the command line", () => {
  const slow = { num: 10n, den: 3n }; // a tick of 0.3 s
  expect(parse("1500", ns)).toBe(1500n);
  expect(parse("-5", ns)).toBe(-5n);
  expect(parse("7.5", ns)).toBeNull();
  expect(parse("2 min", ns)).toBe(120000000000n);
  expect(parse("2m", ns)).toBe(120000000000n);
  expect(parse("0.5h", ns)).toBe(1800000000000n);
  expect(parse("0.4 s", slow)).toBe(1n); // 1.33 ticks
  expect(parse("0.45 s", slow)).toBe(2n); // 1.5 ticks, rounded up
  expect(parse("-0.45 s", slow)).toBe(-1n);
  expect(parse("1 d", ns)).toBeNull();
});

test("parseTime counts from the first event, with @ on the trace's own clock", () => {
  const all = { from: 0n, to: 1001n },
    at = (text: string): bigint | null => parseTime(text, ns, all, 300n);
  expect(at("40")).toBe(40n);
  expect(at("0.1us")).toBe(100n);
  expect(at("@340")).toBe(40n);
  expect(at("@ 0.1 us")).toBe(-200n);
  expect(at("20%")).toBe(200n);
  expect(at("12.55%")).toBe(126n); // 125.5 ticks
  expect(at("0.01%")).toBe(1n); // 0.1 ticks
  expect(at("1000.4 ps")).toBe(2n);
  expect(at("@299.6 ns")).toBe(0n);
  expect(at("@20%")).toBeNull();
  expect(at("kernel")).toBeNull();
});

test("parse reads the texts that exact writes", () => {
  for (const t of [1n, 17n, 123456789n, 9007199254740993n, 9223372036854775807n])
    expect(parse(exact(t, ns), ns)).toBe(t);
});

test("floorDiv rounds down", () => {
  expect(floorDiv(-1n, 2n)).toBe(-1n);
  expect(floorDiv(-4n, 2n)).toBe(-2n);
  expect(floorDiv(7n, 2n)).toBe(3n);
});

test("steps are 1, 2 or 5 times a power of ten", () => {
  expect(stepFor({ from: 0n, to: 7428494n }, 1070, ns, 96)).toEqual({ mantissa: 1n, exponent: -3 });
  expect(stepFor({ from: 0n, to: 40000n }, 1000, ns, 96)).toEqual({ mantissa: 5n, exponent: -6 });
  const s = { mantissa: 5n, exponent: -6 };
  expect(ticksOf(3n, s, ns)).toBe(15000n);
  expect(stepsBefore(15999n, s, ns)).toBe(3n);
  expect(stepsBefore(-1n, s, ns)).toBe(-1n);
});

test("labels have the digits that the step needs", () => {
  expect(stepLabel(0n, { mantissa: 1n, exponent: -3 })).toBe("0");
  expect(stepLabel(7n, { mantissa: 1n, exponent: -3 })).toBe("7 ms");
  expect(stepLabel(319n, { mantissa: 5n, exponent: -6 })).toBe("1.595 ms");
  expect(stepLabel(12n, { mantissa: 1n, exponent: -1 })).toBe("1.2 s");
  expect(stepLabel(3n, { mantissa: 2n, exponent: 2 })).toBe("600 s");
  expect(stepLabel(9007199254740993n, { mantissa: 1n, exponent: -9 })).toBe("9\u202F007\u202F199.254740993 s");
});

test("convert between clocks", () => {
  expect(convert(3n, { num: 1000n, den: 1n }, ns)).toBe(3000000n);
  expect(convert(2999999n, ns, { num: 1000n, den: 1n })).toBe(2n);
});

test("ticks with a fraction are written like times", () => {
  // 2^60 ns are 320255.9735 h, and 999999.6 ns are 1 ms, rounded
  expect([1234.56, -0.25, 0, 90, 999999.6, 2 ** 60].map((t) => shortFloat(t, ns))).toEqual([
    "1.235 µs",
    "−250 ps",
    "0 s",
    "90 ns",
    "1 ms",
    "320255.974 h",
  ]);
});
