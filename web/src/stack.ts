// The claims of one resource as a stack in a box. The height of a claim is its share of the
// capacity. The lanes are on top of each other or, if claims have offsets, each claim is at its offset.
import { type Bitmap, block, type Mapping, type Rect } from "./raster";
import { RunFlag, type Strip, type Tile } from "./tile";

/**
 * Piece is a part of a run that has a single place in the stack. x and y are pixels in the box,
 * with y counted from its top.
 */
export interface Piece {
  depth: number;
  run: number;
  x: number;
  n: number;
  y: number;
  h: number;
}

/**
 * PartCallback is called with a part of a run that has a single place in the stack. x and y are pixels in
 * the box, with y counted from its top.
 */
type PartCallback = (lane: number, run: number, x: number, n: number, y: number, h: number, ends: boolean) => void;

/** walk calls visit for all parts from left to right. Where any lane changes, new parts begin in all lanes. */
function walk(t: Tile, lanes: readonly Strip[], r: Rect, m: Mapping, least: number, visit: PartCallback): void {
  const L = lanes.length,
    begin = new Int32Array(L),
    end = new Int32Array(L),
    value = new Float64Array(L),
    place = new Float64Array(L),
    at = new Int32Array(L);
  const load = (l: number): void => {
    const i = at[l];
    if (i >= lanes[l].first + lanes[l].count) {
      begin[l] = end[l] = 0x7fffffff;
      return;
    }
    begin[l] = Math.floor(t.x[i] * m.scale + m.offset);
    end[l] = Math.max(begin[l] + 1, Math.floor((t.x[i] + t.n[i]) * m.scale + m.offset));
    place[l] = t.offset[i];
    value[l] = (t.flags[i] & RunFlag.single) !== 0 ? t.height[i] : (t.height[i] * t.cover[i]) / 255;
  };
  lanes.forEach((s, l) => {
    let lo = s.first,
      hi = s.first + s.count;
    while (lo < hi) {
      const k = (lo + hi) >> 1;
      if (Math.floor((t.x[k] + t.n[k]) * m.scale + m.offset) <= 0) lo = k + 1;
      else hi = k;
    }
    at[l] = lo;
    load(l);
  });
  for (let px = 0; px < r.w;) {
    let next = r.w;
    for (let l = 0; l < L; l++) {
      while (end[l] <= px) {
        at[l]++;
        load(l);
      }
      const stop = begin[l] > px ? begin[l] : end[l];
      if (stop < next) next = stop;
    }
    let sum = 0,
      low = 0;
    for (let l = 0; l < L; l++) {
      if (begin[l] > px) continue;
      if (lanes[l].offsets) {
        sum = place[l];
        low = Math.min(r.h - least, Math.round((r.h * sum) / 255));
      }
      sum += value[l];
      const high = Math.min(r.h, Math.max(low + least, Math.round((r.h * sum) / 255)));
      if (high <= low) continue;
      visit(
        l,
        at[l],
        px,
        next - px,
        r.h - high,
        high - low,
        end[l] === next && end[l] - begin[l] >= 4 && (t.flags[at[l]] & RunFlag.ends) !== 0,
      );
      low = high;
    }
    px = next;
  }
}

/**
 * stack returns the pieces of all lanes in a box of r.w by r.h pixels. The first lane is at the
 * bottom, or each claim is at its offset. If a pixel contains several claims of a lane, or is only
 * partly claimed, the height of the lane is the mean. A claim is at least `least` pixels high. The
 * box cuts off amounts beyond the capacity.
 */
export function stack(t: Tile, lanes: readonly Strip[], r: Rect, m: Mapping, least: number): Piece[] {
  const last: (Piece | undefined)[] = lanes.map(() => undefined),
    out: Piece[] = [];
  walk(t, lanes, r, m, least, (lane, run, x, n, y, h) => {
    const p = last[lane];
    if (p && p.run === run && p.y === y && p.h === h && p.x + p.n === x) p.n += n;
    else out.push((last[lane] = { depth: lanes[lane].depth, run, x, n, y, h }));
  });
  return out;
}

/** drawStack draws the pieces of a stack. A line separates neighbouring claims if there is room for it. */
export function drawStack(
  b: Bitmap,
  t: Tile,
  lanes: readonly Strip[],
  r: Rect,
  colors: Uint32Array,
  other: number,
  m: Mapping,
  least: number,
): void {
  walk(t, lanes, r, m, least, (_, run, x, n, y, h, ends) => {
    const region = t.region[run],
      color = region < colors.length ? colors[region] : other;
    const x0 = Math.max(0, r.x + x),
      x1 = Math.min(b.width, r.x + x + (ends && n > 1 ? n - 1 : n));
    const y0 = Math.max(0, r.y + y + (h >= 4 ? 1 : 0)),
      y1 = Math.min(b.height, r.y + y + h);
    block(b, x0, x1, y0, y1, color);
  });
}

/** pieceAt returns the piece that contains a pixel of the box, or null. */
export function pieceAt(pieces: readonly Piece[], x: number, y: number): Piece | null {
  return pieces.find((p) => x >= p.x && x < p.x + p.n && y >= p.y && y < p.y + p.h) ?? null;
}

/** outline returns the corners of the outline around the pieces of a run, in pixels of the box. */
export function outline(pieces: readonly Piece[], run: number): [number, number][] {
  const own = pieces.filter((p) => p.run === run).sort((a, b) => a.x - b.x);
  const top = own.flatMap((p): [number, number][] => [
      [p.x, p.y],
      [p.x + p.n, p.y],
    ]),
    bottom = own.flatMap((p): [number, number][] => [
      [p.x, p.y + p.h],
      [p.x + p.n, p.y + p.h],
    ]);
  return [...top, ...bottom.reverse()];
}
