// The reaction of the time line to the pointer and the keyboard.
import type { App } from "./app";
import { nextFrame } from "./timers";
import type { Hit } from "./hit";
import type { State } from "./store";
import type { Timeline } from "./timeline";
import type { Window } from "./time";
import { pan, zoom } from "./view";
import { wheelFactor } from "./wheel";

/** Actions holds the functions that the controls call, except for moves of the window. */
export interface Actions {
  /** pick selects a hit. */
  pick(t: Timeline, h: Hit | null): void;
  pickLink(t: Timeline, id: Hit | null): void;
  /** hover shows the tooltip for a point. It hides the tooltip if there is no hit. */
  hover(t: Timeline, h: Hit | null, x: number, y: number): void;
  /** mark sets an end of the measured time: the second one if second is set, otherwise the first one. */
  mark(t: Timeline, h: Hit | null, time: bigint, second: boolean): void;
  /**
   * range selects an interval of time. points holds a point or null for each end. An end with a
   * point snaps to the edge of a span near that point.
   */
  range(t: Timeline, w: Window, points: readonly ({ x: number; y: number } | null)[]): void;
  /** rangeTo makes the time from the selected span to another one the range. */
  rangeTo(t: Timeline, h: Hit | null): void;
  /** rubber shows the rubber band for a window. null hides it. */
  rubber(w: Window | null): void;
  /** shift moves a lane along the axis by a number of axis ticks. */
  shift(t: Timeline, by: bigint): void;
}

/** grabReach is the largest distance, in CSS pixels, from which a drag takes an edge of the range. */
const grabReach = 5;

/** edgeOf returns which edge of the range is near x: 0 for the begin, 1 for the end, and -1 for neither. */
function edgeOf(t: Timeline, range: Window | null, x: number): number {
  if (!range) return -1;
  const far = [range.from, range.to].map((e) => Math.abs(t.x(e) - x));
  return Math.min(...far) > grabReach ? -1 : far[0] < far[1] ? 0 : 1;
}

/** pointerIn returns the position of the pointer relative to a time line. */
function pointerIn(t: Timeline, e: MouseEvent): { x: number; y: number } {
  return { x: e.clientX - t.left, y: e.clientY - t.top };
}

/** DragMode is the effect of a drag. */
type DragMode = "range" | "zoom" | "shift" | "edge" | "pan";

/** dragMode returns the effect of a drag that begins at x. */
function dragMode(app: App, t: Timeline, e: PointerEvent, x: number): DragMode {
  const s = app.store.state;
  if (e.altKey || (s.mode === "range" && !e.shiftKey)) return "range";
  if (e.shiftKey) return "zoom";
  if (e.ctrlKey && app.lanes.length > 1) return "shift";
  return edgeOf(t, s.range, x) >= 0 && s.mode !== "measure" ? "edge" : "pan";
}

/** Drag handles a drag or a click of the pointer, from the press to the release. */
class Drag {
  private readonly begin: { x: number; y: number };
  private readonly mode: DragMode;
  private readonly state: State;
  private readonly window: Window;
  private readonly top: number;
  private readonly time: bigint;
  /** other is the edge of the range that the drag does not move. */
  private readonly other: bigint;
  private moved = false;
  private lastX: number;

  constructor(
    private readonly app: App,
    private readonly t: Timeline,
    private readonly act: Actions,
    private readonly down: PointerEvent,
    private readonly dragging: (is: boolean) => void,
  ) {
    this.begin = pointerIn(t, down);
    this.state = app.store.state;
    this.window = this.state.window;
    this.top = t.scrollTop;
    this.time = t.timeAt(this.begin.x);
    this.lastX = this.begin.x;
    this.mode = dragMode(app, t, down, this.begin.x);
    const held = this.state.range;
    this.other = held === null ? 0n : edgeOf(t, held, this.begin.x) === 0 ? held.to : held.from;
  }

  private readonly listening = new AbortController();

  /** abandon ends the drag. */
  abandon(): void {
    this.listening.abort();
    this.t.plot.classList.remove("grabbing");
    this.dragging(false);
    this.act.rubber(null);
  }

  /** follow handles the moves of the pointer until its release. */
  follow(): void {
    const plot = this.t.plot,
      { signal } = this.listening;
    const done = (e: PointerEvent): void => {
      this.abandon();
      const p = pointerIn(this.t, e);
      if (this.moved) this.drop(p);
      else if (e.type === "pointerup") this.click(p);
    };
    plot.setPointerCapture(this.down.pointerId);
    plot.addEventListener("pointermove", (e) => this.move(e), { signal });
    plot.addEventListener("pointerup", done, { signal });
    plot.addEventListener("pointercancel", done, { signal });
  }

  /** timeAt returns the time at x, or at the nearest position inside the time line. */
  private timeAt(x: number): bigint {
    return this.t.timeAt(Math.max(0, Math.min(this.t.width, x)));
  }

  /** stretched returns the range after the dragged edge has moved to x. */
  private stretched(x: number): Window {
    const a = this.timeAt(x),
      { other } = this;
    return a < other ? { from: a, to: other } : { from: other, to: a > other ? a : other + 1n };
  }

  /** draggedInterval returns the interval between the begin of the drag and x. */
  private draggedInterval(x: number): Window {
    const a = this.timeAt(x);
    return a > this.time ? { from: this.time, to: a } : { from: a, to: this.time + 1n };
  }

