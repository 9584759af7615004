// The mini-map: the whole trace in a thin strip, and the window as a frame that the user can drag.
import type { App } from "./app";
import { byRow } from "./colors";
import { el } from "./dom";
import { type Bitmap, drawSpans, fill, pack } from "./raster";
import { decodeTile, type Strip, StripKind, type Tile } from "./tile";
import { isAbort, ranges } from "./api";
import { timeAtFraction, fraction } from "./view";
import type { Window } from "./time";
import type { Lane } from "./lane";

/** leastLine is the smallest height of a row in the mini-map, in CSS pixels. */
const leastLine = 3;

/** gap is the space between two traces, in pixels of the canvas. */
const gap = 1;

/**
 * Part holds the tile for one trace, the key of the request for it, and the controller that cancels
 * the request.
 */
interface Part {
  tile: Tile | null;
  key: string;
  abort: AbortController | null;
}

/**
 * Minimap shows a summary of all locations of each lane within the limits of the axis. The lanes
 * are one above the other.
 */
export class Minimap {
  readonly element: HTMLElement;
  private canvas: HTMLCanvasElement;
  private frame: HTMLElement;
  private parts: Part[] = [];
  private painted = "";
  // read the size only after a change, because reading it makes the browser compute the layout of the
  // page
  private resized = true;
  private width = 0;
  private height = 0;

