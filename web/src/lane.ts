// A lane: one trace on the common axis, with its rows, tiles and colours.
import type { Client, RegionInfo, TraceMeta } from "./api";
import { type Colors, regionColors, type RegionColors } from "./colors";
import { LinkCache } from "./arrows";
import { buildTree, layout, type Node, type Options, type Row, rowOfTrack } from "./rows";
import { TileCache } from "./tiles";
import { type Clock, convert, type Window } from "./time";

/**
 * regionLabels returns the names of regions. Regions of the same name that differ in file or line
 * get these added.
 */
export function regionLabels(regions: readonly RegionInfo[]): string[] {
  const place = (r: RegionInfo): string =>
    r.file ? `${r.file}${r.line ? `:${r.line}` : ""}` : r.line ? `line ${r.line}` : "no file";
  const places = new Map<string, Set<string>>();
  for (const r of regions) places.set(r.name, (places.get(r.name) ?? new Set()).add(place(r)));
  return regions.map((r) => ((places.get(r.name)?.size ?? 0) > 1 ? `${r.name} (${place(r)})` : r.name));
}

/** Lane is one trace of the page. */
export class Lane {
  readonly clock: Clock;
  /** length is the time of the last event in ticks. */
  readonly length: bigint;
  readonly tree: Node[];
  readonly tiles: TileCache;
  readonly links: LinkCache;
  /** title is the name of the trace on the page, or its path if another trace has the same name. */
  readonly title: string;
  /** shift is added to the lane's times, in axis ticks. */
  shift = 0n;
  rows: Row[] = [];
  height = 0;
  rowOf = new Map<number, number>();
  colors: RegionColors;
  /** busy is the busy time by track; it is known after the rows have been sorted by it. */
  busy: ReadonlyMap<number, number> = new Map();

  constructor(
    readonly index: number,
    readonly meta: TraceMeta,
    readonly axis: Clock,
    client: Client,
    colors: Colors,
    unique: boolean,
    changed: () => void,
  ) {
    this.title = unique ? meta.name : meta.path || meta.name;
    this.clock = { num: BigInt(meta.clock.num), den: BigInt(meta.clock.den) };
    this.length = BigInt(meta.length);
    this.tree = buildTree(meta);
    this.tiles = new TileCache(client, meta.id, this.length, changed);
    this.links = new LinkCache(client, meta.id, changed);
    this.colors = regionColors(meta, "region", null, colors);
  }

  /** toLocal converts a time of the axis to the trace's ticks since its first event. */
  toLocal(t: bigint): bigint {
    return convert(t - this.shift, this.axis, this.clock);
  }
  /** toAxis is the inverse of toLocal. */
  toAxis(t: bigint): bigint {
    return convert(t, this.clock, this.axis) + this.shift;
  }
  /** local converts a window to the trace's ticks; the result is never empty. */
  local(w: Window): Window {
    const from = this.toLocal(w.from),
      to = this.toLocal(w.to);
    return { from, to: to > from ? to : from + 1n };
  }
  /** cut converts a window to the trace's ticks and clips it to the trace. */
  cut(w: Window): Window {
    const l = this.local(w),
      end = this.length + 1n;
    const from = l.from < 0n ? 0n : l.from > this.length ? this.length : l.from;
    const to = l.to > end ? end : l.to;
    return { from, to: to > from ? to : from + 1n };
  }
  /** arrange computes the rows. */
  arrange(o: Options): void {
    const { rows, height } = layout(this.tree, this.meta, o);
    this.rows = rows;
    this.height = height;
    this.rowOf = rowOfTrack(rows, this.tree);
  }
  private labels: readonly string[] | null = null;
  /**
   * regionLabel returns the name of a region for tables, with its place if another region has the
   * same name.
   */
  regionLabel(region: number, name: string): string {
    return (this.labels ??= regionLabels(this.meta.regions))[region] ?? name;
  }
  /** trackName returns the name of a track on the page. */
  trackName(track: number): string {
    const t = this.meta.tracks[track];
    return t ? t.name || `${t.sort || t.kind} ${t.id}` : "";
  }
  /** fullName returns the name of a track with that of its group. */
  fullName(track: number): string {
    const t = this.meta.tracks[track];
    // a counter belongs to a location
    const above =
      t?.kind === "counter" && t.parent !== track && this.meta.tracks[t.parent]?.kind !== "counter"
        ? this.trackName(t.parent)
        : "";
    if (above !== "") return `${this.fullName(t.parent)} · ${this.trackName(track)}`;
    const g = t ? this.meta.groups[t.group] : undefined;
    return g && g.name && g.name !== this.trackName(track)
      ? `${g.name} · ${this.trackName(track)}`
      : this.trackName(track);
  }
}
