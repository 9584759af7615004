// Claims of one resource as a stack: each takes its part of the capacity, lane upon lane, within one box.
import { type Bitmap, fill, type Mapping, type Rect } from "./raster";
import { RunFlag, type Strip, type Tile } from "./tile";

/** Piece is a stretch of a run that keeps its place in the stack; x and y are pixels within the box, y from its top. */
export interface Piece { depth: number; run: number; x: number; n: number; y: number; h: number; ends: boolean }

/**
 * stack places the runs of the lanes in a box of r.w by r.h pixels, the first lane at the bottom. Where pixels hold
 * several claims, or none for a while, the height of a lane is its mean. What is held shows by at least `least`
 * pixels; what is held beyond the capacity is cut at the top.
 */
export function stack(t: Tile, lanes: readonly Strip[], r: Rect, m: Mapping, least: number): Piece[] {
  const begin = (i: number): number => Math.floor(t.x[i] * m.scale + m.offset);
  const end = (i: number): number => Math.max(begin(i) + 1, Math.floor((t.x[i] + t.n[i]) * m.scale + m.offset));
  const at = lanes.map((s) => { let lo = s.first, hi = s.first + s.count; while (lo < hi) { const k = (lo + hi) >> 1; if (end(k) <= 0) lo = k + 1; else hi = k; } return lo; });
  const last: (Piece | null)[] = lanes.map(() => null);
  const out: Piece[] = [];
  for (let px = 0; px < r.w; ) {
    let next = r.w, sum = 0, low = 0;
    for (let l = 0; l < lanes.length; l++) {
      const stop = lanes[l].first + lanes[l].count;
      while (at[l] < stop && end(at[l]) <= px) at[l]++;
      const i = at[l];
      if (i >= stop) continue;
      if (begin(i) > px) { next = Math.min(next, begin(i)); continue; }
      next = Math.min(next, end(i));
    }
    for (let l = 0; l < lanes.length; l++) {
      const i = at[l];
      if (i >= lanes[l].first + lanes[l].count || begin(i) > px) continue;
      sum += (t.flags[i] & RunFlag.single) !== 0 ? t.height[i] : (t.height[i] * t.cover[i]) / 255;
      const high = Math.min(r.h, Math.max(low + least, Math.round((r.h * sum) / 255)));
      if (high <= low) continue;
      const y = r.h - high, h = high - low, p = last[l];
      const ends = (t.flags[i] & RunFlag.ends) !== 0 && end(i) === next && end(i) - begin(i) >= 4;
      if (p && p.run === i && p.y === y && p.h === h && p.x + p.n === px) { p.n = next - p.x; p.ends = ends; } else { last[l] = { depth: lanes[l].depth, run: i, x: px, n: next - px, y, h, ends }; out.push(last[l] as Piece); }
      low = high;
    }
    px = next;
  }
  return out;
}

/** drawStack draws pieces; a seam keeps neighbours apart where there is room for it. */
export function drawStack(b: Bitmap, t: Tile, pieces: readonly Piece[], r: Rect, colors: Uint32Array, other: number): void {
  for (const p of pieces) {
    const region = t.region[p.run], seam = p.h >= 4 ? 1 : 0;
    fill(b, { x: r.x + p.x, y: r.y + p.y + seam, w: p.ends && p.n > 1 ? p.n - 1 : p.n, h: p.h - seam }, region < colors.length ? colors[region] : other);
  }
}

/** pieceAt is the piece at a pixel of the box, null for none. */
export function pieceAt(pieces: readonly Piece[], x: number, y: number): Piece | null {
  return pieces.find((p) => x >= p.x && x < p.x + p.n && y >= p.y && y < p.y + p.h) ?? null;
}

/** outline is the way around the pieces of one run: corners in the pixels of the box. */
export function outline(pieces: readonly Piece[], run: number): [number, number][] {
  const own = pieces.filter((p) => p.run === run).sort((a, b) => a.x - b.x);
  const top = own.flatMap((p): [number, number][] => [[p.x, p.y], [p.x + p.n, p.y]]), bottom = own.flatMap((p): [number, number][] => [[p.x, p.y + p.h], [p.x + p.n, p.y + p.h]]);
  return [...top, ...bottom.reverse()];
}
