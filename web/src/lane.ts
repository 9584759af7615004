// A lane: one trace on the axis that all traces share, with its rows, tiles and colours.
import type { Client, RegionInfo, TraceMeta, TrackInfo } from "./api";
import { type Colors, regionColors, type RegionColors } from "./colors";
import { LinkCache } from "./arrows";
import { Overlays } from "./overlays";
import { buildTree, layout, type Node, type Options, type Row, rowNames, rowOfTrack } from "./rows";
import { TileCache } from "./tiles";
import { type Clock, convert, type Window } from "./time";

/**
 * regionLabels returns names for regions that differ from each other. If regions with the same name
 * have different files or lines, it adds these, in the same form as the command line.
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

/** fullNames returns the full name of each track (see [Lane.fullName]). */
export function fullNames({ tracks, groups }: Pick<TraceMeta, "tracks" | "groups">): string[] {
  // below reports whether a track is a counter of a location. Its full name begins with the name of the location.
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
  /** length is the time of the last event, in ticks. */
  readonly length: bigint;
  readonly tree: Node[];
  readonly tiles: TileCache;
  readonly links: LinkCache;
  readonly overlays: Overlays;
  /** title is the name of the trace. If another trace on the page has the same name, it is the path. */
  readonly title: string;
  /** shift is added to the times of the lane, in ticks of the axis. */
  shift = 0n;
  rows: Row[] = [];
  height = 0;
  rowOf = new Map<number, number>();
  colors: RegionColors;
  /** busy maps tracks to their busy times. It is empty until the rows have first been sorted by them. */
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

  /** toLocal converts a time of the axis to ticks since the first event of the trace. */
  toLocal(t: bigint): bigint {
    return convert(t - this.shift, this.axis, this.clock);
  }
  /** toAxis converts a time of the trace to the axis. It is the inverse of toLocal. */
  toAxis(t: bigint): bigint {
    return convert(t, this.clock, this.axis) + this.shift;
  }
  /** local converts a window of the axis to ticks of the trace. The result is at least one tick long. */
  local(w: Window): Window {
    const from = this.toLocal(w.from),
      to = this.toLocal(w.to);
    return { from, to: to > from ? to : from + 1n };
  }
  /** cut converts a window of the axis to ticks of the trace, and clips it to the trace. */
  cut(w: Window): Window {
    const l = this.local(w),
      end = this.length + 1n;
    const from = l.from < 0n ? 0n : l.from > this.length ? this.length : l.from;
    const to = l.to > end ? end : l.to;
    return { from, to: to > from ? to : from + 1n };
  }
  /** times returns the begin and the end of a window of the axis, clipped to the times of the trace. */
  times(w: Window): Window {
    const { from, to } = this.cut(w);
    return { from, to: to > this.length ? this.length : to };
  }
  /** reaches reports whether a window of the axis has a part of the trace. */
  reaches(w: Window): boolean {
    const l = this.local(w);
    return l.to > 0n && l.from <= this.length;
  }
  /** arrange computes the rows and their positions. */
  arrange(o: Options): void {
    const { rows, height } = layout(this.tree, this.meta, o);
    this.rows = rows;
    this.height = height;
    this.rowOf = rowOfTrack(rows, this.tree);
  }
  private labels: readonly string[] | null = null;
  /**
   * regionLabel returns the name of a region for tables. It includes the file and line if another
   * region has the same name.
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
   * fullName returns the name of a track after that of its group. It includes the id if another
   * track of the same kind has the same full name.
   */
  fullName(track: number): string {
    return (this.names ??= fullNames(this.meta))[track] ?? "";
  }
  /** spanWord is "region", or the attribute whose values name the spans instead. */
  get spanWord(): string {
    return this.meta.label || this.meta.color || "region";
  }
  private rowNames: ReadonlyMap<string, string> | null = null;
  /** rowName returns the label of a row. If other rows have the same label, it returns a longer name. */
  rowName(n: Node): string {
    return (this.rowNames ??= rowNames(this.tree, (t) => this.fullName(t))).get(n.key) ?? n.label;
  }
}
