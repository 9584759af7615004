// The views of the differences between two traces or times: a table of regions, a tree of call paths and a
// flame graph.
import type { Change, Diff, DiffMetric, DiffPath, DiffRegion } from "../answers";
import type { App } from "../app";
import { ink, unpack } from "../colors";
import { count, el, percent, nameElement } from "../dom";
import type { Tools } from "../dock";
import { csv } from "../export";
import type { Lane } from "../lane";
import { blend, pack } from "../raster";
import { seconds, shortFloat } from "../time";
import { Graph } from "./flamegraph";
import { swatch } from "./parts";
import { type Column, makeTable } from "./table";
import { OpenPaths, paths, TreeTable } from "./tree";

/** slower and faster are the colours of times that grow and shrink from A to B. */
const slower = "#d55e00",
  faster = "#0072b2";

/** Side is a trace that is compared, with a text that names it and its time. */
export interface Side {
  lane: Lane;
  text: string;
}

/**
 * PathInTree is a call path in the tree. regionKey identifies its region: the number in B, or -2 minus the number
 * in A.
 */
interface PathInTree {
  name: string;
  regionKey: number;
  row: DiffPath;
  children: PathInTree[];
}

/** noneOmitted is the value of `left` for a tree that leaves out no paths at the top level. */
const noneOmitted = { paths: 0, exclusive: "0" };

/** withSign formats a difference with its sign. */
function withSign(t: number, text: string): string {
  return (t > 0 ? "+" : "") + text;
}

/** percentChange formats the ratio of a change less 1, such as "+5.2 %". */
export function percentChange(c: Change): string {
  return c.ratio === null ? "–" : `${c.ratio >= 1 ? "+" : "−"}${(100 * Math.abs(c.ratio - 1)).toFixed(1)} %`;
}

/** kindOf describes how a reported row differs, as the command line does. It returns "" for other rows. */
function kindOf(r: DiffRegion): string {
  if (!r.reported) return "";
  return r.test && !r.test.significant ? "not significant" : r.kind;
}

/** labelOf returns the name of a row, with the one that it has in A. */
function labelOf(r: DiffRegion): string {
  return r.was ? `${r.region} (was ${r.was.join(" > ")})` : r.region;
}

/** Views shows the result of a comparison of A and B. all is set if it also shows rows below the thresholds. */
export class Views {
  private readonly numbers: readonly ReadonlyMap<string, number>[];

  constructor(
    private readonly app: App,
    private readonly tools: Tools,
    private readonly d: Diff,
    private readonly sides: readonly [a: Side, b: Side],
    private readonly metric: DiffMetric,
    private readonly all: boolean,
  ) {
    this.numbers = sides.map(({ lane }) => {
      const m = new Map<string, number>();
      lane.meta.regions.forEach((r, i) => {
        // the key without a place stands for the first region with the name
        for (const key of [r.name, `${r.name}\n${r.file ?? ""}\n${r.line ?? 0}`]) if (!m.has(key)) m.set(key, i);
      });
      return m;
    });
  }

  /** time formats a number of ticks of A. */
  private time(t: number): string {
    return shortFloat(t, this.sides[0].lane.clock);
  }

  /** figure returns the times of a row by which it is ranked. */
  private figure(r: DiffRegion): Change {
    return r[this.metric];
  }

  /** regionOf returns a side that has the region of a row, and the region's number there. It prefers side B. */
  private regionOf(r: DiffRegion): { side: number; region: number } {
    for (const side of [1, 0]) {
      const m = this.numbers[side],
        region = m.get(`${r.name}\n${r.file ?? ""}\n${r.line ?? 0}`) ?? m.get(r.name);
      if (region !== undefined) return { side, region };
    }
    return { side: 1, region: -1 };
  }

  /** swatch shows the colour of the region of a row. */
  private swatch(r: DiffRegion): HTMLElement | null {
    const { side, region } = this.regionOf(r);
    return swatch(this.app, this.sides[side].lane, region);
  }

  /** bar shows a difference as a bar, relative to the largest difference. */
  private bar(difference: number, most: number): HTMLElement {
    const width = (50 * Math.abs(difference)) / (most || 1);
    return el("span", {
      style: {
        display: "block",
        height: "9px",
        width: `${width}%`,
        "margin-left": difference < 0 ? `${50 - width}%` : "50%",
        background: difference > 0 ? slower : faster,
      },
    });
  }

