// The flame graph of the call tree. The width of a box is inclusive time, and a call is below its
// caller.
import type { CallNode, CallTree } from "../api";
import type { App } from "../app";
import { button, count, el, nameless, percent, printable, rove, titled } from "../dom";
import type { Panel } from "../dock";
import type { Lane } from "../lane";
import { short } from "../time";

/** Box is the place of a call path in the graph: its left edge and width as parts, and its level. */
interface Box {
  n: CallNode;
  path: string[];
  x: number;
  width: number;
  depth: number;
}

/** mostBoxes is the largest number of boxes, and leastWidth the least width of one as a part of the whole. */
const mostBoxes = 4000,
  leastWidth = 0.0008;

/** boxesOf places the paths from list downwards. narrow counts those that have no box. */
function boxesOf(
  list: readonly CallNode[],
  pathOf: (n: CallNode) => string[],
  label: (n: CallNode) => string,
): { boxes: Box[]; narrow: number } {
  const total = Number(list.reduce((s, n) => s + BigInt(n.inclusive), 0n)) || 1,
    boxes: Box[] = [];
  let narrow = 0;
  const put = (n: CallNode, x: number, depth: number, path: string[]): void => {
    const width = Number(BigInt(n.inclusive)) / total;
    if (width < leastWidth || boxes.length > mostBoxes) {
      narrow++;
      return;
    }
    boxes.push({ n, path, x, width, depth });
    let left = x;
    for (const c of n.children ?? []) {
      put(c, left, depth + 1, [...path, label(c)]);
      left += Number(BigInt(c.inclusive)) / total;
    }
  };
  let x = 0;
  for (const n of list) {
    put(n, x, 0, pathOf(n));
    x += Number(BigInt(n.inclusive)) / total;
  }
  return { boxes, narrow };
}

/** Graph is the flame graph of a call tree. zoomed has the labels of the path to which it is zoomed. */
class Graph {
  readonly element = el("div", { class: "flame", role: "tree", aria: { label: "Flame graph" } });
  /** crumbs leads back to the paths above; info describes the box under the pointer. */
  readonly crumbs = el("div", { class: "crumbs" });
  readonly info = el("span", { class: "faint" });

  constructor(
    private readonly app: App,
    private readonly lane: Lane,
    private readonly tree: CallTree,
    private zoomed: readonly string[],
    private readonly keep: (zoomed: readonly string[]) => void,
  ) {
    rove(this.element, "[role=treeitem]", { back: ["ArrowLeft", "ArrowUp"], on: ["ArrowRight", "ArrowDown"] });
    this.draw();
  }

  private label(n: CallNode): string {
    return this.lane.regionLabel(n.region, n.name);
  }

  private zoom(path: readonly string[]): void {
    this.zoomed = path;
    this.keep(path);
    this.draw();
  }

  /** found returns the nodes of the zoomed path, as far as this tree has it. */
  private found(): CallNode[] {
    let list = this.tree.roots ?? [];
    const found: CallNode[] = [];
    for (const wanted of this.zoomed) {
      const n = list.find((x) => this.label(x) === wanted);
      if (!n) break;
      found.push(n);
      list = n.children ?? [];
    }
    return found;
  }

  private draw(): void {
    const found = this.found(),
      top = found[found.length - 1],
      list = top ? [top] : (this.tree.roots ?? []);
    const { boxes, narrow } = boxesOf(
      list,
      (n) => (top ? found.map((f) => this.label(f)) : [this.label(n)]),
      (n) => this.label(n),
    );
    this.element.replaceChildren(...boxes.map((b, i) => this.boxElement(b, i)));
    this.element.style.height = `${(boxes.reduce((m, b) => Math.max(m, b.depth), 0) + 1) * 18 + 4}px`;
    this.showCrumbs(found, narrow + this.tree.left.paths > 0);
    if (list.length === 0) this.element.replaceChildren(el("p", { class: "faint" }, "No calls in this time."));
  }

  /** boxElement returns the element of a box, whose number is i. */
  private boxElement({ n, path, x, width, depth }: Box, i: number): HTMLElement {
    const { app, lane, info } = this,
      { highlight } = app.store.state,
      label = this.label(n),
      dim = highlight !== null && highlight !== n.name;
    const text =
      `${printable(label) || nameless}: ${short(BigInt(n.inclusive), lane.clock)} inclusive (` +
      `${percent(width)}), ${short(BigInt(n.exclusive), lane.clock)} exclusive, ${count(n.count)} times`;
    const go = (): void => {
      this.zoom(path);
      this.element.querySelector("div")?.focus();
    };
    const describe = (): void => {
      info.textContent = text;
    };
    return el(
      "div",
      {
        role: "treeitem",
        tabindex: i === 0 ? 0 : -1,
        title: text,
        style: {
          left: `${100 * x}%`,
          width: `${100 * width}%`,
          top: `${depth * 18}px`,
          background: dim ? app.colors.other : (lane.colors.css[n.region] ?? app.colors.other),
          color: lane.colors.ink[n.region] ?? "#000",
        },
        on: {
          click: go,
          mouseenter: describe,
          focus: describe,
          keydown: (e) => {
            if (e.key === "Enter") {
              go();
              e.stopPropagation();
              e.preventDefault();
            }
          },
        },
      },
      width > 0.012 ? titled(label) : "",
    );
  }

  /** showCrumbs shows the zoomed path. narrow is set if calls are too narrow for a box. */
  private showCrumbs(found: readonly CallNode[], narrow: boolean): void {
    this.crumbs.replaceChildren(
      ...(narrow ? [el("span", { class: "note" }, "calls too narrow to see are not drawn")] : []),
      button("all", "The whole flame graph", () => this.zoom([]), "link"),
      ...found.flatMap((f, i) => [
        " › ",
        button(
          titled(this.label(f)),
          printable(this.label(f)) || nameless,
          () => this.zoom(this.zoomed.slice(0, i + 1)),
          "link",
        ),
      ]),
    );
  }
}

/**
 * flame creates the panel. The user can zoom to a call path, which stays when the window changes.
 */
export function flame(): Panel {
  let zoomed: readonly string[] = [];
  return {
    id: "flame",
    title: "Flame graph",
    of: "range",
    async render(app, { lane, window: w }, tools) {
      const tree = await app.client.json<CallTree>(
        `traces/${encodeURIComponent(lane.meta.id)}/calltree`,
        { from: w.from, to: w.to },
        tools.signal,
      );
      const graph = new Graph(app, lane, tree, zoomed, (path) => (zoomed = path));
      tools.bar.append(graph.info);
      tools.body.append(graph.crumbs, graph.element);
      tools.csv(null);
    },
  };
}
