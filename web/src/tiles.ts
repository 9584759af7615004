// The tiles of one trace. This file determines which tiles a view needs, caches tiles, and chooses
// which tiles to draw until better ones arrive.
import { type Client, isAbort, ranges, errorText } from "./api";
import { cancel, callLater, now } from "./timers";
import type { Row } from "./rows";
import { decodeTile, type Strip, type Tile } from "./tile";
import type { Window } from "./time";

/** Grid is a window that is divided into columns of equal length. */
export interface Grid {
  from: bigint;
  to: bigint;
  width: number;
}

/** mostColumns is the largest width of the server's tiles. */
export const mostColumns = 8192;

/**
 * gridFor returns the grid of the tile to request for a view of the window w that is `width` device
 * pixels wide. length is the length of the trace in ticks. The tile contains the window and a part
 * on each side of it. Its columns coincide with the pixels of the screen. The result is null if the
 * window lies outside of the trace.
 */
export function gridFor(w: Window, width: number, length: bigint): Grid | null {
  const d = w.to - w.from;
  if (d <= 0n || width <= 0 || w.to <= 0n || w.from > length) return null;
  const wide = Math.min(width, mostColumns),
    W = BigInt(wide);
  const end = length + 1n;
  if (d < 8n * W) {
    // if a pixel has few ticks, columns coincide with pixels only if the tile is a multiple of the
    // window
    const room = wide * 3 <= mostColumns;
    const from = room && w.from - d >= 0n ? w.from - d : w.from,
      to = room && w.to < end ? w.to + d : w.to;
    return { from, to, width: wide * Number((to - from) / d) };
  }
  const over = Math.min(Math.floor(wide / 2), Math.floor((mostColumns - wide) / 2));
  const first = (-w.from * W) / d; // columns from the left edge to time 0; not positive if the window begins later
  const last = ((end - w.from) * W + d - 1n) / d;
  const c0 = Math.max(-over, Number(first)),
    c1 = Math.min(wide + over, Number(last));
  if (c1 <= c0) return null;
  const at = (c: number): bigint => w.from + (BigInt(c) * d) / W;
  return { from: at(c0), to: at(c1), width: c1 - c0 };
}

/** Entry is the part of a tile that belongs to one row. */
export interface Entry {
  grid: Grid;
  tile: Tile;
  strips: Strip[];
  depths: number;
  stamp: number;
}
/** Layer is an entry with its position on the screen: column c begins at pixel c*scale+offset. */
export interface Layer {
  entry: Entry;
  scale: number;
  offset: number;
}

/**
 * columnsOnScreen returns the position of the columns of a grid on a screen that shows the window w in
 * `width` pixels.
 */
export function columnsOnScreen(g: Grid, w: Window, width: number): { scale: number; offset: number } {
  const d = Number(w.to - w.from);
  let scale = (Number(g.to - g.from) * width) / (g.width * d);
  let offset = (Number(g.from - w.from) * width) / d;
  // the scales differ only because of rounding, so columns are pixels
  if (Math.abs(scale - 1) * g.width < 0.5) {
    scale = 1;
    offset = Math.round(offset);
  }
  return { scale, offset };
}

/** View is the visible part of a trace. Its times are in ticks of the trace. */
export interface View {
  window: Window;
  width: number;
  rows: readonly Row[];
  depths: number;
}

/**
 * rowKey returns the key of the tiles of a row: the key of its track or folded group. It returns
 * null for other groups.
 */
export function rowKey(r: Row): string | null {
  return r.track >= 0 ? `t${r.track}` : r.members.length > 0 ? `s${r.key}` : null;
}

const perRequest = 64,
  parallel = 3,
  budget = 192 * 1024 * 1024,
  keepPerRow = 12;
/** retryDelay is the time between a failed request and the next one, in milliseconds. */
const retryDelay = 2500;

/** TileCache requests and stores tiles. */
export class TileCache {
  private entries = new Map<string, Entry[]>();
  private bytes = 0;
  private stamp = 0;
  private timer = 0;
  private since = 0;
  private flights = new Set<{ abort: AbortController; grid: Grid; keys: Set<string> }>();
  private queue: { grid: Grid; rows: Row[]; depths: number }[] = [];
  private view: View | null = null;
  /** error is the message of the last request if that failed, else "". */
  error = "";
  private failed = -Infinity;

  constructor(
    private client: Client,
    private id: string,
    private length: bigint,
    private arrived: () => void,
  ) {}

