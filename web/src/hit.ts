// Finds the span, instant or curve under a point of a time line.
import type { App } from "./app";
import { type Row, rowAt } from "./rows";
import type { RowView } from "./rowview";
import { pieceAt } from "./stack";
import { type Grid, type Layer, rowKey } from "./tiles";
import { noRegion, RunFlag, runAt, type Strip, StripKind, type Tile } from "./tile";
import { floorDiv } from "./time";

/** Hit describes the span, instant or curve under a point of the time line. */
export interface Hit {
  row: Row;
  track: number;
  /** depth is the depth of the strip. It is -1 for an instant, and -2 for a curve or an empty place. */
  depth: number;
  kind: "span" | "instant" | "curve" | "empty";
  region: number;
  single: boolean;
  share: number;
  cover: number;
  count: number;
  /**
   * x0 and x1 are the left and the right edge in CSS pixels. begins and ends are set if these are
   * the edges of the span itself.
   */
  x0: number;
  x1: number;
  begins: boolean;
  ends: boolean;
  /** time is the time under the pointer. middle is a time inside of the hit. Both are in ticks of the trace. */
  time: bigint;
  middle: bigint;
  low: number;
  high: number;
  /** rate is set if low and high are rates per second. */
  rate?: boolean;
  /** around holds the corners of the outline of a claim in a stack, in CSS pixels. */
  around?: [number, number][];
}

/** hitAt returns the hit at a point, given in CSS pixels of the plot. It returns null outside of all rows. */
export function hitAt(app: App, view: RowView, x: number, y: number): Hit | null {
  const lane = view.lane,
    dpr = devicePixelRatio,
    width = Math.round(view.width * dpr);
  const i = rowAt(lane.rows, y + view.scrollTop);
  if (i < 0) return null;
  const r = lane.rows[i];
  const time = lane.toLocal(view.tickAt(x));
  const base: Hit = {
    row: r,
    track: r.track,
    depth: -2,
    kind: "empty",
    region: -1,
    single: false,
    share: 0,
    cover: 0,
    count: 0,
    x0: x,
    x1: x,
    begins: false,
    ends: false,
    time,
    middle: time,
    low: 0,
    high: 0,
  };
  const key = rowKey(r);
  if (key === null) return base;
  const { layers } = lane.tiles.layers(key, lane.local(app.store.state.window), width);
  const l = layers[layers.length - 1];
  if (!l) return base;
  const p: Point = { view, layer: l, base, x, dpr, column: Math.floor((x * dpr - l.offset) / l.scale) },
    py = y * dpr;
  for (const s of l.entry.strips) {
    const { y: sy, h } = view.stripRect(r, s, dpr);
    if (py < sy || py > sy + h) continue;
    const instant = s.kind === StripKind.instants ? instantAt(p, s) : null;
    if (instant) return instant;
  }
  for (const s of l.entry.strips) {
    const { y: sy, h } = view.stripRect(r, s, dpr);
    if (py < sy - 1 || py > sy + h) continue;
    if (s.kind === StripKind.spans && r.stacked) {
      const claim = s.depth > 0 ? null : claimAt(p, py);
      if (claim) return claim;
    } else if (s.kind === StripKind.spans) {
      if (r.track >= 0 && s.depth >= r.strips) continue;
      return spanAt(p, s);
    } else if (s.kind !== StripKind.instants && r.extra > 0) {
      const curve = curveAt(p, s);
      if (curve) return curve;
    }
  }
  return base;
}

/**
 * Point is a point in a row. layer is the tile of the row, and column the tile's column at the
 * point. base is the hit to return if there is nothing at the point.
 */
interface Point {
  view: RowView;
  layer: Layer;
  base: Hit;
  x: number;
  dpr: number;
  column: number;
}

/** edgeAt returns the left edge of a column of the tile in CSS pixels. */
function edgeAt({ layer, dpr }: Point, column: number): number {
  return (column * layer.scale + layer.offset) / dpr;
}

/** middleOf returns the time in the middle of the visible part between two edges. */
function middleOf({ view }: Point, x0: number, x1: number): bigint {
  const a = Math.max(0, x0),
    b = Math.min(view.width, x1);
  return view.lane.toLocal(view.tickAt((a + b) / 2));
}

/**
 * instantAt returns the instant at a point. It returns null if there is none, or if several are too
 * close together.
 */
