// The arrangement of the parts of the page.
import type { TraceMeta } from "./api";
import type { App } from "./app";
import type { Dock } from "./dock";
import { button, countWords, el } from "./dom";
import type { Legend } from "./legend";
import type { Minimap } from "./minimap";
import type { RulerBar } from "./rulerbar";
import { makeGrip, type RubberBand } from "./handles";
import { exact } from "./time";
import type { Timeline } from "./timeline";
import type { Toolbar } from "./toolbar";
import type { Tooltip } from "./tooltip";

/**
 * factsOf returns an element with the size of the trace. The element is empty if the page shows
 * several traces.
 */
export function factsOf(app: App, metas: readonly TraceMeta[]): HTMLElement {
  const stats =
    metas.length === 1
      ? `${countWords(metas[0].events, "event")}, ${countWords(metas[0].spans, "span")}, ` +
        `${countWords(metas[0].links, "link")}, ` +
        `${exact(app.lanes[0].length, app.axis)}`
      : "";
  return el("span", { class: "facts", title: stats }, stats);
}

/** defectsButton returns the button that opens the list of defects. It is hidden at first. */
export function defectsButton(app: App, dock: Dock): HTMLButtonElement {
  const defects = button(
    "",
    "Open the list of defects",
    () => {
      dock.choose(
        Math.max(
          0,
          app.lanes.findIndex((l) => l.meta.defects > 0),
        ),
      );
      app.store.set({ panel: "defects" });
    },
    "link defects",
  );
  defects.hidden = true;
  return defects;
}

/** Blocks holds the parts of the page that have elements of their own. */
export interface Blocks {
  toolbar: Toolbar;
  legend: Legend;
  minimap: Minimap;
  ruler: RulerBar;
  rubber: RubberBand;
  tooltip: Tooltip;
  dock: Dock;
}

/** Texts holds the elements for messages. */
export interface Texts {
  hint: HTMLElement;
  notice: HTMLElement;
  message: HTMLElement;
  linkText: HTMLElement;
  defects: HTMLElement;
  facts: HTMLElement;
}

/** layOut inserts the parts into the page. It returns the element that contains the time lines. */
export function layOut(app: App, timelines: readonly Timeline[], on: Blocks, texts: Texts): HTMLElement {
  const { toolbar, legend, minimap, ruler, rubber, tooltip, dock } = on,
    { hint, notice, message, linkText, defects, facts } = texts,
    grip = makeGrip(app);
  const lanes = el(
    "main",
    { class: "lanes" },
    ...timelines.map((t) => t.element),
    rubber.element,
    notice,
    grip,
    tooltip.element,
  );
  document.body.replaceChildren(
    toolbar.header,
    hint,
    el("section", { aria: { label: "Legend" } }, legend.element),
    el(
      "section",
      { class: "axes", aria: { label: "Rows and time" } },
      el("div", { class: "top" }, toolbar.rowControls, minimap.element),
      el("div", { class: "top" }, toolbar.levelControls, ruler.element),
    ),
    lanes,
    dock.element,
    el("footer", { class: "status" }, message, toolbar.measure, linkText, defects, facts),
  );
  return lanes;
}
