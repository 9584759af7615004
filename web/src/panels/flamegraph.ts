// A flame graph: boxes of call paths, each below its caller.
import type { App } from "../app";
import { button, el, nameless, printable, roveFocus, nameElement } from "../dom";

/** FlameNode is a call path. name is the name of its region. */
export interface FlameNode<N> {
  name: string;
  children: readonly N[] | null;
}

/**
 * FlameOptions describes a flame graph. size returns the time of a path, which is the width of its box
 * and contains the times of its children; text describes a box whose width is a part of the whole;
 * narrow is set if calls are left out. zoomed has the labels of the path to which the graph is zoomed, and
 * keep is called when the user zooms.
 */
export interface FlameOptions<N> {
  size: (n: N) => number;
  label: (n: N) => string;
  text: (n: N, width: number) => string;
  color: (n: N) => { background: string; color: string };
  narrow: boolean;
  zoomed: readonly string[];
  keep: (zoomed: readonly string[]) => void;
}

/**
 * Box is the place of a call path in the graph: its left edge and width, as shares of the width of the
 * graph, and its level.
 */
interface Box<N> {
  n: N;
  path: string[];
  x: number;
  width: number;
  depth: number;
}

/** mostBoxes is the largest number of boxes, and leastWidth the least width of one as a part of the whole. */
const mostBoxes = 4000,
  leastWidth = 0.0008;

/** Graph is the flame graph of a call tree. */
export class Graph<N extends FlameNode<N>> {
  readonly element = el("div", { class: "flame", role: "tree", aria: { label: "Flame graph" } });
  /** crumbs leads back to the paths above; info describes the box under the pointer. */
  readonly crumbs = el("div", { class: "crumbs" });
  readonly info = el("span", { class: "faint" });
  private zoomed: readonly string[];

  constructor(
    private readonly app: App,
    private readonly roots: readonly N[],
    private readonly o: FlameOptions<N>,
  ) {
    this.zoomed = o.zoomed;
    roveFocus(this.element, "[role=treeitem]", { back: ["ArrowLeft", "ArrowUp"], on: ["ArrowRight", "ArrowDown"] });
    this.draw();
  }

  private zoom(path: readonly string[]): void {
    this.zoomed = path;
    this.o.keep(path);
    this.draw();
  }

  /** found returns the nodes of the zoomed path, as far as this tree has it. */
  private found(): N[] {
    let list = this.roots;
    const found: N[] = [];
    for (const wanted of this.zoomed) {
      const n = list.find((x) => this.o.label(x) === wanted);
      if (!n) break;
      found.push(n);
      list = n.children ?? [];
    }
    return found;
  }

  /** boxesOf places the paths from list downwards. narrow counts those that have no box. */
  private boxesOf(list: readonly N[], pathOf: (n: N) => string[]): { boxes: Box<N>[]; narrow: number } {
    const { size, label } = this.o,
      total = list.reduce((s, n) => s + size(n), 0) || 1,
      boxes: Box<N>[] = [];
    let narrow = 0;
    const put = (n: N, x: number, depth: number, path: string[]): void => {
      const width = size(n) / total;
      if (width < leastWidth || boxes.length > mostBoxes) {
        narrow++;
        return;
      }
      boxes.push({ n, path, x, width, depth });
      let left = x;
      for (const c of n.children ?? []) {
        put(c, left, depth + 1, [...path, label(c)]);
        left += size(c) / total;
      }
    };
    let x = 0;
    for (const n of list) {
      put(n, x, 0, pathOf(n));
      x += size(n) / total;
    }
    return { boxes, narrow };
  }

  private draw(): void {
    const found = this.found(),
      top = found[found.length - 1],
      list = top ? [top] : this.roots;
    const { boxes, narrow } = this.boxesOf(list, (n) => (top ? found.map((f) => this.o.label(f)) : [this.o.label(n)]));
    this.element.replaceChildren(...boxes.map((b, i) => this.boxElement(b, i)));
    this.element.style.height = `${(boxes.reduce((m, b) => Math.max(m, b.depth), 0) + 1) * 18 + 4}px`;
    this.showCrumbs(found, narrow > 0 || this.o.narrow);
    this.element.role = list.length > 0 ? "tree" : null; // a tree must have items
    if (list.length === 0) this.element.replaceChildren(el("p", { class: "faint" }, "No calls in this time."));
  }

  /** boxElement returns the element of a box, whose number is i. */
  private boxElement({ n, path, x, width, depth }: Box<N>, i: number): HTMLElement {
    const { app, info, o } = this,
      { highlight } = app.store.state,
      label = o.label(n),
      { background, color } = o.color(n);
    const text = `${printable(label) || nameless}: ${o.text(n, width)}`;
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
          background: highlight !== null && highlight !== n.name ? app.colors.other : background,
          color,
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
      width > 0.012 ? nameElement(label) : "",
    );
  }

  /** showCrumbs shows the zoomed path. narrow is set if calls are too narrow for a box. */
  private showCrumbs(found: readonly N[], narrow: boolean): void {
    const { label } = this.o;
    this.crumbs.replaceChildren(
      ...(narrow ? [el("span", { class: "note" }, "calls too narrow to see are not drawn")] : []),
      button("all", "The whole flame graph", () => this.zoom([]), "link"),
      ...found.flatMap((f, i) => [
        " › ",
        button(
          nameElement(label(f)),
          printable(label(f)) || nameless,
          () => this.zoom(this.zoomed.slice(0, i + 1)),
          "link",
        ),
      ]),
    );
  }
}
