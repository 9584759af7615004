import { expect, test } from "vitest";
import { marksFor } from "../src/ruler";
import { gridFor, mostColumns, columnsOnScreen } from "../src/tiles";
import { centredWindow, clamp, fraction, leastTicks, pan, scaleTicks, zoom, tickAt } from "../src/view";

const limits = { from: 0n, to: 1000000n };
const far = 9007199254740993n; // 2^53 + 1

test("zoom keeps the time below the pointer", () => {
  const w = { from: 100000n, to: 200000n },
    z = zoom(w, 0.5, 0.25, limits);
  expect(z).toEqual({ from: 112500n, to: 162500n });
  expect(zoom(z, 2, 0.25, limits)).toEqual(w);
});

test("zooming in ends at the smallest window and can be reversed", () => {
  let w = { from: 5000n, to: 5100n };
  for (let i = 0; i < 50; i++) w = zoom(w, 0.7, 0.5, limits);
  expect(w.to - w.from).toBe(leastTicks);
  for (let i = 0; i < 200; i++) w = zoom(w, 1.01, 0.5, limits);
  expect(w.to - w.from > leastTicks).toBe(true);
});

test("windows stay within the limits", () => {
  expect(clamp({ from: -5n, to: 95n }, limits)).toEqual({ from: 0n, to: 100n });
  expect(clamp({ from: 999950n, to: 1000050n }, limits)).toEqual({ from: 999900n, to: 1000000n });
  expect(clamp({ from: -5n, to: 2000000n }, limits)).toEqual(limits);
  expect(pan({ from: 0n, to: 100n }, -1, limits)).toEqual({ from: 0n, to: 100n });
  expect(pan({ from: 0n, to: 100n }, 0.5, limits)).toEqual({ from: 50n, to: 150n });
});

test("windows far from time 0 keep all ticks", () => {
  const w = { from: far, to: far + 1000n };
  expect(pan(w, 0.001, { from: 0n, to: far * 2n })).toEqual({ from: far + 1n, to: far + 1001n });
  expect(fraction(w, far + 500n)).toBe(0.5);
  expect(scaleTicks(1000n, 0.5)).toBe(500n);
});

test("the columns of a grid are pixels of the screen", () => {
  const w = { from: 300000n, to: 400000n },
    g = gridFor(w, 1000, 999999n);
  expect(g).toEqual({ from: 250000n, to: 450000n, width: 2000 });
  if (g) expect(columnsOnScreen(g, w, 1000)).toEqual({ scale: 1, offset: -500 });
});

test("a grid is limited to the trace and to the server's greatest width", () => {
  expect(gridFor({ from: 0n, to: 1000000n }, 1000, 999999n)).toEqual({ from: 0n, to: 1000000n, width: 1000 });
  expect(gridFor({ from: 400000n, to: 500000n }, 6000, 999999n)?.width).toBeLessThanOrEqual(mostColumns);
  expect(gridFor({ from: 2000000n, to: 2100000n }, 1000, 999999n)).toBeNull();
});

test("with few ticks per pixel, a grid covers whole windows, so that columns are exact", () => {
  const w = { from: far, to: far + 100n },
    g = gridFor(w, 1000, far * 2n);
  expect(g).toEqual({ from: far - 100n, to: far + 200n, width: 3000 });
  if (g) expect(columnsOnScreen(g, w, 1000)).toEqual({ scale: 1, offset: -1000 });
});

test("tiles of another scale are scaled and moved to the window", () => {
  const p = columnsOnScreen({ from: 0n, to: 1000n, width: 100 }, { from: 250n, to: 750n }, 100);
  expect(p).toEqual({ scale: 2, offset: -50 });
});

const ns = { num: 1000000000n, den: 1n };

test("the ruler has marks at round times", () => {
  const { marks } = marksFor({ from: 0n, to: 10000000n }, 1000, ns);
  expect(marks.filter((m) => m.label !== "").map((m) => [m.label, m.at])).toEqual([
    ["0", 0],
    ["1 ms", 0.1],
    ["2 ms", 0.2],
    ["3 ms", 0.3],
    ["4 ms", 0.4],
    ["5 ms", 0.5],
    ["6 ms", 0.6],
    ["7 ms", 0.7],
    ["8 ms", 0.8],
    ["9 ms", 0.9],
    ["10 ms", 1],
  ]);
});

test("far from time 0, the ruler shows a base and distances from it", () => {
  const { marks } = marksFor({ from: far, to: far + 100n }, 1000, ns);
  const labels = marks.map((m) => m.label).filter((l) => l !== "");
  expect(labels.filter((l) => l.startsWith("+")).every((l) => /^\+[\d.]+ (ns|µs)$/.test(l))).toBe(true);
  expect(labels.length).toBeGreaterThan(8);
  // 9007199.254740993 s and the 100 ns after it lie after the thousand-step mark below
  expect(marksFor({ from: far, to: far + 100n }, 1000, ns).base).toBe("9\u202F007\u202F199.25474 s");
});

test("centredWindow brings a time into the middle, and zooms in if the whole trace is shown", () => {
  const limits = { from: 0n, to: 1000000n };
  const middle = (w: { from: bigint; to: bigint }): bigint => (w.from + w.to) / 2n;
  const whole = centredWindow(limits, 400000n, limits);
  expect(middle(whole)).toBe(400000n);
  expect(whole.to - whole.from).toBe(100000n);
  const near = centredWindow(limits, 4000n, limits);
  expect(middle(near)).toBe(4000n);
  const zoomed = centredWindow({ from: 0n, to: 3000n }, 400000n, limits);
  expect(zoomed).toEqual({ from: 398500n, to: 401500n });
  // at the very ends the middle cannot be reached
  expect(centredWindow(limits, 0n, limits)).toEqual({ from: 0n, to: 1000n });
  expect(centredWindow(limits, 999999n, limits).to).toBe(1000000n);
});

test("a point belongs to the tick that contains it", () => {
  const w = { from: 9007199254740992n, to: 9007199254741000n };
  // 8 ticks on 1000 pixels: each has 125
  expect([0, 62, 63, 124.9, 125, 999].map((x) => tickAt(w, x, 1000) - w.from)).toEqual([0n, 0n, 0n, 0n, 1n, 7n]);
  // edges of thirds are no binary fractions
  expect([0, 1, 2].map((x) => tickAt({ from: 0n, to: 3n }, x, 3))).toEqual([0n, 1n, 2n]);
  expect(tickAt({ from: 0n, to: 10n }, -1, 10)).toBe(-1n);
});
