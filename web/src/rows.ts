// The tree of groups and tracks, and the rows that remain after folding, filtering and sorting.
import type { TraceMeta, TrackInfo } from "./api";
import { countWords } from "./dom";

/**
 * Node is a group or a track in the tree. Its key is unique and stable within a trace, and needs no
 * escape in a URL.
 */
export interface Node {
  key: string;
  label: string;
  detail: string;
  track: number;
  children: Node[];
}

/**
 * Row is a row of the time line. y is its distance from the top of all rows. y and height are in
 * CSS pixels.
 */
export interface Row {
  key: string;
  label: string;
  detail: string;
  level: number;
  /** track is the track of the row, or -1 for a group. */
  track: number;
  /** members holds the tracks below a group, in ascending order. */
  members: number[];
  expandable: boolean;
  collapsed: boolean;
  y: number;
  height: number;
  /**
   * strips is the number of strips of spans. Each is stripHeight high. extra is the height of a
   * curve or stack below them.
   */
  strips: number;
  stripHeight: number;
  extra: number;
  /**
   * more is the number of further strips that the row does not show. deeper is set if the track may
   * have still more, which the server counts, but does not draw.
   */
  more: number;
  deeper: boolean;
  /** stacked is set if the row shows the lanes of a resource as a stack, in one box with the height `extra`. */
  stacked: boolean;
  /** placed is set if each claim of the stack is at its offset. */
  placed: boolean;
}

/** Order is the order of rows that have the same parent. */
export type Order = "file" | "name" | "busy";

