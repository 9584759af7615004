// Positions of rows and times on the screen.
import type { TrackInfo } from "./api";
import type { App } from "./app";
import { printable } from "./dom";
import type { Lane } from "./lane";
import { type Rect } from "./raster";
import { type Rate, rateOf } from "./rate";
import type { Row } from "./rows";
import { outline, type Piece, stack } from "./stack";
import { type Layer, rowKey } from "./tiles";
import { type Strip, StripKind, type Tile } from "./tile";
import { seconds } from "./time";
import { timeAtFraction, fraction, tickAt } from "./view";

/** RowView maps the rows and times of a lane to the screen. */
export abstract class RowView {
  /** width and height are the size of the plot in CSS pixels. */
  width = 0;
  height = 0;
  /** scrollTop is the distance by which the rows are scrolled, in CSS pixels. */
  abstract scrollTop: number;
  private stacks = new Map<string, { key: string; tile: Tile; pieces: Piece[] }>();

  constructor(
    protected app: App,
    readonly lane: Lane,
  ) {}

  /** x returns the horizontal position of a time of the axis, in CSS pixels. */
  x(t: bigint): number {
    return fraction(this.app.store.state.window, t) * this.width;
  }
  /** tickAt returns the tick of the axis that a CSS pixel belongs to. */
  tickAt(x: number): bigint {
    return tickAt(this.app.store.state.window, x, this.width);
  }
  /** timeAt returns the time of the axis that is nearest to a CSS pixel. It is for the ends of intervals. */
  timeAt(x: number): bigint {
    return timeAtFraction(this.app.store.state.window, x / Math.max(1, this.width));
  }

  /** stripRect returns the upper edge and the height of a strip in a row, in pixels of the canvas. */
  stripRect(r: Row, strip: Strip, dpr: number): { y: number; h: number } {
    const top = r.y - this.scrollTop,
      padTop = r.stripHeight >= 8 ? 2 : 1;
    const px = (v: number): number => Math.round(v * dpr);
    if (r.track < 0) return { y: px(top + 2), h: px(top + r.height - 2) - px(top + 2) };
    if (r.stacked && strip.kind !== StripKind.instants)
      return { y: px(top + padTop), h: px(top + padTop + r.extra) - px(top + padTop) };
    if (strip.kind === StripKind.curve || strip.kind === StripKind.amounts) {
      const y = top + padTop + r.strips * r.stripHeight;
      return { y: px(y) + 1, h: px(y + r.extra) - px(y) - 1 };
    }
    if (strip.kind === StripKind.instants) {
      const h = r.strips > 0 ? r.stripHeight : r.height - 2 * padTop;
      return { y: px(top + padTop), h: px(top + padTop + h) - px(top + padTop) - (r.strips > 0 ? 1 : 0) };
    }
    const y = top + padTop + strip.depth * r.stripHeight;
    const gap = r.stripHeight >= 8 ? 1 : 0;
    return { y: px(y), h: Math.max(1, px(y + r.stripHeight) - px(y) - gap) };
  }

  /** rate returns the curve of a counter's rate per second, or null if the row does not show the rate. */
  rate(r: Row, layer: Layer, strip: Strip): Rate | null {
    const g = layer.entry.grid;
    return this.app.store.state.choices.has(rateKey(this.lane.index, r.track))
      ? rateOf(layer.entry.tile, strip, seconds(g.to - g.from, this.lane.clock) / g.width)
      : null;
  }

  /**
   * edges returns the values at the upper and the lower edge of a row's curve, rate or stack. It
   * returns null if the row has none of these.
   */
  edges(r: Row): { high: string; low: string } | null {
    const t = r.track >= 0 ? this.lane.meta.tracks[r.track] : undefined;
    if (t?.kind === "counter" && this.app.store.state.choices.has(rateKey(this.lane.index, r.track))) {
      const l = this.sharpest(r),
        strip = l?.entry.strips.find((x) => x.kind === StripKind.curve),
        rate = l && strip ? this.rate(r, l, strip) : null,
        unit = t.unit && t.unit !== "#" ? " " + printable(t.unit) : "";
      return rate ? { high: `${rough(rate.high)}${unit}/s`, low: rough(rate.low) } : { high: "…", low: "" };
    }
    return edgesOf(r, t);
  }

