// The time line of one trace. It has labels of rows on the left, pixels on the right, and a canvas
// above the pixels for names and marks.
import { ranges } from "./api";
import type { App } from "./app";
import { type Arrow, arrowAt, arrowRaster, depthAt, rasterArrows, type Segment, segments } from "./arrows";
import { el, name, printable } from "./dom";
import { ExtraRows } from "./extrarows";
import { type Hit, hitAt, hitRect } from "./hit";
import type { Lane } from "./lane";
import { nextFrame } from "./timers";
import { drawMarks, type Marks } from "./marks";
import { Names } from "./names";
import { paintRows } from "./paint";
import { drawCauses, drawWaits } from "./pathwaits";
import type { Pen } from "./pen";
import { type Bitmap, fill, pack } from "./raster";
import { RowLabels } from "./rowlabels";
import { type Row, rowAt } from "./rows";
import { RowView } from "./rowview";
import type { Layer } from "./tiles";
import type { Window } from "./time";

/** slowFrame is the duration of a frame, in milliseconds, above which names are drawn in the next frame. */
const slowFrame = 30;

/** A picture takes long to draw if it has more arrows than manyArrows and more pixels than manyPixels. */
const manyArrows = 400,
  manyPixels = 4000000;

/** sliceTime is the duration of a slice in which a part of the first picture is drawn, in milliseconds. */
const sliceTime = 8;

/** Timeline draws one lane. */
export class Timeline extends RowView implements Marks {
  readonly element: HTMLElement;
  readonly plot: HTMLElement;
  /**
   * shiftField is the input field for the shift of the trace on the axis. It is null if the page
   * has one trace.
   */
  readonly shiftField: HTMLInputElement | null;
  private scroller: HTMLElement;
  private spacer: HTMLElement;
  private labels: RowLabels;
  private names: Names;
  private extraRows: ExtraRows;
  private stickyBox: HTMLElement;
  private pixels: HTMLCanvasElement;
  private over: HTMLCanvasElement;
  private image: ImageData | null = null;
  private segs: Segment[] = [];
  /** hover is the hit under the pointer. pointer is the position of the pointer in CSS pixels. */
  hover: Hit | null = null;
  hoverLink: Segment | null = null;
  pointer: { x: number; y: number } | null = null;
  /** left and top are the position of the plot in the browser's window, in CSS pixels. */
  left = 0;
  top = 0;
  private resized = true;
  /**
   * next is the row at which the next slice of the first picture begins. It is null after that
   * picture has been drawn.
   */
  private next: number | null = null;
  /**
   * arrowsLater draws some of the arrows that the last picture lacks. It returns true when all have
   * been drawn.
   */
  private arrowsLater: (() => boolean) | null = null;
  /** drawn holds the window and the scroll position of the last picture. */
  private drawn: { window: Window | null; top: number } = { window: null, top: 0 };
  /** sharp is set if the last frame had the full resolution. */
  sharp = false;

  constructor(app: App, lane: Lane, title: string | null) {
    super(app, lane);
    this.pixels = el("canvas", { class: "pixels", hidden: true, aria: { hidden: true } });
    this.over = el("canvas", { class: "over", hidden: true, aria: { hidden: true } });
    this.plot = el(
      "div",
      {
        class: "plot",
        tabindex: 0,
        role: "application",
        aria: {
          label:
            "Time line of " +
            printable(lane.meta.name) +
            ". Arrow keys move the selection, W and S zoom, A and D pan, question mark lists all keys.",
        },
      },
      this.pixels,
      this.over,
    );
    this.labels = new RowLabels(app, this);
    this.names = new Names(this);
    this.extraRows = new ExtraRows(app, this);
    this.stickyBox = el("div", { class: "stick" }, this.labels.element, this.plot);
    this.spacer = el("div", { class: "spacer" }, this.stickyBox);
    this.scroller = el("div", { class: "scroller" }, this.spacer);
    this.shiftField =
      title === null
        ? null
        : el("input", {
            value: "0 s",
            title: "How far this trace is shifted: type a time, or drag with ctrl",
            aria: { label: "Shift of " + printable(title) },
          });
    this.element = el(
      "section",
      { class: "lane", aria: { label: "Trace " + printable(lane.meta.name) } },
      title === null
        ? null
        : el("div", { class: "lanetitle" }, name(title), el("span", { class: "faint" }, "shifted by"), this.shiftField),
      this.scroller,
      this.extraRows.element,
    );
    const watch = new ResizeObserver(() => {
      this.resized = true;
      app.draw();
    });
    watch.observe(this.scroller);
    watch.observe(this.plot);
    this.scroller.addEventListener(
      "scroll",
      () => {
        this.scrolled = this.scroller.scrollTop;
        if (this.scrolled !== this.restoredTop) this.saveTop();
        app.draw();
      },
      { passive: true },
    );
  }

