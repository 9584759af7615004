// The ruler above the time lines. It shows the range, the measured time and notes. A drag on it
// zooms.
import type { App } from "./app";
import { ink } from "./colors";
import { el, printable } from "./dom";
import { marksFor } from "./ruler";
import { exact, short, type Window } from "./time";
import { timeAtFraction, fraction, zoom } from "./view";
import type { Pen } from "./pen";
import { wheelFactor } from "./wheel";

/** rulerHeight is the height of the ruler in CSS pixels. */
export const rulerHeight = 28;

/** RulerBar is the canvas with the ruler. */
export class RulerBar {
  readonly element: HTMLCanvasElement;
  private width = 0;

  constructor(
    private app: App,
    rubber: (w: Window | null) => void,
  ) {
    this.element = el("canvas", {
      class: "ruler",
      title: "Drag to zoom to a stretch of time",
      aria: { label: "Time axis" },
      role: "img",
    });
    const time = (x: number): bigint =>
      timeAtFraction(
        app.store.state.window,
        Math.max(0, Math.min(1, (x - this.element.getBoundingClientRect().left) / Math.max(1, this.width))),
      );
    this.element.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      this.element.setPointerCapture(e.pointerId);
      const t0 = time(e.clientX);
      let w: Window | null = null;
      const move = (m: PointerEvent): void => {
        const t = time(m.clientX);
        w = Math.abs(m.clientX - e.clientX) < 4 ? null : t > t0 ? { from: t0, to: t } : { from: t, to: t0 };
        rubber(w);
      };
      this.element.addEventListener("pointermove", move);
      this.element.addEventListener(
        "pointerup",
        () => {
          this.element.removeEventListener("pointermove", move);
          rubber(null);
          if (w) {
            if (e.altKey || app.store.state.mode === "range") app.store.set({ range: w });
            else app.show(w);
          }
        },
        { once: true },
      );
    });
    this.element.addEventListener(
      "wheel",
      (e) => {
        e.preventDefault();
        app.show(
          zoom(
            app.store.state.window,
            wheelFactor(e),
            (e.clientX - this.element.getBoundingClientRect().left) / Math.max(1, this.width),
            app.limits(),
          ),
        );
      },
      { passive: false },
    );
  }

  /** draw draws the ruler. width is the width of the time lines, in CSS pixels. */
  draw(width: number): void {
    this.width = width;
    const dpr = devicePixelRatio,
      height = rulerHeight,
      s = this.app.store.state,
      cv = this.element;
    const W = Math.round(width * dpr),
      H = Math.round(height * dpr);
    if (cv.width !== W || cv.height !== H) {
      cv.width = W;
      cv.height = H;
      cv.style.width = width + "px";
      cv.style.height = height + "px";
    }
    const g = cv.getContext("2d");
    if (!g) return;
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, width, height);
    paintRuler(g, this.app, width, height);
    this.element.setAttribute(
      "aria-label",
      `Time axis, ${exact(s.window.from, this.app.axis)} to ${exact(s.window.to, this.app.axis)}`,
    );
  }
}

/** Box is a text in a box, for a mark on the axis. */
interface Box {
  x: number;
  w: number;
  y: number;
  text: string;
  color: string;
  background: string;
}

/** Flag is a note at its position on the axis. */
interface Flag {
  at: number;
  text: string;
}

/** fonts holds the fonts of the axis, of boxes and of notes. */
const fonts = {
  axis: "11px system-ui, sans-serif",
  box: "600 11px system-ui, sans-serif",
  note: "10px system-ui, sans-serif",
};

/** paintRuler draws the axis and its marks with a pen. The page and exported pictures use it. */
export function paintRuler(g: Pen, app: App, width: number, height: number): void {
  const c = app.colors,
    s = app.store.state;
  const x = (t: bigint): number => fraction(s.window, t) * width;
  g.textAlign = "left";
  if (s.range) {
    const a = Math.max(0, x(s.range.from)),
      b = Math.min(width, x(s.range.to));
    if (b > a) {
      g.fillStyle = c.range;
      g.fillRect(a, 0, Math.max(1, b - a), height);
    }
  }

  // omit the labels of the ruler that would overlap the box of a mark or note
  const boxes = paintMarks(g, app, x, width, height),
    notes = notesOf(app, x, width);
  g.font = fonts.note;
  paintTicks(g, app, width, height, [
    ...boxes,
    ...notes.map((n) => ({ x: n.at - 6, w: 14 + (n.text ? g.measureText(n.text).width : 0) })),
  ]);
  paintBoxes(g, boxes);
  paintNotes(g, notes, c.note);
}