  /** stackOf returns the visible lanes of a stacked row, and the box for them between the pixels x0 and x1. */
  stackOf(r: Row, layer: Layer, dpr: number, x0: number, x1: number): { lanes: Strip[]; box: Rect } | null {
    const lanes = layer.entry.strips
      .filter((x) => x.kind === StripKind.spans && x.depth < r.strips)
      .map((x) => (x.offsets === r.placed ? x : { ...x, offsets: r.placed }));
    return lanes.length === 0 ? null : { lanes, box: { x: x0, ...this.stripRect(r, lanes[0], dpr), w: x1 - x0 } };
  }

  /** pieces returns the pieces of all claims in a stacked row, and the box around them. */
  pieces(r: Row, layer: Layer, dpr: number): { pieces: Piece[]; box: Rect } | null {
    const x = this.stackOf(r, layer, dpr, 0, Math.round(this.width * dpr));
    if (!x) return null;
    const { lanes, box } = x,
      key = `${layer.scale} ${layer.offset} ${box.w} ${box.h} ${lanes.length} ${dpr} ${r.placed}`,
      held = this.stacks.get(r.key);
    if (held && held.tile === layer.entry.tile && held.key === key) return { pieces: held.pieces, box };
    const pieces = stack(layer.entry.tile, lanes, box, { scale: layer.scale, offset: layer.offset }, Math.round(dpr));
    if (this.stacks.size > 64) this.stacks.clear();
    this.stacks.set(r.key, { key, tile: layer.entry.tile, pieces });
    return { pieces, box };
  }

  /** sharpest returns the tile with the highest resolution that is drawn for a row. */
  sharpest(r: Row): Layer | undefined {
    const key = rowKey(r);
    if (key === null) return undefined;
    const { layers } = this.lane.tiles.layers(
      key,
      this.lane.local(this.app.store.state.window),
      Math.round(this.width * devicePixelRatio),
    );
    return layers[layers.length - 1];
  }

  /** around returns the corners of the outline of a run in a stack, in CSS pixels. */
  around(p: { pieces: Piece[]; box: Rect }, run: number, dpr: number): [number, number][] {
    return outline(p.pieces, run).map(([x, y]) => [x / dpr, (p.box.y + y) / dpr]);
  }
}

/** rateKey returns the key of the choice in the state that states whether a row shows a rate. */
export function rateKey(lane: number, track: number): string {
  return `rate.${String.fromCharCode(97 + (lane % 26))}${track}`;
}

/**
 * edgesOf returns the values at the upper and the lower edge of a row's curve or stack. It returns
 * null if the row has none.
 */
function edgesOf(r: Row, t: TrackInfo | undefined): { high: string; low: string } | null {
  if (!t || (t.kind !== "counter" && !r.stacked)) return null;
  return {
    high:
      compact(t.kind === "counter" ? t.high : t.capacity) + (t.unit && t.unit !== "#" ? " " + printable(t.unit) : ""),
    low: t.kind !== "counter" ? compact(0) : t.low === t.high ? "" : compact(t.low),
  };
}

/** compact formats the value of a counter with few characters. */
export function compact(v: number): string {
  const a = Math.abs(v);
  if (a >= 1e4) {
    // the rounded value determines the unit
    const rounded = v.toExponential(2),
      [digits, exponent] = rounded.split("e+");
    const e = Math.floor(Number(exponent) / 3);
    return e <= 4 ? Number(`${digits}e${Number(exponent) % 3}`).toPrecision(3) + "kMGT"[e - 1] : rounded;
  }
  return a !== 0 && a < 0.01 ? v.toExponential(1) : String(Number(v.toPrecision(4)));
}

/** rough returns a rate as text. Its times are known to a column of pixels, so the rate is approximate. */
export function rough(v: number): string {
  return v === 0 ? "0" : "≈ " + compact(v);
}
