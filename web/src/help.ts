// The overlay that lists all keys.
import { button, el } from "./dom";

const keys: readonly (readonly [string, string])[] = [
  ["wheel, W / S, + / −", "zoom at the pointer"],
  ["drag, A / D", "pan"],
  ["shift + wheel", "pan sideways"],
  ["alt + wheel, PageUp / PageDown", "scroll the rows"],
  ["wheel over the names", "scroll the rows"],
  ["drag on the ruler, shift + drag", "zoom to a stretch of time"],
  ["double click", "zoom to the span, or in"],
  ["Home, 0", "show all"],
  ["Backspace, [ and ]", "previous, next view"],
  ["click", "select a span, a mark or an arrow"],
  ["← →", "neighbours of the selected span; pan without one"],
  ["↑ ↓", "caller, first callee in view; scroll without one"],
  ["N, shift + N", "next, previous span of the region"],
  ["Z, Enter", "zoom to the selection; Enter without one selects in the middle"],
  [
    "alt + drag, R",
    "select a range for the tables, its ends snap to edges that are near; R: what is measured, else the window",
  ],
  ["drag an edge of the range", "move it"],
  ["shift + click", "the range from the selected span to this one"],
  ["M", "measure: two clicks, each snaps to an edge that is near; Enter takes the selected span"],
  ["B", "bookmark the selection or the window"],
  [
    "/",
    "search regions, rows, or go to a time as in --from: 12.5 ms, 1500 (ticks), 20%, @3 s (the trace's own clock); " +
      "Enter and shift + Enter go through the calls",
  ],
  ["L", "messages and dependencies as arrows: auto, on, off"],
  ["P", "the critical path over the rows"],
  ["X", "waiting time hatched on the calls, with arrows from the causes"],
  ["H", "highlight the selected region"],
  ["C", "colours by region, group, row"],
  ["T", "light or dark"],
  ["Esc", "close, end a mode, drop marks, range, selection"],
  ["ctrl + drag", "with several traces: shift one in time"],
  ["?", "this help"],
];

/** showHelp opens the overlay. */
export function showHelp(): void {
  const d = el(
    "dialog",
    { aria: { label: "Keys" } },
    el("h1", {}, "Keys and mouse"),
    el(
      "p",
      { class: "faint" },
      "Tables below the time line are for the selected range, else for what the window shows. The address of the " +
        "page holds the view: copy it to share it.",
    ),
    el("div", { class: "keys" }, ...keys.map(([k, t]) => el("div", {}, el("kbd", {}, k), el("span", {}, t)))),
    el(
      "p",
      {},
      button("Close", "Close the help", () => d.close()),
    ),
  );
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => {
    if (e.target === d) d.close();
  });
  document.body.append(d);
  d.showModal();
}