  constructor(private app: App) {
    this.canvas = el("canvas", { aria: { hidden: true } });
    this.frame = el("div", { class: "frame" }, el("div", { class: "grip left" }), el("div", { class: "grip right" }));
    this.element = el(
      "div",
      {
        class: "minimap",
        role: "slider",
        tabindex: 0,
        aria: {
          label: "Window within the whole trace. Left and right arrow pan.",
          valuemin: 0,
          valuemax: 100,
          valuenow: 0,
        },
      },
      this.canvas,
      this.frame,
    );
    // several traces need more lines
    this.element.style.height = 22 + 12 * Math.min(4, app.lanes.length) + "px";
    new ResizeObserver(() => {
      this.resized = true;
      app.draw();
    }).observe(this.element);
    this.element.addEventListener("pointerdown", (e) => this.grab(e));
    this.element.addEventListener("dblclick", () => app.show(app.limits()));
    this.element.addEventListener("keydown", (e) => {
      const w = app.store.state.window,
        d = (w.to - w.from) / 4n;
      if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
        const s = e.key === "ArrowLeft" ? -d : d;
        app.show({ from: w.from + s, to: w.to + s });
        e.preventDefault();
        e.stopPropagation();
      }
    });
  }

  private grab(e: PointerEvent): void {
    if (e.button !== 0) return;
    e.preventDefault();
    const limits = this.app.limits(),
      box = this.element.getBoundingClientRect();
    const time = (x: number): bigint => timeAtFraction(limits, Math.max(0, Math.min(1, (x - box.left) / box.width)));
    const begin = this.app.store.state.window,
      start = time(e.clientX);
    const left = e.target instanceof HTMLElement && e.target.classList.contains("left"),
      right = e.target instanceof HTMLElement && e.target.classList.contains("right");
    const inside = start >= begin.from && start <= begin.to;
    const whole = begin.to - begin.from >= limits.to - limits.from;
    let moved = false;
    this.element.setPointerCapture(e.pointerId);
    const move = (m: PointerEvent): void => {
      if (Math.abs(m.clientX - e.clientX) > 3) moved = true;
      if (!moved) return;
      const t = time(m.clientX),
        d = t - start;
      if (left) this.app.show({ from: t < begin.to ? t : begin.to, to: begin.to });
      else if (right) this.app.show({ from: begin.from, to: t > begin.from ? t : begin.from });
      else if (inside && !whole) this.app.show({ from: begin.from + d, to: begin.to + d });
      else this.app.show(t > start ? { from: start, to: t } : { from: t, to: start });
    };
    const up = (): void => {
      this.element.removeEventListener("pointermove", move);
      if (!moved && !whole && !inside)
        this.app.show({ from: start - (begin.to - begin.from) / 2n, to: start + (begin.to - begin.from) / 2n });
    };
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("pointerup", up, { once: true });
  }

  /** strips returns the strips of all traces. area is the area of one column, in pixels of the canvas. */
  strips(): { lane: Lane; tile: Tile; strip: Strip; area: number }[] {
    return this.app.lanes.flatMap((lane, i) => {
      const tile = this.parts[i]?.tile,
        all = tile?.strips.filter((s) => s.kind === StripKind.spans) ?? [];
      return tile
        ? all.map((strip) => ({
            lane,
            tile,
            strip,
            area: (this.height * devicePixelRatio) / this.app.lanes.length / all.length,
          }))
        : [];
    });
  }

  /**
   * fetch requests the summary of all rows of a trace. If each row has its own colour, it requests
   * a tile of some rows instead, which are spread evenly from top to bottom.
   */
  private async fetch(p: Part, lane: Lane, w: Window, width: number, height: number, each: boolean): Promise<void> {
    const of = (kind: string): number[] =>
      lane.meta.tracks.flatMap((t, i) => (t.kind === kind && t.depth > 0 ? [i] : []));
    const all = [of("location"), of("resource"), of("communicator")].find((x) => x.length > 0) ?? [];
    const lines = Math.min(all.length, Math.max(1, Math.floor(height / leastLine))),
      tracks = each ? Array.from({ length: lines }, (_, i) => all[Math.floor((i * all.length) / lines)]) : all;
    p.abort?.abort();
    p.abort = null;
    if (tracks.length === 0) return;
    const abort = (p.abort = new AbortController());
    try {
      p.tile = decodeTile(
        await this.app.client.binary(
          `traces/${encodeURIComponent(lane.meta.id)}/${each ? "tiles" : "summary"}`,
          { from: w.from, to: w.to, width, tracks: ranges(tracks), depths: each ? 1 : undefined },
          abort.signal,
        ),
      );
      this.painted = "";
    } catch (e) {
      if (!isAbort(e)) p.tile = null;
    } finally {
      if (p.abort === abort) p.abort = null;
      this.app.client.onChange();
      this.app.draw();
    }
  }

  /** draw moves the frame. It draws the strips again only if they or version have changed. */
  draw(version: string): void {
    if (this.resized) {
      this.resized = false;
      this.width = this.element.clientWidth;
      this.height = this.element.clientHeight;
    }
    const app = this.app,
      lanes = app.lanes,
      dpr = devicePixelRatio,
      W = Math.min(8192, Math.round(this.width * dpr)),
      H = Math.round(this.height * dpr);
    if (W <= 0 || lanes.length === 0) return;
    const limits = app.limits(),
      w = app.store.state.window;
    const a = fraction(limits, w.from),
      b = fraction(limits, w.to);
    this.frame.style.left = `${100 * a}%`;
    this.frame.style.width = `max(3px, ${100 * (b - a)}%)`;
    this.element.setAttribute("aria-valuenow", String(Math.round(50 * (a + b))));
    const each = byRow(app.store.state.color, app.store.state.highlight),
      margin = 2;
    // each trace gets the same height, and its horizontal position follows from the axis
    const top = (i: number): number => margin + Math.round((i * (H - 2 * margin)) / lanes.length);
    const parts = lanes.map((lane, i) => {
      const p = (this.parts[i] ??= { tile: null, key: "", abort: null }),
        local = lane.cut(limits),
        x0 = Math.round(W * fraction(limits, lane.toAxis(local.from))),
        x1 = Math.max(x0 + 1, Math.round(W * fraction(limits, lane.toAxis(local.to)))),
        width = Math.min(W, x1 - x0);
      const key = `${local.from} ${local.to} ${width} ${each}`;
      if (key !== p.key && app.pictured) {
        p.key = key;
        void this.fetch(p, lane, local, width, (top(i + 1) - top(i)) / dpr, each);
      }
      return { p, lane, x0, x1, y0: top(i), y1: top(i + 1) - (i + 1 < lanes.length ? gap : 0) };
    });
    const paint = `${version} ${parts.map((x) => `${x.p.key} ${x.x0} ${x.p.tile !== null}`).join(" ")} ${W} ${H}`;
    if (paint === this.painted) return;
    this.painted = paint;
    this.canvas.width = W;
    this.canvas.height = H;
    const g = this.canvas.getContext("2d", { alpha: false });
    if (!g) return;
    const image = new ImageData(W, H),
      bitmap: Bitmap = { width: W, height: H, pixels: new Uint32Array(image.data.buffer) };
    const bg = pack(app.colors.row);
    bitmap.pixels.fill(bg);
    for (const { p, lane, x0, x1, y0, y1 } of parts) {
      if (y1 < H - margin) fill(bitmap, { x: 0, y: y1, w: W, h: gap }, pack(app.colors.line));
      const tile = p.tile,
        strips = tile?.strips.filter((s) => s.kind === StripKind.spans) ?? [];
      if (!tile) continue;
      strips.forEach((strip, i) => {
        const y = y0 + Math.floor((i * (y1 - y0)) / strips.length),
          h = y0 + Math.floor(((i + 1) * (y1 - y0)) / strips.length) - y;
        drawSpans(
          bitmap,
          tile,
          strip,
          { x: x0, y, w: x1 - x0, h: Math.max(1, strips.length > 1 ? h - 1 : h) },
          lane.colors.byTrack(strip.track) ?? lane.colors.pixels,
          lane.colors.other,
          bg,
          { scale: (x1 - x0) / tile.width, offset: 0 },
        );
      });
    }
    g.putImageData(image, 0, 0);
  }
}