  /** shift shows the median difference of an observation. Its confidence interval is the title. */
  private shift(r: DiffRegion): HTMLElement | string {
    const t = r.test;
    return t && r.reported
      ? el("span", { title: `${this.time(t.low)} to ${this.time(t.high)}` }, this.time(t.shift))
      : "–";
  }

  /** figures returns the columns of figures, which the table and the tree have in common. */
  private figures(rows: readonly DiffRegion[]): Column<DiffRegion>[] {
    const { metric } = this,
      [a, b] = this.sides,
      most = rows.reduce((m, r) => Math.max(m, Math.abs(this.figure(r).difference)), 0),
      sec = (t: number): number => t * seconds(1n, a.lane.clock);
    const time = (title: string, hint: string, of: (c: Change) => number): Column<DiffRegion> => ({
      title,
      hint,
      show: (r) => this.time(of(this.figure(r))),
      sort: (r) => of(this.figure(r)),
      csv: (r) => sec(of(this.figure(r))),
      unit: "s",
    });
    const visits = (title: string, of: (c: Change) => number): Column<DiffRegion> => ({
      title,
      show: (r) => count(of(r.visits)),
      sort: (r) => of(r.visits),
      csv: (r) => of(r.visits),
    });
    return [
      { title: "change", text: true, show: kindOf, sort: kindOf, csv: kindOf },
      time(`A: ${metric}`, a.text, (c) => c.a),
      time(`B: ${metric}`, b.text, (c) => c.b),
      {
        ...time("B − A", "sort by the size of the difference", (c) => c.difference),
        show: (r) => withSign(this.figure(r).difference, this.time(this.figure(r).difference)),
        sort: (r) => Math.abs(this.figure(r).difference),
      },
      { title: "", bar: true, show: (r) => this.bar(this.figure(r).difference, most) },
      {
        title: "B / A",
        show: (r) => this.figure(r).ratio?.toFixed(3) ?? "–",
        sort: (r) => this.figure(r).ratio ?? Infinity,
        csv: (r) => this.figure(r).ratio ?? "",
      },
      {
        title: "Q",
        hint: "share of chance among the differences up to this one; above 0.05 a difference is not significant",
        show: (r) => (r.test ? String(Number(r.test.q.toPrecision(2))) : "–"),
        sort: (r) => r.test?.q ?? 2,
        csv: (r) => r.test?.q ?? "",
      },
      {
        title: "shift",
        hint: "median difference of an observation; the title of a value is its 95 % confidence interval",
        show: (r) => this.shift(r),
        sort: (r) => r.test?.shift ?? 0,
        csv: (r) => (r.test && r.reported ? sec(r.test.shift) : ""),
        unit: "s",
      },
      visits("A: count", (c) => c.a),
      visits("B: count", (c) => c.b),
    ];
  }

  /** omittedRows describes the rows that the server leaves out; "" if there are none. */
  private omittedRows(rows: number, reported: number, what: string): string {
    return rows === 0 ? "" : `${what} are left out; ${count(reported)} of them differ`;
  }

  /** regions shows the table of regions. */
  regions(): void {
    const { d, app, tools } = this,
      rows = this.all ? d.regions : d.regions.filter((r) => r.reported),
      { regions: n, reportedRegions: reported } = d.left;
    const name: Column<DiffRegion> = {
      title: "region",
      text: true,
      show: (r) => el("span", {}, this.swatch(r), nameElement(labelOf(r))),
      sort: labelOf,
      csv: labelOf,
    };
    const columns = [name, ...this.figures(rows)];
    const t = makeTable(columns, rows, {
      order: columns.findIndex((c) => c.title === "B − A"),
      memory: tools,
      run: tools.run,
      left: this.omittedRows(n, reported, `${count(n)} of ${count(d.comparedRegions)} regions`),
      filter: labelOf,
      click: (r) => app.highlight(r.name),
      clickHint: "highlight this region",
    });
    if (t.filter) tools.bar.append(t.filter);
    tools.body.append(t.element);
    tools.csv(t.csv);
  }