  /** focusRow is the row that has the keyboard focus. */
  get focusRow(): number {
    return this.labels.focusRow;
  }
  set focusRow(i: number) {
    this.labels.focusRow = i;
  }

  /** segments holds the arrows of the last frame, in CSS pixels. */
  get segments(): readonly Segment[] {
    return this.segs;
  }

  /** scrollTop is the scroll position of the rows, in CSS pixels. */
  get scrollTop(): number {
    return this.scrolled;
  }
  set scrollTop(v: number) {
    if (v === this.scrolled) return;
    this.scroller.scrollTop = v;
    this.scrolled = this.scroller.scrollTop;
    this.saveTop();
  }
  // cached, because reading it from the element makes the browser compute the layout of the page
  private scrolled = 0;
  /**
   * restoredTop is the position to which restoreTop has scrolled. saveTop does not store it,
   * because the user did not choose it.
   */
  private restoredTop = 0;

  /** saveTop stores the first visible row in the state. */
  private saveTop(): void {
    this.restoredTop = -1;
    const own = `${this.lane.index}/`,
      top = this.app.store.state.top,
      others = top.split(",").filter((x) => x !== "" && !x.startsWith(own)),
      r = this.lane.rows[rowAt(this.lane.rows, this.scrolled)];
    this.app.store.set({
      top: (this.scrolled > 0 && r
        ? [...others, `${own}${r.key}:${Math.floor(this.scrolled - r.y)}`].sort()
        : others
      ).join(","),
    });
  }

  /** restoreTop scrolls to the row that the state stores as the first visible one, if it stores one. */
  restoreTop(): void {
    const own = `${this.lane.index}/`,
      [key, above] = (this.app.store.state.top.split(",").find((x) => x.startsWith(own)) ?? "")
        .slice(own.length)
        .split(":");
    const r = key === "" ? null : this.lane.rows.find((x) => x.key === key);
    if (r === undefined) return;
    const y = r === null ? 0 : r.y + Math.min(Number(above), r.height - 1);
    if (y !== this.scrolled) {
      this.scroller.scrollTop = y;
      this.scrolled = this.scroller.scrollTop;
    }
    this.restoredTop = this.scrolled;
  }

  /** measure reads the size after the layout has changed. It returns whether the size has changed. */
  measure(): boolean {
    if (!this.resized) return false;
    this.resized = false;
    ({ left: this.left, top: this.top } = this.plot.getBoundingClientRect());
    const w = this.plot.clientWidth,
      h = this.scroller.clientHeight;
    const changed = w !== this.width || h !== this.height;
    this.width = w;
    this.height = h;
    if (changed) {
      this.stickyBox.style.height = h + "px";
      this.labels.invalidate();
    }
    return changed;
  }

  /** rowsChanged must be called after the lane has computed its rows again. */
  rowsChanged(): void {
    this.spacer.style.height = Math.max(this.height, this.lane.height) + "px";
    this.labels.invalidate();
    this.restoreTop();
  }

  /** scrollTo scrolls until a row is visible. */
  scrollTo(index: number): void {
    const r = this.lane.rows[index];
    if (!r) return;
    if (r.y < this.scrollTop) this.scrollTop = Math.max(0, r.y - 20);
    else if (r.y + r.height > this.scrollTop + this.height) this.scrollTop = r.y + r.height - this.height + 20;
  }

