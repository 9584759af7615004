// Zooming and panning of the window. Times are ticks. Positions are fractions of the width of the
// window.
import { floorDiv, type Window } from "./time";

/**
 * leastTicks is the width of the narrowest window, in ticks. In a narrower window, a single tick
 * would be too wide.
 */
export const leastTicks = 8n;

/** timeAtFraction returns the time at a fraction of a window, from 0 (left edge) to 1 (right edge). */
export function timeAtFraction(w: Window, fraction: number): bigint {
  return w.from + scaleTicks(w.to - w.from, fraction);
}

/**
 * tickAt returns the tick at a point that is x pixels to the right of the left edge. The window is
 * `width` pixels wide. A tick lasts until the next one begins.
 */
export function tickAt(w: Window, x: number, width: number): bigint {
  const parts = 1024;
  return (
    w.from + floorDiv((w.to - w.from) * BigInt(Math.round(x * parts)), BigInt(Math.max(1, Math.round(width * parts))))
  );
}

/** scaleTicks multiplies a number of ticks by a floating-point factor, in integer arithmetic. */
export function scaleTicks(t: bigint, factor: number): bigint {
  if (!Number.isFinite(factor)) return 0n;
  const big = Math.abs(factor) >= 2 ** 20;
  return big ? t * BigInt(Math.round(factor)) : (t * BigInt(Math.round(factor * 2 ** 32)) + 2n ** 31n) >> 32n;
}

/**
 * fraction returns the position of a time in a window: 0 at the left edge and 1 at the right edge.
 */
export function fraction(w: Window, t: bigint): number {
  const d = w.to - w.from;
  return d <= 0n ? 0 : Number(t - w.from) / Number(d);
}

/**
 * clamp moves a window into limits. It keeps the width if possible, and makes it at least
 * leastTicks.
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

/**
 * zoom multiplies the width of a window by a factor. A factor below 1 zooms in. The time at the
 * fraction `about` keeps its position.
 */
export function zoom(w: Window, factor: number, about: number, limits: Window): Window {
  const center = timeAtFraction(w, about);
  let d = scaleTicks(w.to - w.from, factor);
  // zooming out makes a window wider, in spite of rounding
  if (factor > 1 && d <= w.to - w.from) d = w.to - w.from + 1n;
  if (d < leastTicks) d = leastTicks;
  const from = center - scaleTicks(d, about);
  return clamp({ from, to: from + d }, limits);
}

/** pan moves a window by a fraction of its width. */
export function pan(w: Window, by: number, limits: Window): Window {
  const d = scaleTicks(w.to - w.from, by);
  return clamp({ from: w.from + d, to: w.to + d }, limits);
}

/**
 * windowAround returns a window with an interval in its middle. The interval fills at most the share
 * `part` of its width.
 */
export function windowAround(start: bigint, end: bigint, limits: Window, part = 0.5): Window {
  let d = scaleTicks(end - start, 1 / part);
  if (d < leastTicks) d = leastTicks;
  const from = (start + end) / 2n - d / 2n;
  return clamp({ from, to: from + d }, limits);
}

/** windowShowing moves a window so that a time is not outside of it or near its edge. The width stays the same. */
export function windowShowing(w: Window, t: bigint, limits: Window): Window {
  const f = fraction(w, t);
  return f >= 0.05 && f <= 0.95 ? w : pan(w, f - 0.5, limits);
}

/**
 * centredWindow returns a window with a time in its middle. It has the width of w, or less if w covers
 * most of the limits. With the same width, such a window could not move, and the user would not
 * notice the new time.
 */
export function centredWindow(w: Window, t: bigint, limits: Window): Window {
  const most = limits.to - limits.from;
  let d = w.to - w.from;
  if (d * 2n > most) {
    d = most / 10n;
    // near an end of the trace, make the window so narrow that the time is in its middle
    const near = t - limits.from < limits.to - t ? t - limits.from : limits.to - t,
      least = most / 1000n;
    if (near * 2n < d) d = near * 2n > least ? near * 2n : least;
  }
  const from = t - d / 2n;
  return clamp({ from, to: from + d }, limits);
}

/** sameWindow reports whether two windows are equal. */
export function sameWindow(a: Window, b: Window): boolean {
  return a.from === b.from && a.to === b.to;
}