  /** roots returns the tree of the call paths of which keep chooses a path, or one inside of it. */
  private roots(keep: (r: DiffPath) => boolean): PathInTree[] {
    const roots: PathInTree[] = [],
      list = this.d.paths,
      kept = list.map(keep);
    for (let i = list.length - 1; i >= 0; i--) if (kept[i] && list[i].parent >= 0) kept[list[i].parent] = true;
    const nodes: (PathInTree | null)[] = [];
    list.forEach((row, i) => {
      const { side, region } = this.regionOf(row),
        n = { name: row.name, regionKey: side === 1 ? region : -2 - region, row, children: [] };
      nodes.push(kept[i] ? n : null);
      if (kept[i]) (nodes[row.parent]?.children ?? roots).push(n);
    });
    return roots;
  }

  /** leftPaths describes the call paths that the server leaves out. */
  private leftPaths(): string {
    const { left, comparedPaths } = this.d;
    return this.omittedRows(
      left.paths,
      left.reportedPaths,
      `${count(left.paths)} of ${paths(comparedPaths)}, those with least time,`,
    );
  }

  /** tree shows the call paths, in each level those with the largest difference first. */
  tree(open: OpenPaths): void {
    const { app, tools, d } = this,
      roots = this.roots((r) => this.all || r.reported),
      size = (n: PathInTree): number => Math.abs(this.figure(n.row).difference);
    const sort = (list: PathInTree[]): void => {
      list.sort((a, b) => size(b) - size(a));
      for (const n of list) sort(n.children);
    };
    sort(roots);
    const columns = this.figures(d.paths),
      table = new TreeTable<PathInTree>(app, tools, roots, {
        columns: columns.map((c) => ({ ...c, show: (n) => c.show(n.row) })),
        open,
        place: "open",
        label: (n) => labelOf(n.row),
        swatch: (n) => this.swatch(n.row),
        left: noneOmitted,
        lack: this.leftPaths(),
        all: paths(d.comparedPaths),
      });
    table.show();
    tools.csv(() => {
      const shown = columns.filter((c) => c.csv),
        rows: (string | number | bigint)[][] = [],
        lack = this.leftPaths();
      table.eachPath((n, names) => rows.push([names, ...shown.map((c) => c.csv?.(n.row) ?? "")]));
      if (lack !== "") rows.push([lack, ...shown.map(() => "")]);
      return csv(["path", ...shown.map((c) => c.title + (c.unit ? ` (${c.unit})` : ""))], rows);
    });
  }

  /** color returns the colour of a change: blue if B is faster, grey if both are equal, and orange if B is slower. */
  private color(r: DiffPath): string {
    const { a, b, difference } = this.figure(r),
      share = this.all || r.reported ? Math.sqrt(Math.abs(difference) / (Math.max(a, b) || 1)) : 0;
    return unpack(blend(pack(difference > 0 ? slower : faster), pack(this.app.colors.other), Math.round(255 * share)));
  }

  /**
   * flame shows the flame graph of both sides. The width of a box is the time of A and B together, so that
   * the paths of both are visible.
   */
  flame(zoomed: readonly string[], keep: (zoomed: readonly string[]) => void): void {
    const { app, tools, d } = this;
    const graph = new Graph<PathInTree>(
      app,
      this.roots(() => true),
      {
        size: (n) => n.row.subtree.a + n.row.subtree.b,
        label: (n) => labelOf(n.row),
        text: (n, width) => {
          const one = (c: Change, what: string): string =>
            `A ${this.time(c.a)}, B ${this.time(c.b)} ${what} (${percentChange(c)})`;
          const { inclusive, exclusive, visits } = n.row;
          return (
            `${one(inclusive, "inclusive")}; ${one(exclusive, "exclusive")}; ${count(visits.a)} and ` +
            `${count(visits.b)} times; ${kindOf(n.row) || "below the thresholds"}; ${percent(width)} of both`
          );
        },
        color: (n) => {
          const background = this.color(n.row);
          return { background, color: ink(background) };
        },
        narrow: d.left.paths > 0,
        zoomed,
        keep,
      },
    );
    tools.body.append(graph.crumbs, graph.element, el("p", { class: "faint" }, graph.info));
    tools.csv(null);
  }
}
