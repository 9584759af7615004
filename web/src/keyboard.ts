// The keys of the page.
import type { App } from "./app";
import { nextArrows, toggleMode, toggleTheme } from "./commands";
import { Keys } from "./control";
import { showHelp } from "./help";
import type { Picker } from "./picker";
import type { Search } from "./search";
import type { Details } from "./details";
import type { Timeline } from "./timeline";
import { pan, same } from "./view";

/** KeyTargets are the parts of the page that keys act on. */
export interface KeyTargets {
  timelines(): readonly Timeline[];
  details: Details;
  search: Search;
  picker: Picker;
  /** active reports whether the page reacts to keys. */
  active(): boolean;
  /** back shows the previous view. */
  back(): void;
  bookmark(): void;
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
    const s = app.store.state,
      details = on.details,
      t = active();
    const onButton =
      target instanceof HTMLButtonElement || (target instanceof HTMLElement && target.closest(".panel") !== null);
    if (e.ctrlKey || e.metaKey) return;
    if (e.altKey) return;
    if (keys.press(e.key)) {
      e.preventDefault();
      return;
    }
    switch (e.key) {
      case "Home":
      case "0":
        app.show(app.limits());
        break;
      case "Backspace":
      case "[":
        on.back();
        break;
      case "]":
        history.forward();
        break;
      case "ArrowLeft":
      case "ArrowRight":
        if (onButton && target.closest(".panel")) return;
        if (details.span && s.selection) void details.move(e.key === "ArrowLeft" ? "left" : "right");
        else app.show(pan(s.window, e.key === "ArrowLeft" ? -0.2 : 0.2, app.limits()));
        break;
      case "ArrowUp":
      case "ArrowDown":
        if (onButton && target.closest(".panel")) return;
        if (details.span && s.selection) void details.move(e.key === "ArrowUp" ? "up" : "down");
        else t.scrollTop += e.key === "ArrowUp" ? -60 : 60;
        break;
      case "PageUp":
      case "PageDown":
        if (onButton) return;
        t.scrollTop += (e.key === "PageUp" ? -0.9 : 0.9) * t.height;
        break;
      case "Enter":
        if (onButton) return;
        if (s.mode === "measure" && s.selection && details.span) {
          const l = app.lanes[s.selection.lane];
          app.store.set({
            marks: [l.toAxis(BigInt(details.span.span.start)), l.toAxis(BigInt(details.span.span.end))],
            loose: "",
          });
          break;
        }
        if (s.selection) details.zoom();
        else on.picker.pickMiddle(t);
        break;
      case "z":
      case "Z":
        details.zoom();
        break;
      case "n":
        void details.step("next");
        break;
      case "N":
        void details.step("previous");
        break;
      case "r":
      case "R": {
        const [a, b] = s.marks,
          measured = a !== null && b !== null && a !== b ? (a < b ? { from: a, to: b } : { from: b, to: a }) : null;
        app.store.set({
          range: measured && !(s.range && same(s.range, measured)) ? measured : s.range ? null : s.window,
        });
        break;
      }
      case "m":
      case "M":
        toggleMode(app, "measure");
        break;
      case "l":
      case "L":
        nextArrows(app);
        break;
      case "p":
      case "P":
        app.store.set({ path: !s.path });
        break;
      case "x":
      case "X":
        app.store.set({ waits: !s.waits });
        break;
      case "h":
      case "H":
        app.highlight(details.span?.span.name ?? null);
        break;
      case "c":
      case "C":
        app.store.set({ color: s.color === "region" ? "group" : s.color === "group" ? "track" : "region" });
        break;
      case "t":
      case "T":
        toggleTheme(app);
        break;
      case "b":
      case "B":
        on.bookmark();
        break;
      case "/":
        on.search.focus();
        break;
      case "?":
        showHelp();
        break;
      case "Escape":
        if (s.mode !== "pan") app.store.set({ mode: "pan" });
        else if (s.marks[0] !== null) app.store.set({ marks: [null, null], loose: "" });
        else if (s.place !== null) app.store.set({ place: null });
        else if (s.range) app.store.set({ range: null });
        else if (s.selection || s.link) app.store.set({ selection: null, link: null });
        else if (s.highlight !== null) app.store.set({ highlight: null });
        break;
      default:
        return;
    }
    e.preventDefault();
  });
}
