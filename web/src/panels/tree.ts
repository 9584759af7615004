// A table of call paths, opened level by level.
import type { PathsLeft } from "../api";
import { button, count, el, nameElement } from "../dom";
import type { App } from "../app";
import type { Tools } from "../dock";
import { each, sorted } from "../slices";
import { Rows } from "./rows";

/** paths formats a number of call paths. */
export function paths(n: number): string {
  return `${count(n)} call ${n === 1 ? "path" : "paths"}`;
}

/**
 * PathNode is a call path. name is the name of its region, and regionKey is the number of the region in the
 * address. left holds the sums over the paths below it that the tree leaves out.
 */
export interface PathNode<N> {
  name: string;
  regionKey: number;
  children: readonly N[] | null;
  left?: PathsLeft;
}

/** Path is a call path, written as the numbers of its regions: "3.1.2". */
type Path = string;
/** childPath returns the path of a call of a region inside of a path. */
const childPath = (above: Path, region: number): Path => (above === "" ? "" : above + ".") + String(region);

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
type Line<N> = { level: number; n: N; path: Path } | { level: number; rest: PathsLeft };

/** openLongest opens the first path of each level, down to level 5. */
function openLongest<N extends PathNode<N>>(open: Set<Path>, roots: readonly N[]): void {
  for (let list = roots, path = "", level = 0; list.length > 0 && level < 5; level++) {
    path = childPath(path, list[0].regionKey);
    open.add(path);
    list = list[0].children ?? [];
  }
}

/**
 * OpenPaths holds the open paths of a tree, and their text in the address under a name. They stay open
 * when the tree changes.
 */
export class OpenPaths {
  readonly open = new Set<Path>();
  private text: string | null = null;

  /** follow takes the paths of the address, or opens those of the first path if it has none. */
  follow<N extends PathNode<N>>(text: string, roots: readonly N[]): void {
    if (this.text === text) return;
    this.text = text;
    this.open.clear();
    for (const p of readOpen(text)) this.open.add(p);
    if (text === "") openLongest(this.open, roots);
  }

  /** write puts the open paths into the address. */
  *write(put: (text: string) => void): Generator<void, void> {
    this.text = yield* writeOpen(this.open);
    put(this.text);
  }
}

/** TreeColumn is a column next to the names. rest returns the text for the paths that the tree leaves out. */
export interface TreeColumn<N> {
  title: string;
  hint?: string;
  /** text is set for texts, which are aligned to the left, and bar for a column of bars. */
  text?: boolean;
  bar?: boolean;
  show: (n: N, level: number) => string | Node;
  rest?: (left: PathsLeft) => string;
}

/**
 * TreeOptions describes a tree. place is the name under which the address keeps the open paths. left holds
 * the paths at the top level that the tree leaves out. lack is the text below the table. If lack is "", the bar
 * shows the text all.
 */
export interface TreeOptions<N> {
  columns: readonly TreeColumn<N>[];
  open: OpenPaths;
  place: string;
  label: (n: N) => string;
  swatch: (n: N) => HTMLElement | null;
  left: PathsLeft;
  lack: string;
  all: string;
}

/** TreeTable is the table of call paths. */
export class TreeTable<N extends PathNode<N>> {
  private readonly foot = el("p", { class: "faint" });
  private readonly body: Rows;
  private lines: Line<N>[] = [];
  private stop = (): void => undefined;

  constructor(
    private readonly app: App,
    private readonly tools: Tools,
    private readonly roots: readonly N[],
    private readonly o: TreeOptions<N>,
  ) {
    o.open.follow(tools.get(o.place), roots);
    this.body = new Rows(
      o.columns.length + 1,
      (i) => this.line(i),
      (i) => "n" in this.lines[i],
    );
  }

  /** show fills the panel. */
  show(): void {
    const { tools, o } = this;
    this.fill();
    tools.bar.append(
      button("Open all", "Open all call paths", () => {
        this.eachPath((_, __, path) => o.open.open.add(path));
        this.keep();
      }),
      button("Close all", "Close all call paths", () => {
        o.open.open.clear();
        this.keep();
      }),
    );
    tools.body.append(
      this.roots.length === 0 ? el("p", { class: "faint" }, "No calls in this time.") : this.table(),
      this.foot,
    );
    if (o.lack === "") tools.bar.append(el("span", { class: "faint" }, o.all));
  }

  /** keep shows the open paths again, and writes them to the state. */
  private keep(): void {
    const { o, tools } = this;
    this.fill();
    this.stop();
    this.stop = tools.run(o.open.write((text) => tools.set(o.place, text)));
  }

  /** flip opens a closed path, or closes an open one. */
  private flip(i: number): void {
    const l = this.lines[i],
      { open } = this.o.open;
    if (!("n" in l)) return;
    if (!open.delete(l.path)) open.add(l.path);
    this.keep();
    // the rows above have not moved, so that row i is still in the same place
    this.body.focus(i);
  }

  /** fill lists the visible lines. */
  private fill(): void {
    const { left, lack, open } = this.o;
    this.lines = [];
    const walk = (nodes: readonly N[], level: number, above: string): void => {
      for (const n of nodes) {
        const path = childPath(above, n.regionKey),
          kids = n.children ?? [],
          is = open.open.has(path);
        this.lines.push({ level, n, path });
        if (is) walk(kids, level + 1, path);
        if (n.left && (is || kids.length === 0)) this.lines.push({ level: level + 1, rest: n.left });
      }
    };
    walk(this.roots, 0, "");
    if (left.paths > 0) this.lines.push({ level: 0, rest: left });
    this.foot.textContent = lack;
    this.body.show(this.lines.length);
  }

  /** eachPath calls f for all listed paths, open or not. names has the names of its regions. */
  eachPath(f: (n: N, names: string, path: Path) => void): void {
    const walk = (nodes: readonly N[], above: Path, namesAbove: string): void => {
      for (const n of nodes) {
        const path = childPath(above, n.regionKey),
          names = namesAbove + "/" + this.o.label(n);
        f(n, names, path);
        walk(n.children ?? [], path, names);
      }
    };
    walk(this.roots, "", "");
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
      ...this.o.columns.map((c) => el("td", {}, c.rest?.(rest) ?? "")),
    );
  }

  /** pathRow returns the row of a call path. */
  private pathRow(i: number, n: N, path: Path, level: number): HTMLElement {
    const { app, o } = this,
      hasKids = (n.children ?? []).length > 0,
      is = o.open.open.has(path);
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
        hasKids ? this.expander(i, is) : el("span", { class: "twist", style: { display: "inline-block" } }),
        o.swatch(n),
        nameElement(o.label(n)),
      ),
      ...o.columns.map((c) => el("td", { class: c.text ? "text" : c.bar ? "barcell" : "" }, c.show(n, level))),
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

  /** expander returns the button that opens or closes a path. */
  private expander(i: number, isOpen: boolean): HTMLElement {
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
    const head = (t: string, cls: string, hint?: string): HTMLElement =>
      el(t === "" ? "td" : "th", { class: cls, title: hint }, el("span", { style: { padding: "2px 8px" } }, t));
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
          ...this.o.columns.map((c) => head(c.title, c.text ? "text" : "", c.hint)),
        ),
      ),
      this.body.body,
    );
  }
}

/** indent returns the space before the name of a path: a width for its level, and more additional pixels. */
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
