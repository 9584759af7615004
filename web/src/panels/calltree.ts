// The call tree: time by call path, opened level by level.
import { type CallNode, type CallTree, type PathsLeft, errorText } from "../api";
import { button, count, el, percent, titled } from "../dom";
import type { Panel } from "../dock";
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

/**
 * calltree creates the panel of the call tree. Open paths stay open when the window changes, and
 * the address keeps them.
 */
export function calltree(): Panel {
  // the open paths of each trace, and their text in the address
  const opened = new Map<number, { open: Set<Path>; text: string }>();
  return {
    id: "calltree",
    title: "Call tree",
    of: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const r = await app.client.json<CallTree>(
        `traces/${encodeURIComponent(lane.meta.id)}/calltree`,
        { from: w.from, to: w.to },
        tools.signal,
      );
      const roots = r.roots ?? [];
      const apart = leftAtTop(r),
        total = roots.reduce((s, n) => s + BigInt(n.inclusive), BigInt(apart.exclusive));
      const part = (t: string): number => (total > 0n ? Number(BigInt(t)) / Number(total) : 0);
      const place = lane.index > 0 ? `open${lane.index}` : "open",
        text = tools.get(place);
      let held = opened.get(lane.index);
      if (held?.text !== text) {
        held = { open: readOpen(text), text };
        opened.set(lane.index, held);
        // at first, the path with the most time is open
        if (text === "")
          for (let list = roots, path = "", level = 0; list.length > 0 && level < 5; level++) {
            path = below(path, list[0]);
            held.open.add(path);
            list = list[0].children ?? [];
          }
      }
      const { open } = held;
      let stop = (): void => undefined;
      const keep = (): void => {
        const h = opened.get(lane.index);
        fill();
        stop();
        if (h)
          stop = tools.run(
            (function* () {
              h.text = yield* writeOpen(open);
              tools.set(place, h.text);
            })(),
          );
      };
      const foot = el("p", { class: "faint" });
      const lack =
        r.left.paths > 0
          ? `${count(r.left.paths)} of ${paths(r.paths)}, those with least time, are left out: ` +
            `${percent(part(r.left.exclusive))} of the time`
          : "";
      type Line = { level: number; n: CallNode; path: Path } | { level: number; rest: PathsLeft };
      let lines: Line[] = [];
      const flip = (i: number): void => {
        const l = lines[i];
        if (!("n" in l)) return;
        if (!open.delete(l.path)) open.add(l.path);
        keep();
        // the rows above have not moved, so that row i is still in the same place
        body.focus(i);
      };
      const longest = (n: CallNode, depth: number): HTMLElement | string => {
        const text = short(BigInt(n.max), lane.clock),
          at = n.longest;
        return at
          ? linkButton(text, "go to the longest call", () => {
              goVisit(app, scope, at.track, depth, at.time).catch((e: unknown) => app.announce(errorText(e)));
            })
          : text;
      };
      const line = (i: number): HTMLElement => {
        const l = lines[i],
          indent = (more: number): HTMLElement =>
            el(
              "span",
              {
                class: "faint",
                style: {
                  display: "inline-block",
                  "min-width": 16 * Math.min(l.level, mostIndent) + more + "px",
                  "text-align": "right",
                },
              },
              l.level > mostIndent ? `${count(l.level)} ` : "",
            );
        if (!("n" in l))
          return el(
            "tr",
            { class: "faint" },
            el("td", { class: "text" }, indent(18), `… ${paths(l.rest.paths)} with less time`),
            el("td", {}),
            el("td", {}, percent(part(l.rest.exclusive))),
            el("td", {}),
            el("td", {}, short(BigInt(l.rest.exclusive), lane.clock)),
            el("td", { colspan: 4 }),
          );
        const { n, path } = l,
          kids = n.children ?? [],
          is = open.has(path),
          color =
            app.store.state.color === "track" ? app.colors.other : (lane.colors.css[n.region] ?? app.colors.other);
        const tr = el(
          "tr",
          {
            title: "highlight this region",
            data: { path },
            aria: { level: l.level + 1, ...(kids.length > 0 ? { expanded: is } : {}) },
          },
          el(
            "td",
            { class: "text" },
            indent(0),
            kids.length > 0
              ? el(
                  "button",
                  {
                    type: "button",
                    class: "twist",
                    tabindex: -1,
                    aria: { label: is ? "close" : "open" },
                    on: {
                      click: (e) => {
                        e.stopPropagation();
                        flip(i);
                      },
                    },
                  },
                  is ? "▾" : "▸",
                )
              : el("span", { class: "twist", style: { display: "inline-block" } }),
            swatch(app, lane, n.region),
            titled(lane.regionLabel(n.region, n.name)),
          ),
          el(
            "td",
            { class: "barcell" },
            el("span", { class: "bar", style: { width: `${100 * part(n.inclusive)}%`, background: color } }),
          ),
          el("td", {}, percent(part(n.inclusive))),
          el("td", {}, short(BigInt(n.inclusive), lane.clock)),
          el("td", {}, short(BigInt(n.exclusive), lane.clock)),
          el("td", {}, count(n.count)),
          el("td", {}, short(BigInt(n.min), lane.clock)),
          el("td", {}, shortMean(mean(n), lane.clock)),
          el("td", {}, longest(n, l.level)),
        );
        tr.addEventListener("click", () => app.highlight(n.name));
        tr.addEventListener("keydown", (e) => {
          if ((e.key === "ArrowRight" && !is && kids.length > 0) || (e.key === "ArrowLeft" && is)) flip(i);
          else if (e.key === "Enter") app.highlight(n.name);
          else return;
          e.preventDefault();
          e.stopPropagation();
        });
        return tr;
      };
      const body = new Rows(9, line, (i) => "n" in lines[i]);
      const fill = (): void => {
        lines = [];
        const walk = (nodes: readonly CallNode[], level: number, above: string): void => {
          for (const n of nodes) {
            const path = below(above, n),
              kids = n.children ?? [],
              is = open.has(path);
            lines.push({ level, n, path });
            if (is) walk(kids, level + 1, path);
            if (n.left && (is || kids.length === 0)) lines.push({ level: level + 1, rest: n.left });
          }
        };
        walk(roots, 0, "");
        if (apart.paths > 0) lines.push({ level: 0, rest: apart });
        foot.textContent = lack;
        body.show(lines.length);
      };
      fill();
      const all = (
        nodes: readonly CallNode[],
        path: Path,
        names: string,
        f: (path: Path, names: string, n: CallNode) => void,
      ): void => {
        for (const n of nodes) {
          const p = below(path, n),
            s = names + "/" + lane.regionLabel(n.region, n.name);
          f(p, s, n);
          all(n.children ?? [], p, s, f);
        }
      };
      tools.bar.append(
        button("Open all", "Open all call paths", () => {
          all(roots, "", "", (p) => open.add(p));
          keep();
        }),
        button("Close all", "Close all call paths", () => {
          open.clear();
          keep();
        }),
      );
      const head = (t: string, cls = ""): HTMLElement =>
        el(t === "" ? "td" : "th", { class: cls }, el("span", { style: { padding: "2px 8px" } }, t));
      tools.body.append(
        roots.length === 0
          ? el("p", { class: "faint" }, "No calls in this time.")
          : el(
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
              body.body,
            ),
        foot,
      );
      if (!lack) tools.bar.append(el("span", { class: "faint" }, paths(r.paths)));
      tools.csv(() => {
        const rows: (string | number)[][] = [];
        all(roots, "", "", (_, s, n) =>
          rows.push([s, n.count, n.inclusive, n.exclusive, n.min, meanTicks(mean(n)), n.max]),
        );
        if (lack) rows.push([lack, "", "", r.left.exclusive, "", "", ""]);
        return csv(
          ["path", "count", "inclusive (ticks)", "exclusive (ticks)", "min (ticks)", "mean (ticks)", "max (ticks)"],
          rows,
        );
      });
    },
  };
}
