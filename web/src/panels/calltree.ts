// The call tree: time by call path, opened level by level.
import { type CallNode, type CallTree, type PathsLeft, errorText } from "../api";
import { count, el, percent } from "../dom";
import type { App } from "../app";
import type { Panel, Scope } from "../dock";
import { csv } from "../export";
import { type Mean, meanOf, meanTicks, short, shortMean } from "../time";
import { selectCallAt } from "./calls";
import { linkButton, swatch } from "./parts";
import { OpenPaths, paths, type TreeColumn, TreeTable } from "./tree";

/**
 * mean returns the mean duration of the calls of a path. It uses the inclusive time, which is exact
 * here because the calls of a path do not contain each other.
 */
function mean(n: CallNode): Mean | null {
  return meanOf(BigInt(n.inclusive), n.count);
}

/** omittedAtTop returns the sums over omitted paths that are not below a listed path. */
export function omittedAtTop(t: CallTree): PathsLeft {
  let n = t.left.paths,
    time = BigInt(t.left.exclusive);
  const take = (list: readonly CallNode[] | null): void => {
    for (const x of list ?? []) {
      if (x.left) {
        n -= x.left.paths;
        time -= BigInt(x.left.exclusive);
      }
      take(x.children);
    }
  };
  take(t.roots);
  return { paths: n, exclusive: String(time) };
}

/** Formatter formats the figures of a call tree. */
class Formatter {
  /** atTop has the paths that are left out and not below a listed one. */
  readonly atTop: PathsLeft;
  private readonly total: bigint;

  constructor(
    private readonly app: App,
    private readonly scope: Scope,
    private readonly tree: CallTree,
  ) {
    this.atTop = omittedAtTop(tree);
    this.total = (tree.roots ?? []).reduce((s, n) => s + BigInt(n.inclusive), BigInt(this.atTop.exclusive));
  }

  /** part returns a time as a share of the time of all paths. */
  private part(t: string): number {
    return this.total > 0n ? Number(BigInt(t)) / Number(this.total) : 0;
  }

  /** time formats a number of ticks. */
  private time(ticks: string): string {
    return short(BigInt(ticks), this.scope.lane.clock);
  }

  /** omittedPaths describes the paths that the server leaves out; "" if there are none. */
  omittedPaths(): string {
    const { left, paths: n } = this.tree;
    return left.paths > 0
      ? `${count(left.paths)} of ${paths(n)}, those with least time, are left out: ` +
          `${percent(this.part(left.exclusive))} of the time`
      : "";
  }

  /** bar shows the part of a path in the colour of its region. */
  private bar(n: CallNode): HTMLElement {
    const { app } = this,
      { css } = this.scope.lane.colors;
    const color = app.store.state.color === "track" ? app.colors.other : (css[n.region] ?? app.colors.other);
    return el("span", { class: "bar", style: { width: `${100 * this.part(n.inclusive)}%`, background: color } });
  }

  /** longest returns the duration of the longest call of a path, which leads to that call. */
  private longest(n: CallNode, depth: number): HTMLElement | string {
    const { app, scope } = this,
      text = this.time(n.max),
      at = n.longest;
    return at
      ? linkButton(text, "go to the longest call", () => {
          selectCallAt(app, scope, at.track, depth, at.time).catch((e: unknown) => app.announce(errorText(e)));
        })
      : text;
  }

  /** columns returns the columns of the table. */
  columns(): TreeColumn<CallNode>[] {
    return [
      { title: "", bar: true, show: (n) => this.bar(n) },
      {
        title: "part",
        show: (n) => percent(this.part(n.inclusive)),
        rest: (left) => percent(this.part(left.exclusive)),
      },
      { title: "inclusive", show: (n) => this.time(n.inclusive) },
      { title: "exclusive", show: (n) => this.time(n.exclusive), rest: (left) => this.time(left.exclusive) },
      { title: "count", show: (n) => count(n.count) },
      { title: "min", show: (n) => this.time(n.min) },
      { title: "mean", show: (n) => shortMean(mean(n), this.scope.lane.clock) },
      { title: "max", show: (n, level) => this.longest(n, level) },
    ];
  }
}

/** treeCSV returns the table as CSV. */
function treeCSV(table: TreeTable<CallNode>, tree: CallTree, lack: string): string {
  const rows: (string | number)[][] = [];
  table.eachPath((n, names) => rows.push([names, n.count, n.inclusive, n.exclusive, n.min, meanTicks(mean(n)), n.max]));
  if (lack) rows.push([lack, "", "", tree.left.exclusive, "", "", ""]);
  return csv(
    ["path", "count", "inclusive (ticks)", "exclusive (ticks)", "min (ticks)", "mean (ticks)", "max (ticks)"],
    rows,
  );
}

/**
 * calltree creates the panel of the call tree. Open paths stay open when the window changes, and
 * the address keeps them.
 */
export function calltree(): Panel {
  const opened = new Map<number, OpenPaths>(); // by lane
  return {
    id: "calltree",
    title: "Call tree",
    timeScope: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const tree = await app.client.json<CallTree>(
        `traces/${encodeURIComponent(lane.meta.id)}/calltree`,
        { from: w.from, to: w.to },
        tools.signal,
      );
      const open = opened.get(lane.index) ?? new OpenPaths(),
        figures = new Formatter(app, scope, tree),
        lack = figures.omittedPaths();
      opened.set(lane.index, open);
      const table = new TreeTable<CallNode>(app, tools, tree.roots ?? [], {
        columns: figures.columns(),
        open,
        place: lane.index > 0 ? `open${lane.index}` : "open",
        label: (n) => lane.regionLabel(n.region, n.name),
        swatch: (n) => swatch(app, lane, n.region),
        left: figures.atTop,
        lack,
        all: paths(tree.paths),
      });
      table.show();
      tools.csv(() => treeCSV(table, tree, lack));
    },
  };
}