  /** empty reports whether no tile has arrived yet. */
  get empty(): boolean {
    return this.entries.size === 0;
  }

  /** pending reports whether a request for tiles is under way or planned. */
  get pending(): boolean {
    return this.timer !== 0 || this.flights.size > 0 || this.queue.length > 0;
  }

  /**
   * layers returns the tiles to draw for a row, with the lowest resolution first. sharp is set if
   * the last one covers the whole window in full resolution.
   */
  layers(key: string, w: Window, width: number): { layers: Layer[]; sharp: boolean } {
    const list = this.entries.get(key);
    if (!list) return { layers: [], sharp: false };
    let cover: Layer | null = null,
      best: Layer | null = null,
      most = 0;
    const wantFrom = w.from < 0n ? 0n : w.from,
      wantTo = w.to > this.length + 1n ? this.length + 1n : w.to;
    for (let i = list.length - 1; i >= 0; i--) {
      const e = list[i];
      if (e.grid.to <= w.from || e.grid.from >= w.to) continue;
      const p = columnsOnScreen(e.grid, w, width);
      const l: Layer = { entry: e, ...p };
      const whole = e.grid.from <= wantFrom && e.grid.to >= wantTo;
      if (whole && p.scale === 1) {
        e.stamp = ++this.stamp;
        return { layers: [l], sharp: true };
      }
      if (whole && (!cover || sharpness(p.scale) > sharpness(cover.scale))) cover = l;
      const on = Math.min(width, p.offset + p.scale * e.grid.width) - Math.max(0, p.offset);
      const score = on * sharpness(p.scale);
      if (!whole && score > most) {
        most = score;
        best = l;
      }
    }
    const out: Layer[] = [];
    if (cover) out.push(cover);
    if (best && (!cover || sharpness(best.scale) > sharpness(cover.scale))) out.push(best);
    for (const l of out) l.entry.stamp = ++this.stamp;
    return { layers: out, sharp: false };
  }

  /** show sets the view. Missing tiles are requested shortly after. */
  show(v: View): void {
    this.view = v;
    if (this.missing(v).length === 0) {
      cancel(this.timer);
      this.timer = 0;
      return;
    }
    const begin = now();
    if (this.timer) cancel(this.timer);
    else this.since = begin;
    // wait with requests until the view rests, but not for long, so that tiles also arrive during a
    // slow zoom
    const rest = Math.max(
      0,
      Math.min(45, this.since + 160 - begin),
      this.error === "" ? 0 : this.failed + retryDelay - begin,
    );
    this.timer = callLater("tiles", this.entries.size === 0 && this.error === "" ? 0 : rest, () => {
      this.timer = 0;
      this.go(begin - this.since > 100);
      this.client.onChange();
    });
  }

  private missing(v: View): Row[] {
    const out: Row[] = [];
    // the window lies outside of this trace, so no tile will arrive
    if (!gridFor(v.window, v.width, this.length)) return out;
    for (const r of v.rows) {
      const key = rowKey(r);
      if (key === null) continue;
      if (this.flying(key, v)) continue;
      if (!(this.entries.get(key) ?? []).some((e) => e.depths >= v.depths && gridFits(e.grid, v, this.length)))
        out.push(r);
    }
    return out;
  }

  private flying(key: string, v: View): boolean {
    for (const f of this.flights) if (f.keys.has(key) && gridFits(f.grid, v, this.length)) return true;
    return false;
  }

  private go(moving: boolean): void {
    const v = this.view;
    if (!v) return;
    if (moving && this.flights.size > 0) {
      this.show(v);
      return;
    }
    const grid = gridFor(v.window, v.width, this.length);
    if (!grid) return;
    for (const f of this.flights) if (!gridFits(f.grid, v, this.length)) f.abort.abort();
    const rows = this.missing(v);
    this.queue = [];
    const tracks = rows.filter((r) => r.track >= 0).sort((a, b) => a.track - b.track);
    for (let i = 0; i < tracks.length; i += perRequest)
      this.queue.push({ grid, rows: tracks.slice(i, i + perRequest), depths: v.depths });
    for (const r of rows) if (r.track < 0) this.queue.push({ grid, rows: [r], depths: v.depths });
    this.startRequests();
  }

  private startRequests(): void {
    while (this.flights.size < parallel && this.queue.length > 0) {
      const job = this.queue.shift();
      if (job) void this.fetch(job.grid, job.rows, job.depths);
    }
  }

