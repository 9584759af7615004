// The call tree: time by call path, opened level by level.
import { type CallNode, type CallTree, type PathsLeft, errorText } from "../api";
import { button, count, el, percent, titled } from "../dom";
import type { App } from "../app";
import type { Panel, Scope, Tools } from "../dock";
import { csv } from "../export";
import { type Mean, meanOf, meanTicks, short, shortMean } from "../time";
import { goVisit } from "./calls";
import { linkButton, swatch } from "./parts";
import { each, sorted } from "../slices";
import { Rows } from "./rows";

/** paths formats a number of call paths. */
function paths(n: number): string {
  return `${count(n)} call ${n === 1 ? "path" : "paths"}`;
}

/**
 * mean returns the mean duration of the calls of a path. It uses the inclusive time, which is exact
 * here because the calls of a path do not contain each other.
 */
function mean(n: CallNode): Mean | null {
  return meanOf(BigInt(n.inclusive), n.count);
}

/** leftAtTop returns the sums over omitted paths that are not below a listed path. */
export function leftAtTop(t: CallTree): PathsLeft {
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

/** Path is a call path, written as the numbers of its regions: "3.1.2". */
type Path = string;
const below = (above: Path, n: CallNode): Path => (above === "" ? "" : above + ".") + String(n.call);

/**
 * mostIndent is the number of levels that are indented. Deeper levels show their number instead,
 * which leaves room for names.
 */
const mostIndent = 24;

/** mostOpen is the largest length of the open paths in an address, in characters. */
const mostOpen = 1000;

/**
 * writeOpen formats open paths for the address, as many as fit. It omits paths below a closed path,
 * which are hidden, and paths that a longer open path contains.
 */
export function* writeOpen(open: ReadonlySet<Path>): Generator<void, string> {
  // "." sorts before all digits, so that a path comes after the paths above it and before the paths
  // below it
  const all = yield* sorted([...open], (a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    reached = new Set<Path>();
  yield* each(all.length, (i) => {
    const p = all[i],
      dot = p.lastIndexOf(".");
    if (dot < 0 || reached.has(p.slice(0, dot))) reached.add(p);
  });
  const seen = [...reached];
  let text = "";
  yield* each(seen.length, (i) => {
    const p = seen[i],
      more = text === "" ? p : `${text}_${p}`;
    if (more.length <= mostOpen && seen[i + 1]?.startsWith(p + ".") !== true) text = more;
  });
  return text === "" ? "-" : text;
}

/** readOpen is the inverse of writeOpen. */
export function readOpen(text: string): Set<Path> {
  const open = new Set<Path>();
  for (const p of text.split("_"))
    if (/^-?\d+(\.-?\d+)*$/.test(p)) p.split(".").forEach((_, i, all) => open.add(all.slice(0, i + 1).join(".")));
  return open;
}

/** Line is a line of the table: a call path, or the paths that are left out below a path. */
type Line = { level: number; n: CallNode; path: Path } | { level: number; rest: PathsLeft };

/** OpenPaths holds the open paths of a trace, and their text in the address. */
interface OpenPaths {
  open: Set<Path>;
  text: string;
}

/** openLongest opens the path with the most time. */
function openLongest(open: Set<Path>, roots: readonly CallNode[]): void {
  for (let list = roots, path = "", level = 0; list.length > 0 && level < 5; level++) {
    path = below(path, list[0]);
    open.add(path);
    list = list[0].children ?? [];
  }
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
    of: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const tree = await app.client.json<CallTree>(
        `traces/${encodeURIComponent(lane.meta.id)}/calltree`,
        { from: w.from, to: w.to },
        tools.signal,
      );
      const text = tools.get(placeOf(scope));
      let held = opened.get(lane.index);
      if (held?.text !== text) {
        held = { open: readOpen(text), text };
        opened.set(lane.index, held);
        if (text === "") openLongest(held.open, tree.roots ?? []);
      }
      new TreeTable(app, scope, tools, tree, held).show();
    },
  };
}

/** placeOf returns the name under which the state keeps the open paths of a trace. */
function placeOf({ lane }: Scope): string {
  return lane.index > 0 ? `open${lane.index}` : "open";
}

/** TreeTable is the table of call paths. */
class TreeTable {
  private readonly roots: readonly CallNode[];
  private readonly apart: PathsLeft;
  private readonly total: bigint;
  private readonly open: Set<Path>;
  private readonly foot = el("p", { class: "faint" });
  private readonly body: Rows;
  private lines: Line[] = [];
  private stop = (): void => undefined;

  constructor(
    private readonly app: App,
    private readonly scope: Scope,
    private readonly tools: Tools,
    private readonly tree: CallTree,
    private readonly held: OpenPaths,
  ) {
    this.roots = tree.roots ?? [];
    this.apart = leftAtTop(tree);
    this.total = this.roots.reduce((s, n) => s + BigInt(n.inclusive), BigInt(this.apart.exclusive));
    this.open = held.open;
    this.body = new Rows(
      9,
      (i) => this.line(i),
      (i) => "n" in this.lines[i],
    );
  }

  /** show fills the panel. */
  show(): void {
    const { tools, open } = this;
    this.fill();
    tools.bar.append(
      button("Open all", "Open all call paths", () => {
        this.eachPath((p) => open.add(p));
        this.keep();
      }),
      button("Close all", "Close all call paths", () => {
        open.clear();
        this.keep();
      }),
    );
    tools.body.append(
      this.roots.length === 0 ? el("p", { class: "faint" }, "No calls in this time.") : this.table(),
      this.foot,
    );
    if (!this.lack()) tools.bar.append(el("span", { class: "faint" }, paths(this.tree.paths)));
    tools.csv(() => this.exported());
  }

  /** part returns a time as a share of the time of all paths. */
  private part(t: string): number {
    return this.total > 0n ? Number(BigInt(t)) / Number(this.total) : 0;
  }

  /** time formats a number of ticks. */
  private time(ticks: string): string {
    return short(BigInt(ticks), this.scope.lane.clock);
  }

  /** lack describes the paths that the server leaves out; "" if there are none. */
  private lack(): string {
    const { left, paths: n } = this.tree;
    return left.paths > 0
      ? `${count(left.paths)} of ${paths(n)}, those with least time, are left out: ` +
          `${percent(this.part(left.exclusive))} of the time`
      : "";
  }

  /** keep shows the open paths anew, and writes them to the state. */
  private keep(): void {
    const { held, open, tools, scope } = this;
    this.fill();
    this.stop();
    this.stop = tools.run(
      (function* () {
        held.text = yield* writeOpen(open);
        tools.set(placeOf(scope), held.text);
      })(),
    );
  }

  /** flip opens a closed path, or closes an open one. */
  private flip(i: number): void {
    const l = this.lines[i];
    if (!("n" in l)) return;
    if (!this.open.delete(l.path)) this.open.add(l.path);
    this.keep();
    // the rows above have not moved, so that row i is still in the same place
    this.body.focus(i);
  }

  /** fill lists the visible lines. */
  private fill(): void {
    this.lines = [];
    const walk = (nodes: readonly CallNode[], level: number, above: string): void => {
      for (const n of nodes) {
        const path = below(above, n),
          kids = n.children ?? [],
          is = this.open.has(path);
        this.lines.push({ level, n, path });
        if (is) walk(kids, level + 1, path);
        if (n.left && (is || kids.length === 0)) this.lines.push({ level: level + 1, rest: n.left });
      }
    };
    walk(this.roots, 0, "");
    if (this.apart.paths > 0) this.lines.push({ level: 0, rest: this.apart });
    this.foot.textContent = this.lack();
    this.body.show(this.lines.length);
  }

  /** eachPath calls f for all listed paths, open or not. names has the names of its regions. */
  private eachPath(f: (path: Path, names: string, n: CallNode) => void): void {
    const { lane } = this.scope;
    const walk = (nodes: readonly CallNode[], above: Path, namesAbove: string): void => {
      for (const n of nodes) {
        const path = below(above, n),
          names = namesAbove + "/" + lane.regionLabel(n.region, n.name);
        f(path, names, n);
        walk(n.children ?? [], path, names);
      }
    };
    walk(this.roots, "", "");
  }

  /** longest returns the duration of the longest call of a path, which leads to that call. */
  private longest(n: CallNode, depth: number): HTMLElement | string {
    const { app, scope } = this,
      text = this.time(n.max),
      at = n.longest;
    return at
      ? linkButton(text, "go to the longest call", () => {
          goVisit(app, scope, at.track, depth, at.time).catch((e: unknown) => app.announce(errorText(e)));
        })
      : text;
  }

  /** line returns the row of a line. */
  private line(i: number): HTMLElement {
    const l = this.lines[i];
    return "n" in l ? this.pathRow(i, l.n, l.path, l.level) : this.restRow(l.rest, l.level);
  }

  /** restRow returns the row of paths that are left out. */
  private restRow(rest: PathsLeft, level: number): HTMLElement {
    return el(
      "tr",
      { class: "faint" },
      el("td", { class: "text" }, indent(level, 18), `… ${paths(rest.paths)} with less time`),
      el("td", {}),
      el("td", {}, percent(this.part(rest.exclusive))),
      el("td", {}),
      el("td", {}, this.time(rest.exclusive)),
      el("td", { colspan: 4 }),
    );
  }

  /** pathRow returns the row of a call path. */
  private pathRow(i: number, n: CallNode, path: Path, level: number): HTMLElement {
    const { app } = this,
      { lane } = this.scope,
      hasKids = (n.children ?? []).length > 0,
      is = this.open.has(path),
      color = app.store.state.color === "track" ? app.colors.other : (lane.colors.css[n.region] ?? app.colors.other);
    const tr = el(
      "tr",
      {
        title: "highlight this region",
        data: { path },
        aria: { level: level + 1, ...(hasKids ? { expanded: is } : {}) },
      },
      el(
        "td",
        { class: "text" },
        indent(level, 0),
        hasKids ? this.twist(i, is) : el("span", { class: "twist", style: { display: "inline-block" } }),
        swatch(app, lane, n.region),
        titled(lane.regionLabel(n.region, n.name)),
      ),
      el(
        "td",
        { class: "barcell" },
        el("span", { class: "bar", style: { width: `${100 * this.part(n.inclusive)}%`, background: color } }),
      ),
      el("td", {}, percent(this.part(n.inclusive))),
      el("td", {}, this.time(n.inclusive)),
      el("td", {}, this.time(n.exclusive)),
      el("td", {}, count(n.count)),
      el("td", {}, this.time(n.min)),
      el("td", {}, shortMean(mean(n), lane.clock)),
      el("td", {}, this.longest(n, level)),
    );
    tr.addEventListener("click", () => app.highlight(n.name));
    tr.addEventListener("keydown", (e) => {
      if ((e.key === "ArrowRight" && !is && hasKids) || (e.key === "ArrowLeft" && is)) this.flip(i);
      else if (e.key === "Enter") app.highlight(n.name);
      else return;
      e.preventDefault();
      e.stopPropagation();
    });
    return tr;
  }

  /** twist returns the button that opens or closes a path. */
  private twist(i: number, isOpen: boolean): HTMLElement {
    return el(
      "button",
      {
        type: "button",
        class: "twist",
        tabindex: -1,
        aria: { label: isOpen ? "close" : "open" },
        on: {
          click: (e) => {
            e.stopPropagation();
            this.flip(i);
          },
        },
      },
      isOpen ? "▾" : "▸",
    );
  }

  /** table returns the table with its head. */
  private table(): HTMLElement {
    const head = (t: string, cls = ""): HTMLElement =>
      el(t === "" ? "td" : "th", { class: cls }, el("span", { style: { padding: "2px 8px" } }, t));
    return el(
      "table",
      { class: "tree", role: "treegrid" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head("call path", "text"),
          head(""),
          head("part"),
          head("inclusive"),
          head("exclusive"),
          head("count"),
          head("min"),
          head("mean"),
          head("max"),
        ),
      ),
      this.body.body,
    );
  }

  /** exported returns the table as CSV. */
  private exported(): string {
    const rows: (string | number)[][] = [],
      lack = this.lack();
    this.eachPath((_, names, n) =>
      rows.push([names, n.count, n.inclusive, n.exclusive, n.min, meanTicks(mean(n)), n.max]),
    );
    if (lack) rows.push([lack, "", "", this.tree.left.exclusive, "", "", ""]);
    return csv(
      ["path", "count", "inclusive (ticks)", "exclusive (ticks)", "min (ticks)", "mean (ticks)", "max (ticks)"],
      rows,
    );
  }
}

/** indent returns the space before the name of a path, in its level and some more pixels. */
function indent(level: number, more: number): HTMLElement {
  return el(
    "span",
    {
      class: "faint",
      style: {
        display: "inline-block",
        "min-width": 16 * Math.min(level, mostIndent) + more + "px",
        "text-align": "right",
      },
    },
    level > mostIndent ? `${count(level)} ` : "",
  );
}
