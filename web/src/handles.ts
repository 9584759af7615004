// The things next to the time lines that the user can drag: the rubber band, and the edges of the dock
// and of the row names.
import type { App } from "./app";
import { el } from "./dom";
import { initialState } from "./store";
import { short, type Window } from "./time";
import type { Timeline } from "./timeline";

/** RubberBand shows the interval of time that the user is selecting. */
export class RubberBand {
  readonly element = el("div", { class: "rubber", hidden: true }, el("span", {}));

  /** timeline returns the time line whose scale the band uses. */
  constructor(
    private app: App,
    private timeline: () => Timeline,
  ) {}

  /** show shows an interval. null hides the band. */
  show(w: Window | null): void {
    this.element.hidden = w === null;
    if (!w) return;
    const t = this.timeline(),
      labels = t.plot.offsetLeft;
    const a = Math.max(0, t.x(w.from)),
      b = Math.min(t.width, t.x(w.to));
    this.element.style.left = labels + a + "px";
    this.element.style.width = Math.max(1, b - a) + "px";
    const span = this.element.firstElementChild;
    if (span) span.textContent = short(w.to - w.from, this.app.axis);
  }
}

/** makeSplitter returns the bar between the time lines and the dock. A drag changes the height of the dock. */
export function makeSplitter(app: App): HTMLElement {
  const s = el("div", {
    class: "splitter",
    role: "separator",
    tabindex: 0,
    aria: {
      orientation: "horizontal",
      label: "Height of the tables. Up and down arrow change it.",
      valuenow: app.store.state.dock,
    },
  });
  const set = (v: number): void => {
    const d = Math.max(0, Math.min(innerHeight * 0.75, Math.round(v)));
    app.store.set({ dock: d });
    s.setAttribute("aria-valuenow", String(d));
  };
  s.addEventListener("pointerdown", (e) => {
    s.setPointerCapture(e.pointerId);
    const y = e.clientY,
      d = app.dock;
    const move = (m: PointerEvent): void => set(d + y - m.clientY);
    s.addEventListener("pointermove", move);
    s.addEventListener("pointerup", () => s.removeEventListener("pointermove", move), { once: true });
  });
  s.addEventListener("dblclick", () => set(app.dock > 40 ? 0 : initialState.dock));
  s.addEventListener("keydown", (e) => {
    if (e.key === "ArrowUp" || e.key === "ArrowDown") {
      set(app.dock + (e.key === "ArrowUp" ? 24 : -24));
      e.preventDefault();
      e.stopPropagation();
    }
  });
  return s;
}

/** makeGrip returns the edge next to the row names. A drag changes the width of the names. */
export function makeGrip(app: App): HTMLElement {
  const g = el("div", {
    class: "labelgrip",
    title: "Drag to change the width of the names",
    role: "separator",
    tabindex: 0,
    aria: {
      orientation: "vertical",
      label: "Width of the names of rows. Left and right arrow change it.",
      valuenow: 0,
    },
  });
  const set = (v: number): void => {
    const w = Math.round(Math.max(80, Math.min(innerWidth / 2, v)));
    document.documentElement.style.setProperty("--labels", w + "px");
    g.setAttribute("aria-valuenow", String(w));
    app.draw();
  };
  g.addEventListener("keydown", (e) => {
    if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      set(g.offsetLeft + 3 + (e.key === "ArrowLeft" ? -16 : 16));
      e.preventDefault();
      e.stopPropagation();
    }
  });
  g.addEventListener("pointerdown", (e) => {
    g.setPointerCapture(e.pointerId);
    const move = (m: PointerEvent): void => set(m.clientX);
    g.addEventListener("pointermove", move);
    g.addEventListener("pointerup", () => g.removeEventListener("pointermove", move), { once: true });
  });
  return g;
}
