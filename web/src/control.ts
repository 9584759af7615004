// Pointer and keyboard on the time line.
import type { App } from "./app";
import { nextFrame } from "./later";
import type { Hit } from "./hit";
import type { Timeline } from "./timeline";
import type { Window } from "./time";
import { pan, zoom } from "./view";
import { wheelFactor } from "./wheel";

/** Actions holds the effects of the controls, except for moving the window. */
export interface Actions {
  /** pick selects a hit. */
  pick(t: Timeline, h: Hit | null): void;
  pickLink(t: Timeline, id: Hit | null): void;
  /** hover shows the tooltip for a point, or hides it. */
  hover(t: Timeline, h: Hit | null, x: number, y: number): void;
  /** mark sets an end of the measured time: the second end if second is set, otherwise the first. */
  mark(t: Timeline, h: Hit | null, time: bigint, second: boolean): void;
  /**
   * range selects an interval of time. An end that has a point snaps to the edge of a span near
   * that point.
   */
  range(t: Timeline, w: Window, points: readonly ({ x: number; y: number } | null)[]): void;
  /** rangeTo selects the time from the selected span to another one. */
  rangeTo(t: Timeline, h: Hit | null): void;
  /** rubber shows the rubber band on the axis; null hides it. */
  rubber(w: Window | null): void;
  /** shift moves a lane along the axis by a number of axis ticks. */
  shift(t: Timeline, by: bigint): void;
}

/**
 * grabReach is the largest distance from an edge of the range at which a drag moves the edge, in
 * CSS pixels.
 */
const grabReach = 5;

/**
 * edgeOf returns which edge of the range is near x: 0 for its begin, 1 for its end, -1 for none.
 */
function edgeOf(t: Timeline, range: Window | null, x: number): number {
  if (!range) return -1;
  const far = [range.from, range.to].map((e) => Math.abs(t.x(e) - x));
  return Math.min(...far) > grabReach ? -1 : far[0] < far[1] ? 0 : 1;
}

