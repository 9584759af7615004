// The ruler above the time lines: marks, range, measuring marks, bookmarks; dragging on it zooms.
import type { App } from "./app";
import { ink } from "./colors";
import { el, printable } from "./dom";
import { marksFor } from "./ruler";
import { exact, short, type Window } from "./time";
import { at, fraction, zoom } from "./view";
import { wheelFactor } from "./control";

/** RulerBar is the strip with the time axis. */
export class RulerBar {
  readonly element: HTMLCanvasElement;
  private width = 0;

  constructor(private app: App, rubber: (w: Window | null) => void) {
    this.element = el("canvas", { class: "ruler", title: "Drag to zoom to a stretch of time", aria: { label: "Time axis" }, role: "img" });
    const time = (x: number): bigint => at(app.store.state.window, Math.max(0, Math.min(1, (x - this.element.getBoundingClientRect().left) / Math.max(1, this.width))));
    this.element.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      this.element.setPointerCapture(e.pointerId);
      const t0 = time(e.clientX);
      let w: Window | null = null;
      const move = (m: PointerEvent): void => { const t = time(m.clientX); w = Math.abs(m.clientX - e.clientX) < 4 ? null : t > t0 ? { from: t0, to: t } : { from: t, to: t0 }; rubber(w); };
      this.element.addEventListener("pointermove", move);
      this.element.addEventListener("pointerup", () => {
        this.element.removeEventListener("pointermove", move);
        rubber(null);
        if (w) { if (e.altKey || app.store.state.mode === "range") app.store.set({ range: w }); else app.show(w); }
      }, { once: true });
    });
    this.element.addEventListener("wheel", (e) => { e.preventDefault(); app.show(zoom(app.store.state.window, wheelFactor(e), (e.clientX - this.element.getBoundingClientRect().left) / Math.max(1, this.width), app.limits())); }, { passive: false });
  }

  /** draw draws it `width` CSS pixels wide, as the time lines are. */
  draw(width: number): void {
    this.width = width;
    const dpr = devicePixelRatio, height = 28, c = this.app.colors, s = this.app.store.state, cv = this.element;
    const W = Math.round(width * dpr), H = Math.round(height * dpr);
    if (cv.width !== W || cv.height !== H) { cv.width = W; cv.height = H; cv.style.width = width + "px"; cv.style.height = height + "px"; }
    const g = cv.getContext("2d");
    if (!g) return;
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, width, height);
    paintRuler(g, this.app, width, height);
    const x = (t: bigint): number => fraction(s.window, t) * width;
    if (s.range) { g.fillStyle = c.range; g.fillRect(x(s.range.from), 0, Math.max(1, x(s.range.to) - x(s.range.from)), height); }
    this.app.lanes.forEach((l) => { for (const n of this.app.notes.of(l.index)) { const p = x(l.toAxis(BigInt(n.from))); if (p >= -6 && p <= width + 6) { g.fillStyle = "#c026a3"; g.beginPath(); g.moveTo(p - 5, 0); g.lineTo(p + 5, 0); g.lineTo(p, 9); g.fill(); if (n.text) { g.font = "10px system-ui, sans-serif"; g.textBaseline = "top"; g.fillText(printable(n.text).slice(0, 24), p + 6, 0); } } } });
    if (s.place !== null) {
      const p = x(s.place);
      if (p >= -8 && p <= width + 8) {
        g.font = "600 11px system-ui, sans-serif"; g.textBaseline = "middle";
        const text = exact(s.place, this.app.axis), tw = g.measureText(text).width + 8, left = Math.max(0, Math.min(width - tw, p - tw / 2));
        g.fillStyle = c.accent; g.fillRect(left, 3, tw, 15); g.fillRect(Math.round(p) - 1, 18, 2, height - 18);
        g.fillStyle = ink(c.accent); g.fillText(text, left + 4, 11);
      }
    }
    const [a, b] = s.marks;
    if (a !== null && b !== null) {
      const p = x(a < b ? a : b), q = x(a < b ? b : a);
      g.fillStyle = "#d55e00"; g.fillRect(p, height - 4, Math.max(1, q - p), 3);
      g.font = "600 11px system-ui, sans-serif"; g.textBaseline = "bottom"; g.textAlign = "center";
      const text = short(b > a ? b - a : a - b, this.app.axis), tw = g.measureText(text).width + 8, mid = Math.max(tw / 2, Math.min(width - tw / 2, (Math.max(0, p) + Math.min(width, q)) / 2));
      g.fillStyle = c.background; g.fillRect(mid - tw / 2, height - 19, tw, 14);
      g.fillStyle = c.text; g.fillText(text, mid, height - 5); g.textAlign = "left";
    }
    this.element.setAttribute("aria-label", `Time axis, ${exact(s.window.from, this.app.axis)} to ${exact(s.window.to, this.app.axis)}`);
  }
}

/** paintRuler draws the marks and their labels alone; the export uses it too. */
export function paintRuler(g: CanvasRenderingContext2D, app: App, width: number, height: number): void {
  const c = app.colors, { base, marks } = marksFor(app.store.state.window, width, app.axis);
  g.strokeStyle = c.faint; g.lineWidth = 1; g.beginPath();
  for (const m of marks) { const x = Math.round(m.at * width) + 0.5; g.moveTo(x, height); g.lineTo(x, height - (m.label ? 9 : 4)); }
  g.stroke();
  g.fillStyle = c.text; g.font = "11px system-ui, sans-serif"; g.textBaseline = "alphabetic";
  let free = -Infinity;
  if (base !== "" && !marks.some((m) => m.label === base && m.at >= 0 && m.at <= 0.9)) {
    g.font = "600 11px system-ui, sans-serif";
    g.fillText(base, 2, height - 11);
    free = g.measureText(base).width + 12;
    g.font = "11px system-ui, sans-serif";
  }
  for (const m of marks) {
    if (!m.label) continue;
    const tw = g.measureText(m.label).width, x = Math.max(2, Math.min(width - tw - 2, m.at * width + 3));
    if (m.at * width < -20 || m.at * width > width || x < free) continue;
    g.fillText(m.label, x, height - 11);
    free = x + tw + 8;
  }
}
