// The rate of a counter as a curve, computed from a tile with the counter's values.
import type { Strip, Tile } from "./tile";

/**
 * Rate is the curve of a counter's rate. It consists of a tile with one strip, and of the smallest
 * and the largest value.
 */
export interface Rate {
  tile: Tile;
  strip: Strip;
  low: number;
  high: number;
}

const rateCache = new WeakMap<Tile, Map<Strip, Rate>>();

/**
 * rateOf computes the rate of change for a strip of values. column is the duration of a column, in
 * the time unit of the rate. An increase is spread over the time since the previous change.
 * Therefore, the rate is constant between two samples.
 */
export function rateOf(t: Tile, s: Strip, column: number): Rate {
  let known = rateCache.get(t);
  if (!known) rateCache.set(t, (known = new Map<Strip, Rate>()));
  const held = known.get(s);
  if (held) return held;
  const n = s.count,
    x = t.cellX.subarray(s.first, s.first + n),
    v = new Float32Array(n),
    start = t.start.subarray(s.first, s.first + n),
    end = t.end.subarray(s.first, s.first + n);
  let low = 0,
    high = 0,
    last = 0;
  const fill = (to: number, from: number, begin: number): void => {
    const r = (end[to] - from) / ((x[to] - begin) * column);
    v.fill(r, last, to + 1);
    last = to + 1;
    low = Math.min(low, r);
    high = Math.max(high, r);
  };
  // the increase inside the first cell counts only for that cell
  if (n > 0) fill(0, start[0], x[0] - 1);
  let from = n > 0 ? end[0] : 0,
    begin = n > 0 ? x[0] : 0;
  for (let i = 1; i < n; i++)
    if (end[i] !== from) {
      fill(i, from, begin);
      from = end[i];
      begin = x[i];
    }
  const out = { tile: { ...t, cellX: x, min: v, max: v, start: v, end: v }, strip: { ...s, first: 0 }, low, high };
  known.set(s, out);
  return out;
}
