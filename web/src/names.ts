// Writes the names of regions into spans.
import { ink, unpack } from "./colors";
import { shortenName } from "./dom";
import { type Pen, drawText } from "./pen";
import type { Row } from "./rows";
import type { RowView } from "./rowview";
import { rowKey } from "./tiles";
import { noRegion, RunFlag, type Strip, StripKind, type Tile } from "./tile";
import type { Window } from "./time";

/** Names writes region names into spans. */
export class Names {
  private textWidth = new Map<string, number>();

  constructor(private view: RowView) {}

  /**
   * draw writes region names into the spans that are wide enough. If there are too many of these,
   * only the widest get names. If spans are hatched, each name has the plain colour of its span behind it,
   * and hatching remains above and below it.
   */
  draw(g: Pen, first: number, end: number, dpr: number, w: Window, hatched: boolean): void {
    const lane = this.view.lane,
      lw = lane.local(w),
      most = Math.max(900, Math.round((this.view.width * this.view.height) / 1800));
    g.textBaseline = "middle";
    const widths = new Uint32Array(Math.ceil(this.view.width) + 1);
    let n = 0;
    this.namable(first, end, dpr, lw, (_, __, ___, x0, x1) => {
      widths[Math.floor(x1 - x0)]++;
      n++;
    });
    let least = 0;
    for (; n > most && least < widths.length; least++) n -= widths[least];
    let row: Row | null = null,
      size = 0,
      track: Uint32Array | null = null;
    this.namable(first, end, dpr, lw, (r, t, k, x0, x1, y, high) => {
      if (x1 - x0 < least) return;
      if (r !== row) {
        row = r;
        track = lane.colors.byTrack(r.track);
      }
      // on large screens, the size of names grows with the height of rows
      const own = Math.min(Math.max(12, 0.45 * r.stripHeight), Math.max(8.5, (r.stacked ? high : r.stripHeight) - 3));
      if (own !== size) {
        size = own;
        g.font = `${size}px system-ui, sans-serif`;
      }
      const region = lane.meta.regions[t.region[k]],
        text = region ? this.cut(g, shortenName(region.name), size, x1 - x0) : "";
      if (text === "") return;
      if (hatched) {
        g.fillStyle = track ? unpack(track[0]) : lane.colors.css[t.region[k]];
        g.fillRect(x0 - 2, Math.round(y - size / 2), this.width(g, text, size) + 4, size);
      }
      g.fillStyle = track ? ink(unpack(track[0])) : (lane.colors.ink[t.region[k]] ?? "#000");
      drawText(g, text, x0, y, y - high / 2, high, x1 - x0);
    });
  }

  /** namable calls visit for each span that has enough room for a name. */
  private namable(
    first: number,
    end: number,
    dpr: number,
    lw: Window,
    visit: (r: Row, t: Tile, run: number, x0: number, x1: number, y: number, high: number) => void,
  ): void {
    const lane = this.view.lane,
      width = Math.round(this.view.width * dpr);
    for (let i = first; i < end; i++) {
      const r = lane.rows[i],
        key = rowKey(r);
      if (key === null || r.track < 0 || r.stripHeight < 9) continue;
      const { layers } = lane.tiles.layers(key, lw, width);
      const l = layers[layers.length - 1];
      if (!l) continue;
      const t = l.entry.tile;
      for (const s of l.entry.strips) {
        if (s.kind !== StripKind.spans || s.depth >= r.strips || r.stacked) continue;
        const { y, h } = this.view.stripRect(r, s, dpr);
        for (let k = Math.max(s.first, firstFrom(t, s, (0 - l.offset) / l.scale)); k < s.first + s.count; k++) {
          const px = (t.x[k] * l.scale + l.offset) / dpr;
          if (px > this.view.width) break;
          const pw = (t.n[k] * l.scale) / dpr;
          if (pw < 26 || (t.flags[k] & RunFlag.single) === 0 || t.region[k] === noRegion) continue;
          const x0 = Math.max(0, px) + 3,
            x1 = Math.min(this.view.width, px + pw) - 3;
          if (x1 - x0 < 20) continue;
          const hh = Math.max(1, Math.floor((h * t.height[k] + 127) / 255)) / dpr;
          if (hh >= 8) visit(r, t, k, x0, x1, (y + h) / dpr - hh / 2 + 0.5, hh);
        }
      }
      // skip a row that has only narrow runs
      const p =
        r.stacked && l.entry.strips.some((s) => s.kind === StripKind.spans && hasWideSpan(t, s, (26 * dpr) / l.scale))
          ? this.view.pieces(r, l, dpr)
          : null;
      for (const q of p?.pieces ?? [])
        if (
          p &&
          q.n / dpr >= 26 &&
          q.h / dpr >= 10 &&
          (t.flags[q.run] & RunFlag.single) !== 0 &&
          t.region[q.run] !== noRegion
        )
          visit(r, t, q.run, q.x / dpr + 3, (q.x + q.n) / dpr - 3, (p.box.y + q.y + q.h / 2) / dpr + 1, q.h / dpr);
    }
  }

  /** width returns the width of a text in a size that the pen has. */
  private width(g: Pen, text: string, size: number): number {
    const key = size + text;
    let w = this.textWidth.get(key);
    if (w === undefined) {
      if (this.textWidth.size > 20000) this.textWidth.clear();
      w = g.measureText(text).width;
      this.textWidth.set(key, w);
    }
    return w;
  }

  private cut(g: Pen, text: string, size: number, room: number): string {
    const all = this.width(g, text, size);
    if (all <= room) return text;
    // the estimate may be too long, because letters differ in width
    for (let n = Math.floor((text.length * (room - size * 0.8)) / all); n >= 2; n--) {
      const short = [...text].slice(0, n).join("") + "…";
      if (this.width(g, short, size) <= room) return short;
    }
    return "";
  }
}

function firstFrom(t: { x: Uint16Array; n: Uint16Array }, s: Strip, column: number): number {
  let lo = s.first,
    hi = s.first + s.count;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (t.x[m] + t.n[m] <= column) lo = m + 1;
    else hi = m;
  }
  return lo;
}

/**
 * hasWideSpan reports whether a strip has a run that is a single span and at least the given number of
 * columns wide.
 */
function hasWideSpan(t: Tile, s: Strip, columns: number): boolean {
  for (let i = s.first; i < s.first + s.count; i++)
    if (t.n[i] >= columns && (t.flags[i] & RunFlag.single) !== 0) return true;
  return false;
}
