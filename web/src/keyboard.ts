// The keys of the page.
import type { App } from "./app";
import { nextArrows, toggleMode, toggleTheme } from "./commands";
import { Keys } from "./control";
import { showHelp } from "./help";
import type { Picker } from "./picker";
import type { Search } from "./search";
import type { Details } from "./details";
import type { Timeline } from "./timeline";
import { pan, sameWindow } from "./view";

/** KeyTargets holds the parts of the page on which keys act. */
export interface KeyTargets {
  timelines(): readonly Timeline[];
  details: Details;
  search: Search;
  picker: Picker;
  /** active reports whether the page reacts to keys. */
  active(): boolean;
  /** back shows the previous view. */
  back(): void;
  addNote(): void;
}

/** listenToKeys makes the page react to the keyboard. */
export function listenToKeys(app: App, on: KeyTargets): void {
  const active = (): Timeline =>
    on.timelines().find((t) => t.pointer !== null) ??
    on.timelines()[app.store.state.selection?.lane ?? 0] ??
    on.timelines()[0];
  const keys = new Keys(app, () => {
    const t = active();
    return t.pointer ? t.pointer.x / Math.max(1, t.width) : 0.5;
  });
  addEventListener("keydown", (e) => {
    const target = e.target;
    if (
      target instanceof HTMLElement &&
      (target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName))
    ) {
      if (e.key === "Escape") target.blur();
      return;
    }
    if (document.querySelector("dialog[open]") || !on.active()) return;
    const t = active();
    const onButton =
      target instanceof HTMLButtonElement || (target instanceof HTMLElement && target.closest(".panel") !== null);
    if (e.ctrlKey || e.metaKey) return;
    if (e.altKey) return;
    if (keys.press(e.key)) {
      e.preventDefault();
      return;
    }
    const press: Press = { app, on, key: e.key, timeline: t, target: onButton ? target : null };
    if (handleMoveKey(press) || handleSelectKey(press) || handleChangeKey(press)) e.preventDefault();
  });
}

/** Press is a key that acts on a time line. target is the button or panel that has the focus. */
interface Press {
  app: App;
  on: KeyTargets;
  key: string;
  timeline: Timeline;
  target: Element | null;
}

/** arrowKeys maps the arrow keys to directions. */
const arrowKeys: Readonly<Record<string, "left" | "right" | "up" | "down">> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** handleMoveKey handles the keys that move the view. It returns whether the key is one of them. */
function handleMoveKey({ app, on, key, timeline: t, target }: Press): boolean {
  const s = app.store.state,
    details = on.details,
    arrow = arrowKeys[key];
  if (arrow) {
    if (target?.closest(".panel")) return false;
    if (details.span && s.selection) void details.move(arrow);
    else if (arrow === "left" || arrow === "right")
      app.show(pan(s.window, arrow === "left" ? -0.2 : 0.2, app.limits()));
    else t.scrollTop += arrow === "up" ? -60 : 60;
    return true;
  }
  switch (key) {
    case "Home":
    case "0":
      app.show(app.limits());
      return true;
    case "Backspace":
    case "[":
      on.back();
      return true;
    case "]":
      history.forward();
      return true;
    case "PageUp":
    case "PageDown":
      if (target) return false;
      t.scrollTop += (key === "PageUp" ? -0.9 : 0.9) * t.height;
      return true;
  }
  return false;
}

/** handleSelectKey handles the keys that act on the selection, and those that select times. */
function handleSelectKey({ app, on, key, timeline, target }: Press): boolean {
  const s = app.store.state,
    details = on.details;
  switch (key) {
    case "Enter":
      if (target) return false;
      if (s.mode === "measure" && s.selection && details.span) {
        const l = app.lanes[s.selection.lane];
        app.store.set({
          marks: [l.toAxis(BigInt(details.span.span.start)), l.toAxis(BigInt(details.span.span.end))],
          loose: "",
        });
      } else if (s.selection) details.zoom();
      else on.picker.pickMiddle(timeline);
      return true;
    case "z":
    case "Z":
      details.zoom();
      return true;
    case "n":
      void details.step("next");
      return true;
    case "N":
      void details.step("previous");
      return true;
    case "r":
    case "R":
      selectRange(app);
      return true;
    case "h":
    case "H":
      app.highlight(details.span?.span.name ?? null);
      return true;
    case "b":
    case "B":
      on.addNote();
      return true;
    case "Escape":
      leaveMode(app);
      return true;
  }
  return false;
}

/** selectRange makes the measured time or the window the range. If there is a range, it removes it. */
function selectRange(app: App): void {
  const s = app.store.state,
    [a, b] = s.marks,
    measured = a !== null && b !== null && a !== b ? (a < b ? { from: a, to: b } : { from: b, to: a }) : null;
  app.store.set({
    range: measured && !(s.range && sameWindow(s.range, measured)) ? measured : s.range ? null : s.window,
  });
}

/** leaveMode ends the current mode. If there is none, it removes the last mark or selection. */
function leaveMode(app: App): void {
  const s = app.store.state;
  if (s.mode !== "pan") app.store.set({ mode: "pan" });
  else if (s.marks[0] !== null) app.store.set({ marks: [null, null], loose: "" });
  else if (s.place !== null) app.store.set({ place: null });
  else if (s.range) app.store.set({ range: null });
  else if (s.selection || s.link) app.store.set({ selection: null, link: null });
  else if (s.highlight !== null) app.store.set({ highlight: null });
}

/** handleChangeKey handles the keys that change how the traces are shown. */
function handleChangeKey({ app, on, key }: Press): boolean {
  const s = app.store.state;
  switch (key) {
    case "m":
    case "M":
      toggleMode(app, "measure");
      return true;
    case "l":
    case "L":
      nextArrows(app);
      return true;
    case "p":
    case "P":
      app.store.set({ showPath: !s.showPath });
      return true;
    case "x":
    case "X":
      app.store.set({ showWaits: !s.showWaits });
      return true;
    case "c":
    case "C":
      app.store.set({ color: s.color === "region" ? "group" : s.color === "group" ? "track" : "region" });
      return true;
    case "t":
    case "T":
      toggleTheme(app);
      return true;
    case "/":
      on.search.focus();
      return true;
    case "?":
      showHelp();
      return true;
  }
  return false;
}