  /**
   * visible returns the index of the first visible row, and that of the row after the last visible
   * one. Rows that are at most `beyond` pixels away count as visible.
   */
  visible(beyond = 0): [number, number] {
    const rows = this.lane.rows;
    if (rows.length === 0) return [0, 0];
    const top = Math.max(0, this.scrollTop - beyond),
      bottom = this.scrollTop + this.height + beyond;
    const a = Math.max(0, rowAt(rows, top)),
      b = rowAt(rows, bottom);
    return [a, b < 0 ? rows.length : b + 1];
  }

  /** request requests the tiles and links for the visible part. */
  request(): void {
    if (this.width === 0) return; // the names of the rows fill a narrow window
    const s = this.app.store.state,
      dpr = devicePixelRatio;
    const [a, b] = this.visible(this.height / 3);
    const w = this.lane.local(s.window);
    this.requestOverlays();
    this.extraRows.request();
    this.lane.tiles.show({
      window: w,
      width: Math.round(this.width * dpr),
      rows: this.lane.rows.slice(a, b),
      depths: s.levels,
    });
    if (s.arrows !== "off" && this.lane.meta.links > 0) {
      const [c, d] = this.visible();
      const tracks = new Set<number>();
      for (let i = c; i < d; i++) {
        const r = this.lane.rows[i];
        if (r.track >= 0) tracks.add(r.track);
        else r.members.forEach((m) => tracks.add(m));
      }
      this.lane.links.show(
        this.lane.cut(s.window),
        Math.round(this.width),
        [...tracks].sort((x, y) => x - y),
        s.arrows === "on",
      );
    }
  }

  /** requestOverlays requests the overlays for the visible part. */
  private requestOverlays(): void {
    const s = this.app.store.state,
      o = this.lane.overlays;
    if (s.showPath) o.path.show(this.lane.cut(s.window), Math.round(this.width));
    if (s.showWaits) {
      const [a, b] = this.visible();
      const tracks = this.lane.rows.slice(a, b).flatMap((r) => (r.track >= 0 ? [r.track] : []));
      // the server would take an empty list of tracks to mean all tracks
      if (tracks.length > 0)
        o.waits.show(this.lane.cut(s.window), Math.round(this.width), ranges(tracks.sort((x, y) => x - y)));
    }
  }

  /** draw draws the picture. */
  draw(): void {
    const dpr = devicePixelRatio,
      W = Math.round(this.width * dpr),
      H = Math.round(this.height * dpr);
    if (W <= 0 || H <= 0) return;
    this.extraRows.draw();
    const begins = this.pixels.hidden;
    // it takes long to allocate the memory for a large picture, so each frame allocates a part of it,
    // while the first tiles are being requested
    if (begins && (this.allocate(W, H) || this.lane.tiles.empty)) {
      const [a, b] = this.visible();
      this.labels.draw(a, b);
      return;
    }
    while (this.allocate(W, H));
    this.pixels.hidden = false;
    const g = this.pixels.getContext("2d", { alpha: false });
    if (!g || !this.image) return;
    const b: Bitmap = { width: W, height: H, pixels: new Uint32Array(this.image.data.buffer) };
    const [first, end] = this.visible();
    if (begins) this.next = first;
    const slices = this.next !== null;
    if (slices && this.slice(g, b, this.image, end, dpr)) {
      this.labels.draw(first, end);
      this.app.draw();
      return;
    }
    const begin = performance.now(),
      w = this.app.store.state.window,
      still = w === this.drawn.window && this.scrollTop === this.drawn.top;
    this.drawn = { window: w, top: this.scrollTop };
    // while nothing moves, draw the arrows and names of an expensive picture in a later frame
    const image = this.image,
      apart =
        still &&
        this.app.store.state.arrows !== "off" &&
        this.lane.links.arrows.length > manyArrows &&
        W * H > manyPixels;
    this.arrowsLater = apart ? this.inPieces(b, dpr, () => g.putImageData(image, 0, 0)) : null;
    this.sharp = this.paint(b, first, end, dpr, !apart);
    g.putImageData(image, 0, 0);
    this.labels.draw(first, end);
    if (slices || apart || (still && performance.now() - begin > slowFrame))
      nextFrame("names and arrows", () => this.app.draw(true));
    else this.drawOver();
  }

