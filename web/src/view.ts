// Zooming and panning of the window of time. All times are ticks; pixels are given as fractions of
// the width.
import { floorDiv, type Window } from "./time";

/** leastTicks is the narrowest window: below it a tick would be wider than a screen. */
export const leastTicks = 8n;

/** at returns the time at a fraction (0 = left edge, 1 = right edge) of a window. */
export function at(w: Window, fraction: number): bigint {
  return w.from + scaled(w.to - w.from, fraction);
}

/**
 * tickAt returns the tick that contains a point, x of width pixels from the left edge of a window.
 * A tick lasts until the next one begins.
 */
export function tickAt(w: Window, x: number, width: number): bigint {
  const parts = 1024;
  return (
    w.from + floorDiv((w.to - w.from) * BigInt(Math.round(x * parts)), BigInt(Math.max(1, Math.round(width * parts))))
  );
}

/** scaled multiplies ticks by a floating-point factor in integers. */
export function scaled(t: bigint, factor: number): bigint {
  if (!Number.isFinite(factor)) return 0n;
  const big = Math.abs(factor) >= 2 ** 20;
  return big ? t * BigInt(Math.round(factor)) : (t * BigInt(Math.round(factor * 2 ** 32)) + 2n ** 31n) >> 32n;
}

/** fraction returns where a time is in a window, 0 at its left and 1 at its right edge. */
export function fraction(w: Window, t: bigint): number {
  const d = w.to - w.from;
  return d <= 0n ? 0 : Number(t - w.from) / Number(d);
}

/**
 * clamp keeps a window inside of limits and not narrower than leastTicks, and keeps its width if
 * possible.
 */
export function clamp(w: Window, limits: Window): Window {
  const most = limits.to - limits.from;
  let d = w.to - w.from;
  if (d < leastTicks) d = leastTicks;
  if (d >= most) return { from: limits.from, to: limits.to };
  let from = w.from;
  if (from < limits.from) from = limits.from;
  if (from + d > limits.to) from = limits.to - d;
  return { from, to: from + d };
}

/** zoom scales a window by a factor (< 1 zooms in) about the time at a fraction of it. */
export function zoom(w: Window, factor: number, about: number, limits: Window): Window {
  const center = at(w, about);
  let d = scaled(w.to - w.from, factor);
  // rounding must not keep a small window from growing
  if (factor > 1 && d <= w.to - w.from) d = w.to - w.from + 1n;
  if (d < leastTicks) d = leastTicks;
  const from = center - scaled(d, about);
  return clamp({ from, to: from + d }, limits);
}

/** pan moves a window by a fraction of its width. */
export function pan(w: Window, by: number, limits: Window): Window {
  const d = scaled(w.to - w.from, by);
  return clamp({ from: w.from + d, to: w.to + d }, limits);
}

/** around returns a window with an interval in its middle, which fills at most a part of it. */
export function around(start: bigint, end: bigint, limits: Window, part = 0.5): Window {
  let d = scaled(end - start, 1 / part);
  if (d < leastTicks) d = leastTicks;
  const from = (start + end) / 2n - d / 2n;
  return clamp({ from, to: from + d }, limits);
}

/** reveal keeps the width of a window and moves it only when a time is not well inside. */
export function reveal(w: Window, t: bigint, limits: Window): Window {
  const f = fraction(w, t);
  return f >= 0.05 && f <= 0.95 ? w : pan(w, f - 0.5, limits);
}

/**
 * centred returns a window about a time: as wide as w or, if that is most of the limits, a part of
 * w, because otherwise one would not notice the new place.
 */
export function centred(w: Window, t: bigint, limits: Window): Window {
  const most = limits.to - limits.from;
  let d = w.to - w.from;
  if (d * 2n > most) {
    d = most / 10n;
    // near an end of the trace, as narrow as the middle requires
    const near = t - limits.from < limits.to - t ? t - limits.from : limits.to - t,
      least = most / 1000n;
    if (near * 2n < d) d = near * 2n > least ? near * 2n : least;
  }
  const from = t - d / 2n;
  return clamp({ from, to: from + d }, limits);
}

/** same compares windows. */
export function same(a: Window, b: Window): boolean {
  return a.from === b.from && a.to === b.to;
}