  private async fetch(grid: Grid, rows: Row[], depths: number): Promise<void> {
    const abort = new AbortController();
    const keys = new Set(rows.map((r) => rowKey(r) ?? ""));
    const flight = { abort, grid, keys };
    this.flights.add(flight);
    try {
      const summary = rows[0].track < 0;
      const tracks = summary ? rows[0].members : rows.map((r) => r.track);
      const data = await this.client.binary(
        `traces/${encodeURIComponent(this.id)}/${summary ? "summary" : "tiles"}`,
        {
          from: grid.from,
          to: grid.to,
          width: grid.width,
          tracks: ranges(tracks),
          depths: summary ? undefined : depths,
        },
        abort.signal,
      );
      const tile = decodeTile(data);
      const strips = new Map<string, Strip[]>();
      for (const k of keys) strips.set(k, []);
      for (const s of tile.strips) (summary ? strips.get([...keys][0]) : strips.get(`t${s.track}`))?.push(s);
      for (const [k, list] of strips) this.keep(k, { grid, tile, strips: list, depths, stamp: ++this.stamp });
      this.bytes += tile.bytes;
      this.trim();
      this.error = "";
      this.arrived();
    } catch (e) {
      if (!isAbort(e)) {
        this.error = errorText(e);
        this.failed = now();
        this.queue = [];
        this.arrived();
      }
    } finally {
      this.flights.delete(flight);
      this.startRequests();
      this.client.onChange();
    }
  }

  private keep(key: string, e: Entry): void {
    const list = this.entries.get(key) ?? [];
    list.push(e);
    // keep the widest tile, which serves all zooms; among the others, drop the oldest one
    if (list.length > keepPerRow) {
      let widest = 0,
        oldest = -1;
      list.forEach((x, i) => {
        if (x.grid.to - x.grid.from > list[widest].grid.to - list[widest].grid.from) widest = i;
      });
      list.forEach((x, i) => {
        if (i !== widest && (oldest < 0 || x.stamp < list[oldest].stamp)) oldest = i;
      });
      list.splice(oldest, 1);
    }
    this.entries.set(key, list);
  }

  private trim(): void {
    const used = new Map<Tile, number>();
    const count = (): number => {
      used.clear();
      for (const l of this.entries.values())
        for (const e of l) used.set(e.tile, Math.max(used.get(e.tile) ?? 0, e.stamp));
      let n = 0;
      for (const t of used.keys()) n += t.bytes;
      return n;
    };
    if (this.bytes < budget) return;
    this.bytes = count();
    if (this.bytes < budget) return;
    const order = [...used].sort((a, b) => a[1] - b[1]);
    const drop = new Set<Tile>();
    for (const [t] of order) {
      if (this.bytes < budget / 2) break;
      drop.add(t);
      this.bytes -= t.bytes;
    }
    for (const [k, l] of this.entries) {
      const rest = l.filter((e) => !drop.has(e.tile));
      if (rest.length > 0) this.entries.set(k, rest);
      else this.entries.delete(k);
    }
  }
}

/**
 * sharpness returns 1 if columns are pixels. It returns less if they are wider, and a value from
 * 0.5 to 1 if they are narrower.
 */
function sharpness(scale: number): number {
  return scale >= 1 ? 1 / scale : 0.5 + scale / 2;
}

/** gridFits reports whether a grid covers a view, and its columns are pixels of the view. */
export function gridFits(g: Grid, v: View, length: bigint): boolean {
  // if the edge of the grid is near, it does not fit, so that the next one is requested early
  const end = length + 1n,
    d = v.window.to - v.window.from,
    margin = d >= 8n * BigInt(Math.max(1, v.width)) && v.width * 2 <= mostColumns ? d / 8n : 0n;
  const from = v.window.from < margin ? 0n : v.window.from - margin,
    to = v.window.to + margin > end ? end : v.window.to + margin;
  if (to <= from) return true;
  // a grid begins with a whole column, before which a part of a column at the start of the trace may
  // lie
  const part = from + d / BigInt(Math.max(1, Math.min(v.width, mostColumns))) + 1n,
    visible = v.window.from < 0n ? 0n : v.window.from;
  return (
    g.from <= (part < visible ? part : visible) &&
    g.to >= to &&
    columnsOnScreen(g, v.window, Math.min(v.width, mostColumns)).scale === 1
  );
}
