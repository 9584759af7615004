// Times are ticks as bigint. Times of traces exceed 2^53, above which floating-point numbers are
// rounded.

/** Clock states how long a tick is: a second has num/den ticks. */
export interface Clock {
  num: bigint;
  den: bigint;
}

/** Window is the half-open interval [from, to) of time in ticks. */
export interface Window {
  from: bigint;
  to: bigint;
}

interface Unit {
  name: string;
  exponent: number;
}
const units: Unit[] = [
  { name: "s", exponent: 0 },
  { name: "ms", exponent: 3 },
  { name: "µs", exponent: 6 },
  { name: "ns", exponent: 9 },
  { name: "ps", exponent: 12 },
  { name: "fs", exponent: 15 },
];

/** pow10 returns 10 to the power n as a BigInt. */
export function pow10(n: number): bigint {
  return 10n ** BigInt(n);
}

function abs(t: bigint): bigint {
  return t < 0n ? -t : t;
}

/** floorDiv divides and rounds towards minus infinity. The division of BigInt rounds towards 0. */
export function floorDiv(a: bigint, b: bigint): bigint {
  const q = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? q - 1n : q;
}

/** unitFor returns the largest unit in which a time is at least 1. */
function unitFor(t: bigint, c: Clock): Unit {
  const a = abs(t) * c.den;
  for (const u of units) if (a * pow10(u.exponent) >= c.num) return u;
  return t === 0n ? units[0] : units[units.length - 1];
}

function group(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, "\u202F");
}

/**
 * exact formats a time with all of its digits, such as "1.234567891 s". If the frequency of the
 * clock gives no finite decimal, it shows 15 digits and "…".
 */
export function exact(t: bigint, c: Clock): string {
  const u = unitFor(t, c);
  const n = abs(t) * c.den * pow10(u.exponent);
  let rest = n % c.num;
  let digits = "";
  while (rest > 0n && digits.length < 15) {
    rest *= 10n;
    digits += String(rest / c.num);
    rest %= c.num;
  }
  return (
    `${t < 0n ? "−" : ""}${group(String(n / c.num))}${digits ? "." + digits : ""}${rest > 0n ? "…" : ""} ` + `${u.name}`
  );
}

/**
 * lengths lists the units that short uses. A unit lasts 1/count·of seconds. It is used for times of
 * up to `most` thousandths of it.
 */
const lengths: readonly { name: string; count: bigint; of: bigint; most: bigint | null }[] = [
  { name: "fs", count: pow10(15), of: 1n, most: 1000000n },
  { name: "ps", count: pow10(12), of: 1n, most: 1000000n },
  { name: "ns", count: 1000000000n, of: 1n, most: 1000000n },
  { name: "µs", count: 1000000n, of: 1n, most: 1000000n },
  { name: "ms", count: 1000n, of: 1n, most: 1000000n },
  { name: "s", count: 1n, of: 1n, most: 600000n },
  { name: "min", count: 1n, of: 60n, most: 600000n },
  { name: "h", count: 1n, of: 3600n, most: null },
];

/**
 * short formats a time for tables in the same way as the command line, such as "12.345 ms". It
 * rounds to at most three decimals, half away from zero.
 */
export function short(t: bigint, c: Clock): string {
  if (t === 0n) return "0 s";
  const length = 2000n * abs(t) * c.den;
  for (const u of lengths) {
    const by = c.num * u.of,
      n = (length * u.count + by) / (2n * by);
    if (u.most !== null && n >= u.most) continue;
    const part = n % 1000n;
    return (
      `${t < 0n && n > 0n ? "−" : ""}${n / 1000n}` +
      `${part > 0n ? "." + String(part).padStart(3, "0").replace(/0+$/, "") : ""} ${u.name}`
    );
  }
  return "";
}

/**
 * shortFloat formats a number of ticks with a fraction, as the command line does: like short, but rounded as
 * floating-point numbers are.
 */
export function shortFloat(t: number, c: Clock): string {
  if (t === 0) return "0 s";
  const s = Math.abs(t) / (Number(c.num) / Number(c.den));
  let text = "";
  for (const u of lengths) {
    const f = (s * Number(u.count)) / Number(u.of);
    text = `${f.toFixed(3).replace(/\.?0+$/, "")} ${u.name}`;
    if (u.most === null || f < Number(u.most) / 1000 - 0.0005) break;
  }
  return (t < 0 ? "−" : "") + text;
}

/**
 * Mean is the mean of `count` times, kept as their sum because it is rarely a whole number of
 * ticks.
 */
export interface Mean {
  sum: bigint;
  count: bigint;
}

/** meanOf returns the mean of count times with a known sum, or null if count is 0. */
export function meanOf(sum: bigint, count: number): Mean | null {
  return count > 0 ? { sum, count: BigInt(count) } : null;
}

/** shortMean formats a mean as short formats a time. */
export function shortMean(m: Mean | null, c: Clock): string {
  // a clock with count times as many ticks in a second turns the sum into the mean
  return m === null ? "–" : short(m.sum, { num: c.num * m.count, den: c.den });
}

/**
 * meanOrder returns a key to sort means by. Different means have different keys as long as counts
 * are below 2^64.
 */
export function meanOrder(m: Mean | null): bigint {
  return m === null ? -1n : (m.sum << 128n) / m.count;
}

/** meanTicks formats a mean in ticks with up to three decimals. It returns "" for null. */
export function meanTicks(m: Mean | null): string {
  if (m === null) return "";
  const t = floorDiv(m.sum * 2000n + m.count, m.count * 2n),
    part = String(abs(t) % 1000n)
      .padStart(3, "0")
      .replace(/0+$/, "");
  return `${t < 0n ? "-" : ""}${abs(t) / 1000n}${part === "" ? "" : "." + part}`;
}