/** attach makes a time line react to the pointer. */
export function attach(app: App, t: Timeline, act: Actions): void {
  const plot = t.plot;
  const local = (e: MouseEvent): { x: number; y: number } => ({ x: e.clientX - t.left, y: e.clientY - t.top });
  let dragging = false;

  plot.addEventListener(
    "wheel",
    (e) => {
      e.preventDefault();
      const s = app.store.state,
        sideways = Math.abs(e.deltaX) > Math.abs(e.deltaY);
      if (e.altKey) {
        t.scrollTop += e.deltaY;
        return;
      }
      if (sideways || e.shiftKey)
        app.show(pan(s.window, (sideways ? e.deltaX : e.deltaY) / Math.max(1, t.width), app.limits()));
      else app.show(zoom(s.window, wheelFactor(e), local(e).x / Math.max(1, t.width), app.limits()));
    },
    { passive: false },
  );

  plot.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 && e.button !== 1) return;
    plot.focus({ preventScroll: true });
    const p0 = local(e),
      s = app.store.state,
      w0 = s.window,
      top0 = t.scrollTop,
      time0 = t.timeAt(p0.x);
    const mode =
      e.altKey || (s.mode === "range" && !e.shiftKey)
        ? "range"
        : e.shiftKey
          ? "zoom"
          : e.ctrlKey && app.lanes.length > 1
            ? "shift"
            : edgeOf(t, s.range, p0.x) >= 0 && s.mode !== "measure"
              ? "edge"
              : "pan";
    // the other edge stays where it is
    const held = s.range,
      other = held === null ? 0n : edgeOf(t, held, p0.x) === 0 ? held.to : held.from;
    const stretch = (x: number): Window => {
      const a = t.timeAt(Math.max(0, Math.min(t.width, x)));
      return a < other ? { from: a, to: other } : { from: other, to: a > other ? a : other + 1n };
    };
    let moved = false,
      lastX = p0.x;
    plot.setPointerCapture(e.pointerId);
    const span = (x: number): Window => {
      const a = t.timeAt(Math.max(0, Math.min(t.width, x)));
      return a > time0 ? { from: time0, to: a } : { from: a, to: time0 + 1n };
    };
    const move = (m: PointerEvent): void => {
      const p = local(m);
      if (!moved && Math.hypot(p.x - p0.x, p.y - p0.y) < 4) return;
      if (!moved) {
        moved = dragging = true;
        act.hover(t, null, 0, 0);
        if (mode === "pan") plot.classList.add("grabbing");
      }
      if (mode === "pan") {
        app.show(pan(w0, (p0.x - p.x) / Math.max(1, t.width), app.limits()));
        t.scrollTop = top0 + p0.y - p.y;
      } else if (mode === "edge") app.store.set({ range: stretch(p.x) });
      else if (mode === "shift") {
        act.shift(t, t.timeAt(p.x) - t.timeAt(lastX));
        lastX = p.x;
      } else act.rubber(span(p.x));
    };
    const done = (u: PointerEvent): void => {
      plot.removeEventListener("pointermove", move);
      plot.removeEventListener("pointerup", done);
      plot.removeEventListener("pointercancel", done);
      plot.classList.remove("grabbing");
      dragging = false;
      act.rubber(null);
      const p = local(u);
      if (moved) {
        if (mode === "range") act.range(t, span(p.x), p0.x < p.x ? [p0, p] : [p, p0]);
        else if (mode === "edge") {
          const w = stretch(p.x);
          act.range(t, w, w.to === other ? [p, null] : [null, p]);
        } else if (mode === "zoom") app.show(span(p.x));
      } else if (u.type === "pointerup") {
        const h = t.hit(p.x, p.y);
        t.hoverLink = t.linkAt(p.x, p.y, h);
        if (s.mode === "measure") act.mark(t, h, t.timeAt(p.x), e.shiftKey);
        else if (e.shiftKey && s.selection) act.rangeTo(t, h);
        else if (t.hoverLink) act.pickLink(t, h);
        else act.pick(t, h);
      }
    };
    plot.addEventListener("pointermove", move);
    plot.addEventListener("pointerup", done);
    plot.addEventListener("pointercancel", done);
  });

  plot.addEventListener("dblclick", (e) => {
    const p = local(e),
      h = t.hit(p.x, p.y);
    if (h && h.kind === "span" && h.single) {
      const d = t.timeAt(h.x1) - t.timeAt(h.x0),
        m = d / 10n;
      app.show({ from: t.timeAt(h.x0) - m, to: t.timeAt(h.x1) + m });
    } else app.show(zoom(app.store.state.window, 0.25, p.x / Math.max(1, t.width), app.limits()));
  });

  plot.addEventListener("pointermove", (e) => {
    if (dragging) return;
    const p = local(e);
    t.pointer = p;
    t.hover = t.hit(p.x, p.y);
    t.hoverLink = t.linkAt(p.x, p.y, t.hover);
    plot.style.cursor = edgeOf(t, app.store.state.range, p.x) >= 0 ? "ew-resize" : "";
    act.hover(t, t.hover, e.clientX, e.clientY);
    app.draw(true);
  });
  plot.addEventListener("pointerleave", () => {
    t.pointer = null;
    t.hover = null;
    t.hoverLink = null;
    act.hover(t, null, 0, 0);
    app.draw(true);
  });
}

/** Keys moves the window a bit in each frame while W, A, S, D or similar keys are pressed. */
export class Keys {
  private held = new Set<string>();
  private last = 0;
  constructor(
    private app: App,
    private pointer: () => number,
  ) {
    addEventListener("blur", () => this.held.clear());
    addEventListener("keyup", (e) => this.held.delete(e.key.toLowerCase()));
  }

  /** press handles a key; it reports whether the key moves the window. */
  press(key: string): boolean {
    const k = key.toLowerCase();
    if (!["w", "a", "s", "d", "+", "-", "="].includes(k)) return false;
    const first = this.held.size === 0;
    this.held.add(k);
    // the first frame counts as 60 ms long, so that a short tap also moves the window
    if (first) {
      this.last = performance.now() - 60;
      this.step();
    }
    return true;
  }

  private step(): void {
    if (this.held.size === 0) return;
    const now = performance.now(),
      dt = Math.max(8, Math.min(60, now - this.last)) / 1000;
    this.last = now;
    let w = this.app.store.state.window;
    const limits = this.app.limits(),
      has = (...k: string[]): boolean => k.some((x) => this.held.has(x));
    if (has("w", "+", "=")) w = zoom(w, Math.exp(-2.2 * dt), this.pointer(), limits);
    if (has("s", "-")) w = zoom(w, Math.exp(2.2 * dt), this.pointer(), limits);
    if (has("a")) w = pan(w, -0.9 * dt, limits);
    if (has("d")) w = pan(w, 0.9 * dt, limits);
    this.app.show(w);
    nextFrame("keys that are held", () => this.step());
  }
}