/** Options determines which rows exist, and how high they are. */
export interface Options {
  collapsed: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  order: Order;
  /** levels is the largest number of nested lines of a track. */
  levels: number;
  /** scaled is set if the height of a claim shows its amount as a share of the capacity. */
  scaled: boolean;
  /** offsets is set if claims with offsets are drawn there. */
  offsets: boolean;
  /**
   * filter selects tracks: the label of the track, or of its group, must contain this text. Upper
   * and lower case are the same.
   */
  filter: string;
  /** busy maps tracks to busy times. The order "busy" sorts by them, with the largest first. */
  busy: ReadonlyMap<number, number>;
  /**
   * stripHeight is the height of a strip in CSS pixels. 0 means that all rows are to fit into
   * `available` pixels if they stay readable.
   */
  stripHeight: number;
  available: number;
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/**
 * buildTree returns the tree of the groups and tracks of a trace. It groups tracks without a group
 * by their kind.
 */
export function buildTree(meta: Pick<TraceMeta, "groups" | "tracks" | "rows">): Node[] {
  const groups: Node[] = meta.groups.map((g, i) => ({
    key: `g${i}`,
    label: g.name || `${g.kind} ${i}`,
    detail: g.kind,
    track: -1,
    children: [],
  }));
  const tracks: Node[] = meta.tracks.map((t, i) => ({
    key: `t${i}`,
    label: t.name || `${t.sort || t.kind} ${t.id}`,
    detail: trackDetail(t),
    track: i,
    children: [],
  }));
  const roots: Node[] = [];
  const kinds = new Map<string, Node>();
  const kindGroup = (key: string, label: string): Node => {
    let n = kinds.get(key);
    if (!n) {
      n = { key, label, detail: "group", track: -1, children: [] };
      kinds.set(key, n);
    }
    return n;
  };
  meta.tracks.forEach((t, i) => {
    const parent = t.parent >= 0 && t.parent < tracks.length && t.parent !== i ? tracks[t.parent] : undefined;
    const group = t.group >= 0 && t.group < groups.length ? groups[t.group] : undefined;
    if (parent && t.kind === "counter" && meta.tracks[t.parent].kind !== "counter") parent.children.push(tracks[i]);
    else if (t.kind === "counter") kindGroup("counters", "Counters").children.push(tracks[i]);
    else if ((t.kind === "resource" && !group) || (meta.rows && t.sort === "value"))
      kindGroup("resources", meta.rows ? `by ${meta.rows}` : "Resources").children.push(tracks[i]);
    else if (t.kind === "communicator") kindGroup("communicators", "Communicators").children.push(tracks[i]);
    else if (group) group.children.push(tracks[i]);
    else roots.push(tracks[i]);
  });
  for (const list of [roots, ...[...groups, ...tracks, ...kinds.values()].map((n) => n.children)])
    addIDs(
      list.filter((n) => n.track >= 0),
      meta.tracks,
    );
  meta.groups.forEach((g, i) => {
    // a group in a cycle of parents stays at the top, because otherwise it could not be reached
    if (g.parent >= 0 && g.parent < groups.length && !reaches(meta.groups, g.parent, i))
      groups[g.parent].children.push(groups[i]);
    else roots.push(groups[i]);
  });
  const kept = prune(roots).map(fold);
  for (const key of ["resources", "counters", "communicators"]) {
    const n = kinds.get(key);
    if (n) kept.push(n);
  }
  return kept;
}

/** addIDs adds ids to those labels that several tracks have. */
function addIDs(nodes: readonly Node[], tracks: readonly TrackInfo[]): void {
  const seen = new Map<string, number>();
  for (const n of nodes) seen.set(n.label, (seen.get(n.label) ?? 0) + 1);
  for (const n of nodes) {
    const { id, name } = tracks[n.track];
    if ((seen.get(n.label) ?? 0) > 1 && id !== "" && id !== name) n.label += ` (${id})`;
  }
}

function reaches(groups: TraceMeta["groups"], from: number, target: number): boolean {
  for (let i = from, n = 0; i >= 0 && i < groups.length && n <= groups.length; i = groups[i].parent, n++)
    if (i === target) return true;
  return false;
}

function trackDetail(t: TrackInfo): string {
  if (t.kind === "resource") return `${t.sort || "resource"}, capacity ${t.capacity}${t.unit ? " " + t.unit : ""}`;
  if (t.kind === "counter") return `counter${t.unit ? ", " + t.unit : ""}`;
  return t.sort || t.kind;
}

/** prune returns the nodes without groups that contain no track. */
function prune(nodes: Node[]): Node[] {
  return nodes.filter((n) => {
    n.children = prune(n.children);
    return n.track >= 0 || n.children.length > 0;
  });
}

/**
 * fold replaces a group with a single track by the track. As a result, a process with one thread
 * has one row.
 */
function fold(n: Node): Node {
  n.children = n.children.map(fold);
  if (n.track < 0 && n.children.length === 1 && n.children[0].track >= 0) {
    const c = n.children[0];
    return {
      ...c,
      label: c.label === n.label ? c.label : `${n.label} · ${c.label}`,
      detail: `${n.detail}, ${c.detail}`,
    };
  }
  return n;
}

/** tracksOf lists the tracks of a node and of the nodes below it, in ascending order. */
export function tracksOf(n: Node): number[] {
  const out: number[] = [];
  const walk = (x: Node): void => {
    if (x.track >= 0) out.push(x.track);
    x.children.forEach(walk);
  };
  walk(n);
  return out.sort((a, b) => a - b);
}

/**
 * pathTo returns the nodes from the root to the node with a key. The list is empty if there is no
 * such node.
 */
export function pathTo(tree: readonly Node[], key: string): Node[] {
  for (const n of tree) {
    if (n.key === key) return [n];
    const below = pathTo(n.children, key);
    if (below.length > 0) return [n, ...below];
  }
  return [];
}

/**
 * rowNames returns names for rows, by key, that differ from each other. The name is the label if no
 * other row has the same. Otherwise it is the full name of the track, or the names of all groups
 * from the root.
 */
export function rowNames(tree: readonly Node[], fullName: (track: number) => string): Map<string, string> {
  const names = new Map<string, string>(),
    seen = new Map<string, number>();
  const walk = (nodes: readonly Node[], visit: (n: Node, way: readonly string[]) => void, above: string[] = []): void =>
    nodes.forEach((n) => {
      const way = [...above, n.label];
      visit(n, way);
      walk(n.children, visit, way);
    });
  walk(tree, (n) => seen.set(n.label, (seen.get(n.label) ?? 0) + 1));
  walk(tree, (n, way) => {
    const alone = seen.get(n.label) === 1;
    names.set(n.key, alone ? n.label : n.track >= 0 ? fullName(n.track) : way.join(" · "));
  });
  return names;
}

/**
 * sizes lists the heights of a strip, a curve and a lane of a stack that are tried in this order to
 * fit all rows. Curves and stacks become lower before spans become hard to read.
 */
const sizes: readonly (readonly [number, number, number])[] = [
  [18, 34, 18],
  [16, 34, 16],
  [14, 34, 14],
  [12, 34, 12],
  [12, 26, 12],
  [12, 20, 12],
  [10, 20, 10],
  [10, 20, 8],
  [10, 14, 8],
  [10, 14, 6],
  [10, 14, 4],
  [10, 14, 0],
];
/**
 * largestStrip returns the largest height of a strip if there are `available` pixels for all rows.
 * Rows may be higher on large screens.
 */
const largestStrip = (available: number): number => Math.min(64, Math.floor(available / 30));
/**
 * smallStrips lists the heights of a strip that are tried last if the rows have only spans. In that
 * case, it is more useful to see many rows than names in spans.
 */
const smallStrips = [8, 6];

const curveHeight = 34,
  leastCurve = 16,
  groupHeight = 18,
  collapsedHeight = 22,
  leastRow = 15,
  leastStack = 36;
/** mostStack returns the largest height of a stack for a height of a strip. */
const mostStack = (strip: number): number => Math.max(128, 4 * strip);

/** layout computes the rows of a tree and their positions. */
export function layout(
  tree: readonly Node[],
  meta: Pick<TraceMeta, "tracks">,
  o: Options,
): { rows: Row[]; height: number } {
  const rows: Row[] = [];
  const needle = o.filter.trim().toLocaleLowerCase();
  const weight = (n: Node): number =>
    n.track >= 0 ? (o.busy.get(n.track) ?? 0) : n.children.reduce((s, c) => s + weight(c), 0);
  const sorted = (nodes: readonly Node[]): readonly Node[] => {
    if (o.order === "name") return [...nodes].sort((a, b) => collator.compare(a.label, b.label));
    if (o.order === "busy") {
      const w = new Map(nodes.map((n) => [n, weight(n)]));
      return [...nodes].sort((a, b) => (w.get(b) ?? 0) - (w.get(a) ?? 0));
    }
    return nodes;
  };
  const matches = (n: Node): boolean => n.label.toLocaleLowerCase().includes(needle);
  const wanted = (n: Node, above: boolean): boolean =>
    !o.hidden.has(n.key) &&
    ((n.track >= 0 && (above || matches(n))) || n.children.some((c) => wanted(c, above || matches(n))));
  const walk = (nodes: readonly Node[], level: number, above: boolean): void => {
    for (const n of sorted(nodes)) {
      const hit = needle === "" || above || matches(n);
      if (!wanted(n, hit)) continue;
      const collapsed = o.collapsed.has(n.key) && n.children.length > 0;
      const t = n.track >= 0 ? meta.tracks[n.track] : undefined;
      const members =
        n.track < 0 && collapsed
          ? tracksOf(n).filter((i) => meta.tracks[i].depth > 0 && meta.tracks[i].kind !== "resource")
          : [];
      const placed = t !== undefined && canStack(o, t) && o.offsets && t.offsets === true && t.depth > 0;
      rows.push({
        key: n.key,
        label: n.label,
        detail: n.track >= 0 ? n.detail : (n.detail && `${n.detail}, `) + countWords(tracksOf(n).length, "row"),
        level,
        track: n.track,
        members,
        expandable: n.children.length > 0,
        collapsed,
        y: 0,
        height: 0,
        strips: t ? Math.min(o.levels, t.depth) : collapsed && members.length > 0 ? 1 : 0,
        more: t ? Math.max(0, t.depth - o.levels) : 0,
        deeper: t !== undefined && t.depth >= mostLevels,
        stripHeight: 0,
        extra: t && (t.kind === "counter" || t.kind === "resource") ? 1 : 0,
        placed,
        stacked: t !== undefined && canStack(o, t) && (t.depth > 1 || placed),
      });
      if (!collapsed) walk(n.children, level + 1, hit);
    }
  };
  walk(tree, 0, needle === "");
  return { rows, height: placeRows(rows, meta, o) };
}

/** canStack reports whether the claims of a track can be shown in a box of the height of its capacity. */
function canStack(o: Options, t: TraceMeta["tracks"][number]): boolean {
  return o.scaled && t.kind === "resource" && t.capacity > 0;
}

/** placeRows sets the heights and positions of rows, and returns the total height. */
function placeRows(rows: Row[], meta: Pick<TraceMeta, "tracks">, o: Options): number {
  const set = (strip: number, curve: number, lane = strip): number => {
    let y = 0;
    for (const r of rows) {
      const t = r.track >= 0 ? meta.tracks[r.track] : undefined;
      r.y = y;
      if (!t) {
        r.stripHeight = r.strips > 0 ? collapsedHeight - 4 : 0;
        r.extra = 0;
        r.height = r.collapsed ? collapsedHeight : groupHeight;
      } else if (t.kind === "counter") {
        r.stripHeight = strip;
        r.extra = curve;
        r.height = curve + 4 + r.strips * strip;
      } else if (r.stacked) {
        r.stripHeight = strip;
        r.extra = Math.max(leastStack, Math.min(mostStack(strip), r.strips * lane));
        r.height = r.extra + (strip >= 8 ? 4 : 2);
      } else {
        r.stripHeight = strip;
        // the height of a claim in a single lane shows the amount, so there is no need for a curve
        r.extra = t.kind === "resource" && t.depth > 1 ? Math.max(14, Math.round(strip * 1.5)) : 0;
        r.height = Math.max(leastRow, r.strips * strip + r.extra + (strip >= 8 ? 4 : 2));
      }
      y += r.height;
    }
    return y;
  };
  if (o.stripHeight > 0) return set(o.stripHeight, curveHeight);
  for (let strip = largestStrip(o.available); strip > 18; strip -= 2) {
    const h = set(strip, Math.max(curveHeight, Math.round(1.3 * strip)));
    if (h <= o.available) return h;
  }
  for (const [strip, curve, lane] of sizes) {
    const h = set(strip, curve, lane);
    if (h <= o.available) return h;
  }
  if (!rows.some((r) => r.track >= 0 && meta.tracks[r.track].kind === "counter"))
    for (const s of smallStrips) {
      const h = set(s, curveHeight);
      if (h <= o.available) return h;
    }
  // the rows do not fit, so choose a size with readable names in spans
  return set(11, leastCurve);
}

/**
 * levelSteps lists the numbers of levels that the user can choose. The last one stands for all
 * levels that the server sends.
 */
export const levelSteps: readonly number[] = [1, 2, 3, 4, 8, 16, 255];

/**
 * mostLevels is the largest number of strips that the server sends for a track. A track with that
 * many strips may have more.
 */
export const mostLevels = levelSteps[levelSteps.length - 1];

/**
 * moreWords describes the levels or lanes that a row does not show. It returns "" if the row shows
 * all of them.
 */
export function moreWords(r: Row): string {
  const what = r.stacked ? "lane" : "level";
  if (r.deeper)
    return r.more === 0
      ? `${what}s below the first ${mostLevels}, if there are any, are not drawn`
      : `${r.more} or more ${what}s below`;
  return r.more === 0 ? "" : `${r.more} more ${what}${r.more === 1 ? "" : "s"} below`;
}

/** moreMark is a short form of moreWords for the label of a row. */
export function moreMark(r: Row): string {
  return r.more > 0 ? `+${r.more}${r.deeper ? " or more" : ""}` : r.deeper ? `${mostLevels}+` : "";
}

/** rowAt returns the index of the row at a vertical position, or -1 if there is none. */
export function rowAt(rows: readonly Row[], y: number): number {
  let lo = 0,
    hi = rows.length;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (rows[m].y + rows[m].height <= y) lo = m + 1;
    else hi = m;
  }
  return lo < rows.length && rows[lo].y <= y ? lo : -1;
}

/** hiddenBelow returns the number of rows that are completely, or almost completely, below an edge. */
export function hiddenBelow(rows: readonly Row[], edge: number): number {
  const i = rowAt(rows, edge - 1);
  if (i < 0) return 0;
  return rows.length - i - (rows[i].y + rows[i].height - edge > 4 ? 0 : 1);
}

/**
 * rowOfTrack maps each track to the index of the row that shows it. That is its own row, or the row
 * of a folded group around it.
 */
export function rowOfTrack(rows: readonly Row[], tree: readonly Node[]): Map<number, number> {
  const index = new Map(rows.map((r, i) => [r.key, i]));
  const out = new Map<number, number>();
  const walk = (n: Node, holder: number): void => {
    const own = index.get(n.key);
    const i = own ?? holder;
    if (n.track >= 0 && i >= 0) out.set(n.track, i);
    const row = own === undefined ? undefined : rows[own];
    n.children.forEach((c) => walk(c, row ? (row.collapsed ? i : -1) : holder));
  };
  tree.forEach((n) => walk(n, -1));
  return out;
}
