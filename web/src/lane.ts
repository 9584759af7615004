// A lane: one trace on the common axis, with its rows, tiles and colours.
import type { Client, RegionInfo, TraceMeta, TrackInfo } from "./api";
import { type Colors, regionColors, type RegionColors } from "./colors";
import { LinkCache } from "./arrows";
import { Overlays } from "./overlays";
import { buildTree, layout, type Node, type Options, type Row, rowNames, rowOfTrack } from "./rows";
import { TileCache } from "./tiles";
import { type Clock, convert, type Window } from "./time";

/**
 * regionLabels returns the names of regions. Regions of the same name that differ in file or line
 * get these added, in the words of the command line.
 */
export function regionLabels(regions: readonly RegionInfo[]): string[] {
  const place = (r: RegionInfo): string =>
    [r.file, (r.line ?? 0) > 0 ? (r.file ? String(r.line) : `line ${r.line}`) : ""].filter(Boolean).join(":") ||
    "no place";
  const places = new Map<string, Set<string>>();
  for (const r of regions) places.set(r.name, (places.get(r.name) ?? new Set()).add(place(r)));
  const several = (r: RegionInfo): boolean => r.name !== "" && (places.get(r.name)?.size ?? 0) > 1;
  return regions.map((r) => (several(r) ? `${r.name} (${place(r)})` : r.name));
}

/** trackName returns the name of a track, or its kind and id. */
function trackName(t: Pick<TrackInfo, "kind" | "name" | "sort" | "id">): string {
  return t.name || `${t.sort || t.kind} ${t.id}`;
}

/** fullNames returns the full names of tracks; see [Lane.fullName]. */
export function fullNames({ tracks, groups }: Pick<TraceMeta, "tracks" | "groups">): string[] {
  // a counter of a location has the name of the location before its own
  const below = (t: TrackInfo, i: number): boolean =>
    t.kind === "counter" && t.parent !== i && (tracks[t.parent]?.kind ?? "counter") !== "counter";
  const names = tracks.map((t) => {
    const name = trackName(t),
      group = groups[t.group]?.name;
    return group && group !== name ? `${group} · ${name}` : name;
  });
  const distinguish = (of: (t: TrackInfo, i: number) => boolean): void => {
    const seen = new Map<string, number>(),
      key = (i: number): string => `${tracks[i].kind} ${names[i]}`;
    tracks.forEach((t, i) => of(t, i) && seen.set(key(i), (seen.get(key(i)) ?? 0) + 1));
    const shared = tracks.map((t, i) => of(t, i) && t.id !== t.name && (seen.get(key(i)) ?? 0) > 1);
    shared.forEach((is, i) => {
      if (is) names[i] += ` (${tracks[i].id})`;
    });
  };
  distinguish((t, i) => !below(t, i));
  tracks.forEach((t, i) => {
    if (below(t, i)) names[i] = `${names[t.parent]} · ${trackName(t)}`;
  });
  distinguish(below);
  return names;
}

/** Lane is one trace of the page. */
export class Lane {
  readonly clock: Clock;
  /** length is the time of the last event in ticks. */
  readonly length: bigint;
  readonly tree: Node[];
  readonly tiles: TileCache;
  readonly links: LinkCache;
  readonly overlays: Overlays;
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
    this.overlays = new Overlays(client, meta.id, changed);
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
    return t ? trackName(t) : "";
  }
  private names: readonly string[] | null = null;
  /**
   * fullName returns the name of a track with that of its group, and with its id if another track
   * of its kind would have the same full name.
   */
  fullName(track: number): string {
    return (this.names ??= fullNames(this.meta))[track] ?? "";
  }
  private rowNames: ReadonlyMap<string, string> | null = null;
  /** rowName returns the label of a row, with more of its name if another row has the same label. */
  rowName(n: Node): string {
    return (this.rowNames ??= rowNames(this.tree, (t) => this.fullName(t))).get(n.key) ?? n.label;
  }
}
