// The controls above the time lines.
import type { TraceMeta } from "./api";
import type { App } from "./app";
import { maxAutoLinks } from "./arrows";
import { nextArrows, toggleMode, toggleTheme } from "./commands";
import { attributePrefix, attributesOf, configuration, configure, showConfiguration } from "./configure";
import { button, el, name, printable, select, accessibleName } from "./dom";
import { showHelp } from "./help";
import { levelSteps } from "./rows";
import type { State } from "./store";
import { exact } from "./time";
import type { Timeline } from "./timeline";

/**
 * onEdges describes which ends of the measured time are not at the edge of a span. loose is the
 * field of the state.
 */
function onEdges(loose: string): string {
  return loose === "12"
    ? "neither end is on an edge"
    : loose === "1"
      ? "the first end is on no edge"
      : loose === "2"
        ? "the second end is on no edge"
        : "";
}

/** measured describes the measured time. If an end is missing, it describes what the user must do next. */
function measured(app: App): string {
  const n = app.store.state,
    [a, b] = n.marks;
  if (a !== null && b !== null) {
    const edges = onEdges(n.loose);
    return (
      `Δ ${exact(b > a ? b - a : a - b, app.axis)}  (${exact(a, app.axis)} → ${exact(b, app.axis)}` +
      `${edges === "" ? "" : "; " + edges})`
    );
  }
  const edge = n.loose === "" ? "an edge" : "no edge is near";
  if (a !== null && n.mode === "measure") return `from ${exact(a, app.axis)} (${edge}): click the second place`;
  if (a !== null) return `marked: ${exact(a, app.axis)}`;
  return n.mode === "measure" ? "measure: click the first place" : "";
}

/** ToolbarTargets holds the parts of the page on which the controls act. */
export interface ToolbarTargets {
  timelines(): readonly Timeline[];
  search: HTMLElement;
  /** back shows the previous view. */
  back(): void;
  /** cancelSave cancels the pending write of the address. */
  cancelSave(): void;
  /** exportMenu asks the user which file to export. */
  exportMenu(): void;
}

/** Toolbar holds the controls. sync updates them from the state. */
export interface Toolbar {
  header: HTMLElement;
  /** rowControls is on the left of the mini-map, and levelControls on the left of the ruler. */
  rowControls: HTMLElement;
  levelControls: HTMLElement;
  /** measure is the element that shows the measured time. */
  measure: HTMLElement;
  sync(): void;
}

/** colorMenu returns the menu for the meaning of colours. */
function colorMenu(app: App, metas: readonly TraceMeta[], choose: (v: string) => void): HTMLSelectElement {
  const colorSelect = select(
    "Colours by",
    [
      ["region", "by region"],
      ["group", "by group"],
      ["track", "by row"],
    ],
    app.store.state.color,
    choose,
  );
  const attributes = attributesOf(metas);
  if (attributes.length > 0)
    colorSelect.append(
      el(
        "optgroup",
        { label: "by attribute" },
        ...attributes.map((a) => {
          const o = el("option", { value: attributePrefix + a });
          o.textContent = printable(a);
          return o;
        }),
      ),
    );
  if (metas.some((m) => (m.label ?? "") !== "")) colorSelect.options[1].replaceWith(new Option("by name", "name"));
  return colorSelect;
}

/** alignMenu returns the menu for the alignment of several traces on the axis. */
function alignMenu(app: App, metas: readonly TraceMeta[]): HTMLSelectElement {
  return select(
    "How the traces lie on the axis",
    [["start", "aligned at start"], ...(metas.every((m) => m.epoch) ? [["clock", "by time of day"] as const] : [])],
    app.store.state.align,
    (v) => app.store.set({ align: v === "clock" ? "clock" : "start" }),
  );
}

/** orderMenu returns the menu for the order of rows. */
function orderMenu(app: App): HTMLSelectElement {
  return select(
    "Order of rows",
    [
      ["file", "as in file"],
      ["name", "by name"],
      ["busy", "busiest first"],
    ],
    app.store.state.order,
    (v) =>
      app.store.set({
        order: v === "name" || v === "busy" ? v : "file",
        orderWindow: v === "busy" ? app.store.state.window : null,
        top: "",
      }),
  );
}

/** levelMenu returns the menu for the number of nested levels. */
function levelMenu(app: App): HTMLSelectElement {
  return select(
    "Levels of nesting",
    levelSteps.map(
      (n, i) => [String(n), i === levelSteps.length - 1 ? "all levels" : n === 1 ? "1 level" : `${n} levels`] as const,
    ),
    String(app.store.state.levels),
    (v) => app.store.set({ levels: Number(v) }),
  );
}

/** heightMenu returns the menu for the height of rows. */
function heightMenu(app: App): HTMLSelectElement {
  return select(
    "Height of rows",
    [
      ["0", "fit"],
      ["4", "tiny"],
      ["8", "small"],
      ["12", "medium"],
      ["18", "large"],
    ],
    String(app.store.state.stripHeight),
    (v) => app.store.set({ stripHeight: Number(v) }),
  );
}

/** rowFilter returns the field in which the user types a part of the names of rows. */
function rowFilter(app: App): HTMLInputElement {
  const filter = el("input", {
    type: "search",
    placeholder: "rows…",
    value: app.store.state.rowFilter,
    aria: { label: "Show only rows whose name contains this" },
  });
  filter.addEventListener("input", () => app.store.set({ rowFilter: filter.value }));
  return filter;
}