/**
 * seconds converts a time to seconds as a floating-point number. It is for charts and scales only.
 */
export function seconds(t: bigint, c: Clock): number {
  return (Number(t) * Number(c.den)) / Number(c.num);
}

/** Step is the distance between two marks of the ruler: mantissa × 10^exponent seconds. */
export interface Step {
  mantissa: bigint;
  exponent: number;
}

/**
 * stepFor returns the smallest of the steps 1, 2 and 5 × 10^n seconds that leaves at least `least`
 * pixels between two marks.
 */
export function stepFor(w: Window, width: number, c: Clock, least: number): Step {
  const s = (seconds(w.to - w.from, c) * least) / Math.max(1, width);
  if (!(s > 0)) return { mantissa: 1n, exponent: -15 };
  const e = Math.floor(Math.log10(s) + 1e-9);
  const m = s / 10 ** e;
  return m <= 1.0000001
    ? { mantissa: 1n, exponent: e }
    : m <= 2
      ? { mantissa: 2n, exponent: e }
      : m <= 5
        ? { mantissa: 5n, exponent: e }
        : { mantissa: 1n, exponent: e + 1 };
}

/**
 * ticksOf converts i steps to ticks, multiplies them by `scale` and rounds down. With a scale above
 * 1, the result keeps fractions of ticks.
 */
export function ticksOf(i: bigint, s: Step, c: Clock, scale = 1n): bigint {
  const up = s.exponent > 0 ? pow10(s.exponent) : 1n,
    down = s.exponent < 0 ? pow10(-s.exponent) : 1n;
  return floorDiv(i * s.mantissa * up * c.num * scale, down * c.den);
}

/** stepsBefore returns the number of whole steps before time t. */
export function stepsBefore(t: bigint, s: Step, c: Clock): bigint {
  const up = s.exponent > 0 ? pow10(s.exponent) : 1n,
    down = s.exponent < 0 ? pow10(-s.exponent) : 1n;
  return floorDiv(t * c.den * down, s.mantissa * up * c.num);
}

/** stepLabel formats i steps in the unit that suits the step. */
export function stepLabel(i: bigint, s: Step): string {
  if (i === 0n) return "0";
  const v = abs(i) * s.mantissa;
  // the size of the value determines the unit, not the size of the step
  const magnitude = String(v).length - 1 + s.exponent;
  const u = units.find((x) => magnitude + x.exponent >= 0) ?? units[units.length - 1];
  const e = s.exponent + u.exponent;
  let text: string;
  if (e >= 0) text = group(String(v) + "0".repeat(e));
  else {
    const d = String(v).padStart(1 - e, "0");
    const f = d.slice(d.length + e).replace(/0+$/, "");
    text = group(d.slice(0, d.length + e)) + (f ? "." + f : "");
  }
  return `${i < 0n ? "−" : ""}${text} ${u.name}`;
}

/** inSeconds has the seconds of a unit in the notation of the command line, as a fraction. */
const inSeconds: Readonly<Record<string, readonly [bigint, bigint]>> = {
  fs: [1n, pow10(15)],
  ps: [1n, pow10(12)],
  ns: [1n, pow10(9)],
  us: [1n, pow10(6)],
  ms: [1n, 1000n],
  s: [1n, 1n],
  m: [60n, 1n],
  min: [60n, 1n],
  h: [3600n, 1n],
};

/** rounded divides and rounds to the nearest integer. Halves are rounded up. */
function rounded(a: bigint, b: bigint): bigint {
  return floorDiv(2n * a + b, 2n * b);
}

/** roundedUp divides and rounds up. */
function roundedUp(a: bigint, b: bigint): bigint {
  return -floorDiv(-a, b);
}

/**
 * parse reads a duration in the notation of the command line, such as "12.5 ms", "3s" or "1500", and
 * returns it in ticks, which the function divide rounds. A number without a unit is in ticks. parse returns
 * null for other texts.
 */
export function parse(text: string, c: Clock, divide = rounded): bigint | null {
  const m = /^\s*([+\-−]?)(\d+)(?:[.,](\d+))?\s*([fpnuµμm]?s|min|m|h)?\s*$/.exec(text.replace(/[\u202F_]/g, ""));
  if (!m || (m[3] !== undefined && m[4] === undefined)) return null;
  const sign = m[1] === "-" || m[1] === "−" ? -1n : 1n,
    digits = sign * BigInt(m[2] + (m[3] ?? ""));
  if (m[4] === undefined) return digits;
  const [num, den] = inSeconds[m[4].replace(/^[µμ]s$/, "us")];
  return divide(digits * num * c.num, den * c.den * pow10((m[3] ?? "").length));
}

/**
 * parseTime reads a time in the notation of the command line's --from: a duration after the first event,
 * "@" and a time on the trace's own clock, or a percentage of the limits. origin is the first event on the
 * trace's own clock. The result is in ticks of the axis, rounded up; it is null for other texts.
 */
export function parseTime(text: string, c: Clock, limits: Window, origin: bigint): bigint | null {
  const p = /^\s*(\d+)(?:\.(\d+))?\s*%\s*$/.exec(text);
  if (p) {
    const f = p[2] ?? "";
    return limits.from + roundedUp(BigInt(p[1] + f) * (limits.to - 1n - limits.from), 100n * pow10(f.length));
  }
  const own = /^\s*@(.*)$/.exec(text),
    t = parse(own ? own[1] : text, c, roundedUp);
  return t !== null && own ? t - origin : t;
}

/** convert converts a time from ticks of one clock to ticks of another. */
export function convert(t: bigint, from: Clock, to: Clock): bigint {
  if (from.num === to.num && from.den === to.den) return t;
  return floorDiv(t * from.den * to.num, from.num * to.den);
}