  /**
   * allocate allocates the memory for one part of the picture that has none yet, and requests
   * another frame. It returns false if all parts have memory.
   */
  private allocate(W: number, H: number): boolean {
    const size = (cv: HTMLCanvasElement): boolean => {
      if (cv.width === W && cv.height === H) return false;
      cv.width = W;
      cv.height = H;
      cv.style.width = this.width + "px";
      cv.style.height = this.height + "px";
      return true;
    };
    let took = !this.image || this.image.width !== W || this.image.height !== H;
    if (took) this.image = new ImageData(W, H);
    else if ((took = size(this.pixels))) {
      const g = this.pixels.getContext("2d", { alpha: false });
      if (g) {
        g.fillStyle = this.app.colors.background;
        g.fillRect(0, 0, W, H);
      }
    } else if ((took = size(this.over))) this.over.getContext("2d")?.clearRect(0, 0, W, H);
    if (took) this.app.draw();
    return took;
  }

  /**
   * slice draws rows of the first picture for the duration of a slice, without names and arrows. It
   * returns whether rows remain. Until the browser has compiled the code, drawing is slow, and
   * drawing all rows at once would block the page.
   */
  private slice(g: CanvasRenderingContext2D, b: Bitmap, image: ImageData, end: number, dpr: number): boolean {
    const begin = performance.now(),
      from = this.next ?? end,
      rows = this.lane.rows,
      bottom = (i: number): number =>
        Math.max(0, Math.min(b.height, Math.round((rows[i].y + rows[i].height - this.scrollTop) * dpr)));
    this.sharp = false;
    let i = from,
      y0 = from > 0 && from <= rows.length ? bottom(from - 1) : 0;
    for (; i < end && (i === from || performance.now() - begin < sliceTime); i++) {
      const y1 = bottom(i);
      fill(b, { x: 0, y: y0, w: b.width, h: y1 - y0 }, pack(this.app.colors.background));
      paintRows(this.app, this, b, i, i + 1, dpr);
      g.putImageData(image, 0, 0, 0, y0, b.width, y1 - y0);
      y0 = y1;
    }
    if (i === from) {
      this.next = null;
      return false;
    }
    this.next = i;
    return true;
  }

  /**
   * paint draws the rows from first to end − 1 into a bitmap. It returns whether all of them have
   * the full resolution.
   */
  paint(b: Bitmap, first: number, end: number, dpr: number, arrows = true): boolean {
    b.pixels.fill(pack(this.app.colors.background));
    const sharp = paintRows(this.app, this, b, first, end, dpr);
    if (arrows) this.drawArrows(b, dpr);
    return sharp;
  }

  /**
   * inPieces returns a function for arrowsLater that draws the arrows in pieces. It calls done
   * after all have been drawn.
   */
  private inPieces(b: Bitmap, dpr: number, done: () => void): () => boolean {
    let raster: ((until: number) => boolean) | null = null;
    return () => {
      const until = performance.now() + 2 * sliceTime;
      if (!raster) {
        this.segs = this.place(this.lane.links.arrows);
        raster = arrowRaster(b, this.segs, pack(this.app.colors.mark), dpr);
      }
      if (!raster(until)) return false;
      done();
      return true;
    };
  }

  private drawArrows(b: Bitmap, dpr: number): void {
    this.segs = this.app.store.state.arrows !== "off" ? this.place(this.lane.links.arrows) : [];
    if (this.segs.length > 0) rasterArrows(b, this.segs, pack(this.app.colors.mark), dpr);
  }

  /** painted reports whether all visible rows are drawn, and no better tiles are expected. */
  get painted(): boolean {
    return this.next === null && !this.lane.tiles.pending;
  }