/** showArrows shows on a button which links are drawn as arrows. */
function showArrows(arrows: HTMLButtonElement, mode: State["arrows"]): void {
  const shown = {
    auto: `shown where there are at most ${maxAutoLinks}`,
    on: "shown, in bundles where there are many",
    off: "not shown",
  };
  arrows.textContent = "Links: " + mode;
  arrows.title = arrows.disabled
    ? "This trace has no links"
    : `Messages and dependencies as arrows: ${shown[mode]} (L)`;
  arrows.setAttribute("aria-label", `Links ${mode}. ${arrows.title}`);
  arrows.setAttribute("aria-pressed", String(mode === "on"));
}

/** programName returns the name of the program. If the server has several traces, it is a link to their list. */
function programName(app: App): HTMLElement {
  const several = app.list.traces.length > 1;
  const e = el(
    several ? "a" : "span",
    { class: "brand", ...(several ? { href: "#", title: "All traces" } : {}) },
    "weft",
  );
  if (several)
    e.addEventListener("click", (click) => {
      click.preventDefault();
      location.hash = "";
      location.reload();
    });
  return e;
}

/** allSpans returns a button that names the attribute's values which spans must have, and shows all spans again. */
function allSpans(app: App, sync: () => void, cancelSave: () => void): HTMLElement | null {
  const c = configuration(app);
  if (c.only === "") return null;
  const title = "Show all spans again, not only those with these values of the attribute";
  return button(`${printable(c.only)} ✕`, title, () => {
    void configure(app, { ...c, only: "" }, sync, cancelSave);
  });
}

/** makeToolbar makes the controls for the given traces. */
export function makeToolbar(app: App, metas: readonly TraceMeta[], on: ToolbarTargets): Toolbar {
  const measure = el("span", { class: "measure" });
  const unhide = button("", "Show all hidden rows", () => app.store.set({ hidden: new Set() }));
  const toggle = (label: string, title: string, click: () => void): HTMLButtonElement => {
    const b = button(label, title, click);
    b.setAttribute("aria-pressed", "false");
    return b;
  };
  const arrows = toggle("Links", "", () => nextArrows(app));
  arrows.disabled = metas.every((m) => m.links === 0);
  const path = toggle("Path", "The critical path over the rows (P)", () =>
    app.store.set({ showPath: !app.store.state.showPath }),
  );
  const waits = toggle("Waits", "Waiting time hatched on the calls (X)", () =>
    app.store.set({ showWaits: !app.store.state.showWaits }),
  );
  const range = toggle(
    "Range",
    "Drag selects a range of time for the tables (alt + drag does always; R takes the window)",
    () => toggleMode(app, "range"),
  );
  const ruleMode = toggle("Measure", "Two clicks measure the time between span edges (M)", () =>
    toggleMode(app, "measure"),
  );
  const colorSelect = colorMenu(
    app,
    metas,
    (v) => void configure(app, { ...configuration(app), color: v }, () => sync(), on.cancelSave),
  );
  const view = button("View…", "What colours, names and rows stand for", () =>
    showConfiguration(app, () => sync(), on.cancelSave),
  );
  const theme = button("◐", "Light or dark (T)", () => toggleTheme(app));
  const align = metas.length > 1 ? alignMenu(app, metas) : null,
    order = orderMenu(app);
  const resort = button("↻", "Sort again by the busy time in what the window shows now", () => {
    app.store.set({ orderWindow: app.store.state.window, top: "" });
    for (const t of on.timelines()) t.restoreTop();
  });
  const levels = levelMenu(app),
    size = heightMenu(app),
    filter = rowFilter(app);
  const sync = (): void => {
    const n = app.store.state;
    showArrows(arrows, n.arrows);
    path.setAttribute("aria-pressed", String(n.showPath));
    waits.setAttribute("aria-pressed", String(n.showWaits));
    range.setAttribute("aria-pressed", String(n.mode === "range"));
    ruleMode.setAttribute("aria-pressed", String(n.mode === "measure"));
    colorSelect.value = configuration(app).color;
    order.value = n.order;
    levels.value = String(n.levels);
    size.value = String(n.stripHeight);
    if (document.activeElement !== filter) filter.value = n.rowFilter;
    if (align) align.value = n.align;
    resort.hidden = n.order !== "busy";
    unhide.hidden = n.hidden.size === 0;
    unhide.textContent = `+${n.hidden.size}`;
    unhide.setAttribute("aria-label", accessibleName(unhide.textContent, unhide.title));
    on.timelines().forEach((t, i) => {
      if (t.shiftField && document.activeElement !== t.shiftField)
        t.shiftField.value = exact(n.shift[i] ?? 0n, app.axis);
    });
    document.body.className = "mode-" + n.mode;
    measure.textContent = measured(app);
  };
  const header = el(
    "header",
    { class: "bar" },
    programName(app),
    el(
      "h1",
      { class: "title", title: app.lanes.map((l) => printable(l.title)).join("\n") },
      name(app.lanes.map((l) => l.title).join("  |  ")),
    ),
    on.search,
    button("⟨", "Previous view (Backspace or [)", on.back),
    button("⟩", "Next view (])", () => history.forward()),
    button("All", "Show the whole trace (Home)", () => app.show(app.limits())),
    arrows,
    path,
    waits,
    range,
    ruleMode,
    colorSelect,
    view,
    allSpans(app, () => sync(), on.cancelSave),
    ...(align ? [align] : []),
    button("Export ▾", "Picture or table as a file", on.exportMenu),
    theme,
    button("?", "Keys and mouse (?)", showHelp),
  );
  return {
    header,
    rowControls: el("div", { class: "corner" }, filter, order, resort),
    levelControls: el("div", { class: "corner" }, levels, size, unhide),
    measure,
    sync,
  };
}
