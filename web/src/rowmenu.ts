// The menu of a row. Its entries hide the row, show only this row, or fold similar rows.
import type { App } from "./app";
import { button, el, printable } from "./dom";
import type { Lane } from "./lane";
import { rateKey } from "./rowview";
import { moreWords, type Node, type Row, levelSteps } from "./rows";

/** showMoreLevels increases the number of visible levels until all levels of a row are visible. */
export function showMoreLevels(app: App, r: Row): void {
  const levels = levelSteps.find((n) => n >= r.strips + r.more) ?? levelSteps[levelSteps.length - 1];
  if (levels === app.store.state.levels) {
    app.announce(moreWords(r));
    return;
  }
  app.store.set({ levels });
  app.announce(`all rows show up to ${levels} levels of nesting`);
}

/** rowMenu opens the menu of a row at the position (x, y) of the window. */
export function rowMenu(app: App, lane: Lane, index: number, x: number, y: number): void {
  const row = lane.rows[index],
    s = app.store.state,
    key = (n: string): string => `${lane.index}/${n}`;
  const siblings = siblingsOf(lane.tree, row.key) ?? [];
  const before = document.activeElement;
  const close = (): void => {
    if (before instanceof HTMLElement && menu.contains(document.activeElement)) before.focus({ preventScroll: true });
    menu.remove();
    removeEventListener("pointerdown", outside, true);
    removeEventListener("keydown", escape, true);
  };
  const outside = (e: PointerEvent): void => {
    if (!(e.target instanceof HTMLElement && menu.contains(e.target))) close();
  };
  const escape = (e: KeyboardEvent): void => {
    const items = [...menu.querySelectorAll("button")],
      i = items.findIndex((b) => b === document.activeElement);
    if (e.key === "Escape" || e.key === "Tab") close();
    else if (e.key === "ArrowDown") items[(i + 1) % items.length].focus();
    else if (e.key === "ArrowUp") items[(i + items.length - 1) % items.length].focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const item = (label: string, go: () => void): HTMLElement => {
    const b = button(label, label, () => {
      close();
      go();
    });
    b.setAttribute("role", "menuitem");
    return b;
  };
  const rate = rateKey(lane.index, row.track);
  const hide = (keys: string[]): void => app.store.set({ hidden: new Set([...s.hidden, ...keys.map(key)]) });
  const foldable = siblings.filter((n) => n.children.length > 0);
  const menu = el(
    "div",
    {
      class: "menu",
      role: "menu",
      aria: { label: "Row " + printable(row.label) },
      style: { left: Math.min(x, innerWidth - 220) + "px", top: Math.min(y, innerHeight - 220) + "px" },
    },
    ...(row.more > 0 && s.levels < levelSteps[levelSteps.length - 1]
      ? [item(`Show ${row.deeper ? `${row.more} of ` : ""}${moreWords(row)}`, () => showMoreLevels(app, row))]
      : []),
    ...(lane.meta.tracks[row.track]?.kind === "counter"
      ? [
          item(s.choices.has(rate) ? "Show the values" : "Show the rate, per second", () => {
            const c = new Map(app.store.state.choices);
            if (!c.delete(rate)) c.set(rate, "1");
            app.store.set({ choices: c });
          }),
        ]
      : []),
    item("Hide", () => hide([row.key])),
    item("Show only this", () => hide(siblings.filter((n) => n.key !== row.key).map((n) => n.key))),
    ...(foldable.length > 0
      ? [
          item("Collapse all at this level", () =>
            app.store.set({ collapsed: new Set([...s.collapsed, ...foldable.map((n) => key(n.key))]) }),
          ),
          item("Expand all at this level", () =>
            app.store.set({
              collapsed: new Set([...s.collapsed].filter((k) => !foldable.some((n) => key(n.key) === k))),
            }),
          ),
        ]
      : []),
    ...(s.hidden.size > 0
      ? [item(`Show all hidden (${s.hidden.size})`, () => app.store.set({ hidden: new Set() }))]
      : []),
  );
  // accessibility rules require that all content is inside a landmark
  (document.querySelector("main") ?? document.body).append(menu);
  menu.querySelector("button")?.focus();
  addEventListener("pointerdown", outside, true);
  addEventListener("keydown", escape, true);
}

function siblingsOf(nodes: readonly Node[], key: string): readonly Node[] | null {
  if (nodes.some((n) => n.key === key)) return nodes;
  for (const n of nodes) {
    const found = siblingsOf(n.children, key);
    if (found) return found;
  }
  return null;
}