/**
 * paintMarks draws the place that the user went to, and the measured time. It returns the boxes
 * with their texts.
 */
function paintMarks(g: Pen, app: App, x: (t: bigint) => number, width: number, height: number): Box[] {
  const c = app.colors,
    s = app.store.state,
    boxes: Box[] = [];
  g.font = fonts.box;
  const boxed = (middle: number, y: number, text: string, color: string, background: string): void => {
    const w = g.measureText(text).width + 8;
    boxes.push({ x: Math.max(0, Math.min(width - w, middle - w / 2)), w, y, text, color, background });
  };
  const p = s.place === null ? -Infinity : x(s.place);
  if (s.place !== null && p >= 0 && p <= width) {
    boxed(p, 3, exact(s.place, app.axis), ink(c.accent), c.accent);
    g.fillStyle = c.accent;
    g.fillRect(Math.round(p) - 1, 18, 2, height - 18);
  }
  const [m, n] = s.marks;
  if (m !== null && n !== null) {
    const a = Math.max(0, x(m < n ? m : n)),
      b = Math.min(width, x(m < n ? n : m));
    if (b >= 0 && a <= width) {
      g.fillStyle = "#d55e00";
      g.fillRect(a, height - 4, Math.max(1, b - a), 3);
      boxed((a + b) / 2, 3, short(n > m ? n - m : m - n, app.axis), c.text, c.background);
    }
  }
  return boxes;
}

/** notesOf returns the notes in the window. */
function notesOf(app: App, x: (t: bigint) => number, width: number): Flag[] {
  return app.lanes
    .flatMap((l) =>
      app.notes.inLane(l.index).map((n) => ({
        at: x(l.toAxis(BigInt(n.from))),
        text: [...printable(n.text.trim().replace(/\s+/g, " "))].slice(0, 24).join(""),
      })),
    )
    .filter((n) => n.at >= 0 && n.at <= width);
}

/**
 * paintTicks draws the lines of the axis and their labels. It leaves out labels that would lie in a
 * place of taken.
 */
function paintTicks(g: Pen, app: App, width: number, height: number, taken: readonly { x: number; w: number }[]): void {
  const c = app.colors,
    s = app.store.state;
  const { base, marks } = marksFor(s.window, width, app.axis);
  g.strokeStyle = c.faint;
  g.lineWidth = 1;
  g.beginPath();
  for (const k of marks)
    if (k.at >= 0 && k.at <= 1) {
      const at = Math.min(width - 1, Math.round(k.at * width)) + 0.5;
      g.moveTo(at, height);
      g.lineTo(at, height - (k.label ? 9 : 4));
    }
  g.stroke();
  g.textBaseline = "alphabetic";
  let free = -Infinity;
  const write = (text: string, at: number): void => {
    const w = g.measureText(text).width;
    if (at < free || at + w > width - 1 || taken.some((b) => at < b.x + b.w + 3 && b.x - 3 < at + w)) return;
    g.fillText(text, at, height - 11);
    free = at + w + 8;
  };
  g.fillStyle = c.text;
  if (base !== "" && !marks.some((k) => k.label === base && k.at >= 0 && k.at <= 0.9)) {
    g.font = fonts.box;
    write(base, 2);
    free += 4;
  }
  g.font = fonts.axis;
  // a label is on the right of its line; that of the last line is on the left if there is no room
  for (const k of marks)
    if (k.label && k.at >= 0 && k.at <= 1) {
      const w = g.measureText(k.label).width,
        at = k.at * width + 3;
      write(k.label, at + w > width - 2 ? k.at * width - w - 3 : at);
    }
}

/** paintBoxes draws boxes with their texts. */
function paintBoxes(g: Pen, boxes: readonly Box[]): void {
  g.font = fonts.box;
  g.textBaseline = "middle";
  for (const b of boxes) {
    g.fillStyle = b.background;
    g.fillRect(b.x, b.y, b.w, 15);
    g.fillStyle = b.color;
    g.fillText(b.text, b.x + 4, b.y + 8);
  }
}

/** paintNotes draws notes as triangles with the start of their texts. */
function paintNotes(g: Pen, notes: readonly Flag[], color: string): void {
  g.fillStyle = color;
  g.font = fonts.note;
  for (const n of notes) {
    g.beginPath();
    g.moveTo(n.at - 5, 0);
    g.lineTo(n.at + 5, 0);
    g.lineTo(n.at, 9);
    g.closePath();
    g.fill();
    if (n.text) {
      g.textBaseline = "middle";
      g.fillText(n.text, n.at + 7, 8);
    }
  }
}