  private move(e: PointerEvent): void {
    const { app, t, act, begin, mode } = this,
      p = pointerIn(t, e);
    if (!this.moved && Math.hypot(p.x - begin.x, p.y - begin.y) < 4) return;
    if (!this.moved) {
      this.moved = true;
      this.dragging(true);
      act.hover(t, null, 0, 0);
      if (mode === "pan") t.plot.classList.add("grabbing");
    }
    if (mode === "pan") {
      app.show(pan(this.window, (begin.x - p.x) / Math.max(1, t.width), app.limits()));
      t.scrollTop = this.top + begin.y - p.y;
    } else if (mode === "edge") app.store.set({ range: this.stretched(p.x) });
    else if (mode === "shift") {
      act.shift(t, t.timeAt(p.x) - t.timeAt(this.lastX));
      this.lastX = p.x;
    } else act.rubber(this.draggedInterval(p.x));
  }

  /** drop ends a drag. */
  private drop(p: { x: number; y: number }): void {
    const { app, t, act, begin, mode } = this;
    if (mode === "range") act.range(t, this.draggedInterval(p.x), begin.x < p.x ? [begin, p] : [p, begin]);
    else if (mode === "edge") {
      const w = this.stretched(p.x);
      act.range(t, w, w.to === this.other ? [p, null] : [null, p]);
    } else if (mode === "zoom") app.show(this.draggedInterval(p.x));
  }

  /** click handles a release of the pointer without a move before it. */
  private click(p: { x: number; y: number }): void {
    const { t, act, state: s } = this,
      { shiftKey } = this.down,
      h = t.hit(p.x, p.y);
    t.hoverLink = t.linkAt(p.x, p.y, h);
    if (s.mode === "measure") act.mark(t, h, t.timeAt(p.x), shiftKey);
    else if (shiftKey && s.selection) act.rangeTo(t, h);
    else if (t.hoverLink) act.pickLink(t, h);
    else act.pick(t, h);
  }
}

/** Pinch zooms and pans with two fingers. */
class Pinch {
  private readonly window: Window;
  private readonly begin: { middle: number; wide: number };

  constructor(
    private readonly app: App,
    private readonly t: Timeline,
    private readonly fingers: ReadonlyMap<number, { x: number; y: number }>,
  ) {
    this.window = app.store.state.window;
    this.begin = this.stretch();
  }

  /** stretch returns the middle between the fingers and their distance, in parts of the width of the time line. */
  private stretch(): { middle: number; wide: number } {
    const [a, b] = [...this.fingers.values()],
      width = Math.max(1, this.t.width);
    return { middle: (a.x + b.x) / 2 / width, wide: Math.max(1, Math.hypot(a.x - b.x, a.y - b.y)) / width };
  }

  /** move shows the time of the begin of the gesture that lies between the fingers. */
  move(): void {
    const { app, begin, window } = this,
      limits = app.limits(),
      { middle, wide } = this.stretch();
    const w = zoom(window, begin.wide / wide, begin.middle, limits);
    app.show(pan(w, begin.middle - middle, limits));
  }
}

/** attach makes a time line react to the pointer. */
export function attach(app: App, t: Timeline, act: Actions): void {
  const plot = t.plot,
    fingers = new Map<number, { x: number; y: number }>();
  let dragging = false,
    drag: Drag | null = null,
    pinch: Pinch | null = null;

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
      else app.show(zoom(s.window, wheelFactor(e), pointerIn(t, e).x / Math.max(1, t.width), app.limits()));
    },
    { passive: false },
  );

  plot.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 && e.button !== 1) return;
    plot.focus({ preventScroll: true });
    if (e.pointerType === "touch") fingers.set(e.pointerId, pointerIn(t, e));
    if (fingers.size > 1) {
      drag?.abandon();
      pinch = fingers.size === 2 ? new Pinch(app, t, fingers) : null;
      return;
    }
    drag = new Drag(app, t, act, e, (is) => (dragging = is));
    drag.follow();
  });
  const lift = (e: PointerEvent): void => {
    fingers.delete(e.pointerId);
    pinch = null;
  };
  plot.addEventListener("pointerup", lift);
  plot.addEventListener("pointercancel", lift);

  plot.addEventListener("dblclick", (e) => {
    const p = pointerIn(t, e),
      h = t.hit(p.x, p.y);
    if (h && h.kind === "span" && h.single) {
      const d = t.timeAt(h.x1) - t.timeAt(h.x0),
        m = d / 10n;
      app.show({ from: t.timeAt(h.x0) - m, to: t.timeAt(h.x1) + m });
    } else app.show(zoom(app.store.state.window, 0.25, p.x / Math.max(1, t.width), app.limits()));
  });

  plot.addEventListener("pointermove", (e) => {
    const p = pointerIn(t, e);
    if (fingers.has(e.pointerId)) fingers.set(e.pointerId, p);
    pinch?.move();
    if (dragging || pinch) return;
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

/** Keys moves the window a little in each frame while W, A, S, D or similar keys are pressed. */
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

  /** press handles a key, and returns whether the key moves the window. */
  press(key: string): boolean {
    const k = key.toLowerCase();
    if (!["w", "a", "s", "d", "+", "-", "="].includes(k)) return false;
    const first = this.held.size === 0;
    this.held.add(k);
    // the first frame counts as 60 ms, so that even a short tap moves the window
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