  /**
   * place returns the arrows for some links. If the cached tiles determine the spans at the ends of
   * a link, the arrow ends at these spans.
   */
  place(arrows: readonly Arrow[]): Segment[] {
    const lane = this.lane,
      dpr = devicePixelRatio,
      tops = new Map<Row, Layer | undefined>(),
      stacks = new Map<Row, ReturnType<RowView["pieces"]>>();
    const end = (r: Row, track: number, time: bigint, ends: boolean): number | null => {
      if (r.track !== track || r.strips === 0) return null;
      if (!tops.has(r)) tops.set(r, this.sharpest(r));
      const l = tops.get(r);
      if (!l) return null;
      const x = this.x(lane.toAxis(time)) * dpr,
        column = (x - l.offset) / l.scale,
        resource = lane.meta.tracks[track].kind === "resource";
      const strips = l.entry.strips.filter((s) => s.depth < r.strips),
        depth = depthAt(l.entry.tile, strips, column, !resource, ends);
      if (depth < 0) return null;
      const pad = r.stripHeight >= 8 ? 2 : 1;
      if (!r.stacked) return pad + (depth + 0.5) * r.stripHeight;
      if (!stacks.has(r)) stacks.set(r, this.pieces(r, l, dpr));
      const p = stacks.get(r)?.pieces.find((q) => q.depth === depth && (ends ? q.x + q.n >= x - 1 : q.x + q.n > x + 1));
      return p && p.x <= x + 1 ? pad + (p.y + p.h / 2) / dpr : null;
    };
    return segments(
      arrows,
      lane.rows,
      lane.rowOf,
      (t) => this.x(lane.toAxis(t)),
      this.scrollTop,
      this.width,
      this.height,
      end,
    );
  }

  /** focusLabel moves the keyboard focus to the label of row i. */
  focusLabel(i: number): void {
    this.focusRow = Math.max(0, Math.min(this.lane.rows.length - 1, i));
    this.scrollTo(this.focusRow);
    const [a, b] = this.visible();
    this.labels.draw(a, b);
    this.labels.focus();
    this.app.draw();
  }

  /** drawOver draws only names and marks. That is enough if nothing but the pointer has moved. */
  drawOver(): void {
    if (this.arrowsLater && !this.arrowsLater()) {
      this.app.draw(true);
      return;
    }
    this.arrowsLater = null;
    const [first, end] = this.visible(),
      dpr = devicePixelRatio,
      w = this.app.store.state.window;
    const g = this.over.getContext("2d");
    if (!g) return;
    // hide the canvas while it is empty, because the browser copies a visible canvas in each frame
    if (this.over.hidden) this.over.hidden = false;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.over.width, this.over.height);
    g.scale(dpr, dpr);
    this.drawHatching(g, dpr);
    this.drawNames(g, first, end, dpr, w);
    this.drawWaitCauses(g, dpr);
    this.drawMarks(g, dpr);
  }

  /** drawHatching hatches waiting times. It runs before the names are drawn, so that they stay readable. */
  drawHatching(g: CanvasRenderingContext2D, dpr: number): void {
    const waits = this.app.store.state.showWaits ? this.lane.overlays.waits.data : null,
      c = this.app.colors;
    if (waits) drawWaits(this, waits, g, dpr, c.select, c.background);
  }

  /** drawWaitCauses draws arrows from the causes of waits to the waits, over the names. */
  drawWaitCauses(g: CanvasRenderingContext2D, dpr: number): void {
    const waits = this.app.store.state.showWaits ? this.lane.overlays.waits.data : null,
      c = this.app.colors;
    if (waits) drawCauses(this, waits, g, dpr, c.select, c.background);
  }

  /** drawNames writes the names of regions into the spans of the rows from first to end − 1. */
  drawNames(g: Pen, first: number, end: number, dpr: number, w: Window): void {
    this.names.draw(g, first, end, dpr, w, this.app.store.state.showWaits);
  }

  /** drawMarks draws the range, notes, measured time, selection and arrows over the spans. */
  drawMarks(g: CanvasRenderingContext2D, dpr: number): void {
    drawMarks(this.app, this, this, g, dpr);
  }

  /** hit returns what lies under a point, given in CSS pixels of the plot. */
  hit(x: number, y: number): Hit | null {
    return hitAt(this.app, this, x, y);
  }

  /** selectedSpan is the exact extent of the selection in axis ticks, once the server has sent it. */
  selectedSpan: Window | null = null;

  /** linkAt returns the arrow that a click at a point selects, or null. h is the hit at the same point. */
  linkAt(x: number, y: number, h: Hit | null): Segment | null {
    if (this.segs.length === 0) return null;
    const own = h !== null && h.track >= 0 && (h.kind === "span" || h.kind === "instant");
    return arrowAt(
      this.segs,
      x,
      y,
      own ? { w: Math.min(this.width, h.x1) - Math.max(0, h.x0), h: hitRect(this, h).h } : null,
    );
  }
}