function instantAt(p: Point, s: Strip): Hit | null {
  const { scale, entry } = p.layer,
    t = entry.tile,
    k = runAt(t, s, p.column, Math.ceil((3 * p.dpr) / scale));
  if (k < 0) return null;
  const next = k + 1 < s.first + s.count ? t.x[k + 1] - t.x[k] : 99;
  if ((next * scale) / p.dpr <= 8) return null;
  const x0 = edgeAt(p, t.x[k]),
    x1 = edgeAt(p, t.x[k] + 1);
  return { ...p.base, kind: "instant", depth: -1, count: t.share[k], x0, x1, middle: middleOf(p, x0, x1) };
}

/** runHit returns the hit for a run of spans. inside returns a time at which the span may be open. */
function runHit(p: Point, k: number, depth: number, inside: (x0: number, x1: number) => bigint): Hit {
  const { tile: t, grid } = p.layer.entry,
    single = (t.flags[k] & RunFlag.single) !== 0,
    x0 = edgeAt(p, t.x[k]),
    x1 = edgeAt(p, t.x[k] + t.n[k]);
  return {
    ...p.base,
    kind: "span",
    depth,
    region: t.region[k] === noRegion ? -1 : t.region[k],
    single,
    share: t.share[k] / 255,
    cover: t.cover[k] / 255,
    x0,
    x1,
    begins: (t.flags[k] & RunFlag.begins) !== 0,
    ends: (t.flags[k] & RunFlag.ends) !== 0,
    // the pixels of a span may begin before it and end after it, but the server needs a time inside the
    // span
    middle: single ? timeInside(grid, t, k, inside(x0, x1)) : middleOf(p, x0, x1),
  };
}

/** claimAt returns the claim of a stack at a point, or null. */
function claimAt(p: Point, py: number): Hit | null {
  const { view, layer, base, x, dpr } = p,
    shown = view.pieces(base.row, layer, dpr),
    piece = shown ? pieceAt(shown.pieces, Math.floor(x * dpr), Math.floor(py - shown.box.y)) : null;
  if (!shown || !piece) return null;
  return { ...runHit(p, piece.run, piece.depth, () => base.time), around: view.around(shown, piece.run, dpr) };
}

/** spanAt returns the span of a strip at a point, or the empty place between its spans. */
function spanAt(p: Point, s: Strip): Hit {
  const k = runAt(p.layer.entry.tile, s, p.column, Math.ceil(p.dpr / p.layer.scale));
  if (k < 0) return { ...p.base, depth: s.depth };
  return runHit(p, k, s.depth, (x0, x1) => (p.x >= x0 && p.x < x1 ? p.base.time : middleOf(p, x0, x1)));
}

/** curveAt returns the values of a curve at a point, or null. */
function curveAt({ view, layer, base, column }: Point, s: Strip): Hit | null {
  const rate = s.kind === StripKind.curve ? view.rate(base.row, layer, s) : null,
    values = rate?.tile ?? layer.entry.tile,
    at = rate?.strip ?? s;
  for (let k = at.first; k < at.first + at.count; k++)
    if (values.cellX[k] === column)
      return { ...base, kind: "curve", low: values.min[k], high: values.max[k], rate: rate !== null };
  return null;
}

/** hitRect returns the upper edge and the height of a hit in CSS pixels. */
export function hitRect(view: RowView, h: Hit): { y: number; h: number } {
  const r = h.row,
    top = r.y - view.scrollTop,
    pad = r.stripHeight >= 8 ? 2 : 1;
  return r.track < 0
    ? { y: top + 2, h: r.height - 4 }
    : { y: top + pad + h.depth * r.stripHeight, h: r.stripHeight - (r.stripHeight >= 8 ? 1 : 0) };
}

/**
 * timeInside returns a time inside the span that a run shows. That is the given time if it may lie in
 * the span. Otherwise it is the nearest time at which the span is certainly open, according to the
 * columns of the run.
 */
export function timeInside(g: Grid, t: Pick<Tile, "x" | "n" | "flags">, run: number, time: bigint): bigint {
  const d = g.to - g.from,
    n = BigInt(g.width),
    lastBefore = (column: number): bigint => g.from + floorDiv(d * BigInt(column), n),
    firstAfter = (column: number): bigint => g.from - floorDiv(-d * BigInt(column), n);
  const first = t.x[run],
    last = first + t.n[run] - 1,
    begins = (t.flags[run] & RunFlag.begins) !== 0,
    ends = (t.flags[run] & RunFlag.ends) !== 0;
  // the exact times are unknown: the span begins somewhere in its first column, and ends somewhere in
  // its last one
  const low = firstAfter(first + 1) - 1n,
    high = lastBefore(last);
  if (begins && ends && low > high) return firstAfter(first) === low ? low : time;
  return begins && time < low ? low : ends && time > high ? high : time;
}
