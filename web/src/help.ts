// The overlay that lists all keys.
import { button, el } from "./dom";

const keys: readonly (readonly [string, string])[] = [
  ["wheel, W / S, + / −", "zoom at the pointer"],
  ["two fingers", "zoom and pan"],
  ["drag, A / D", "pan"],
  ["shift + wheel", "pan sideways"],
  ["alt + wheel, PageUp / PageDown", "scroll the rows"],
  ["wheel over the names", "scroll the rows"],
  ["drag on the ruler, shift + drag", "zoom to a stretch of time"],
  ["double click", "zoom to the span, or zoom in"],
  ["Home, 0", "show the whole time"],
  ["Backspace, [ and ]", "go to the previous view (Backspace, [) or the next one (])"],
  ["click", "select a span, a mark or an arrow"],
  ["← →", "select a neighbour of the selected span; without a selection, pan"],
  ["↑ ↓", "select the caller or the first visible callee; without a selection, scroll the rows"],
  ["N, shift + N", "select the next or previous span of the same region"],
  ["Z, Enter", "zoom to the selection; without a selection, Enter selects the span in the middle"],
  [
    "alt + drag, R",
    "select a range for the tables; its ends snap to near edges of spans. R selects the measured time or the window",
  ],
  ["drag an edge of the range", "move the edge"],
  ["shift + click", "select the range from the selected span to the clicked one"],
  ["M", "measure the time between two clicks, which snap to edges of spans; Enter measures the selected span"],
  ["B", "write a note on the selection or the window"],
  [
    "/",
    "search regions and rows, or go to a time as in --from: 12.5 ms, 1500 (ticks), 20%, @3 s (the trace's clock); " +
      "Enter and shift + Enter go to the next and previous call",
  ],
  ["L", "draw messages and dependencies as arrows: automatically, always, never"],
  ["P", "draw the critical path over the rows"],
  ["X", "hatch the waiting time of calls, and draw arrows from the causes"],
  ["H", "highlight the selected region"],
  ["C", "colour spans by region, group or row"],
  ["T", "switch between light and dark"],
  ["Esc", "close a dialog, end a mode, or remove marks, the range and the selection"],
  ["ctrl + drag", "with several traces: move one of them in time"],
  ["?", "show this help"],
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
      "The tables below the time line show the selected range, or else the visible window. The address of the page " +
        "contains the view: copy the address to share the view.",
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
