// The reaction of the names of rows to the mouse and the keyboard.
import type { App } from "./app";
import { rowMenu, showMoreLevels } from "./rowmenu";
import type { Timeline } from "./timeline";

/** listenToLabels makes the names of rows react to mouse and keyboard. */
export function listenToLabels(app: App, t: Timeline): void {
  const labels = t.element.querySelector<HTMLElement>(".labels");
  if (!labels) return;
  const at = (e: Event): number => {
    const x = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-row]") : null;
    return x ? Number(x.dataset.row) : -1;
  };
  const fold = (i: number): void => {
    const r = t.lane.rows[i];
    if (!r?.expandable) return;
    const key = `${t.lane.index}/${r.key}`,
      set = new Set(app.store.state.collapsed);
    if (!set.delete(key)) set.add(key);
    app.store.set({ collapsed: set });
  };
  labels.addEventListener("click", (e) => {
    const i = at(e);
    if (i < 0) return;
    t.focusRow = i;
    if (e.target instanceof Element && e.target.closest(".more")) showMoreLevels(app, t.lane.rows[i]);
    else if (t.lane.rows[i].track < 0 || (e.target instanceof Element && e.target.closest(".twist"))) fold(i);
    else t.focusLabel(i);
  });
  labels.addEventListener("contextmenu", (e) => {
    const i = at(e);
    if (i < 0) return;
    e.preventDefault();
    rowMenu(app, t.lane, i, e.clientX, e.clientY);
  });
  labels.addEventListener("keydown", (e) => {
    const i = at(e);
    if (i < 0) return;
    const r = t.lane.rows[i];
    if (e.key === "ArrowDown") t.focusLabel(i + 1);
    else if (e.key === "ArrowUp") t.focusLabel(i - 1);
    else if (e.key === "Home") t.focusLabel(0);
    else if (e.key === "End") t.focusLabel(t.lane.rows.length - 1);
    else if (e.key === "PageDown") t.focusLabel(i + 10);
    else if (e.key === "PageUp") t.focusLabel(i - 10);
    else if (
      (e.key === "ArrowRight" && r.collapsed) ||
      (e.key === "ArrowLeft" && !r.collapsed && r.expandable) ||
      e.key === "Enter" ||
      e.key === " "
    )
      fold(i);
    else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) {
      const b = labels.querySelector(`[data-row="${i}"]`)?.getBoundingClientRect();
      if (b) rowMenu(app, t.lane, i, b.left + 20, b.bottom);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  });
}
