// The time line of one trace: labels of rows at the left, pixels at the right, names and marks on a canvas above them.
import type { TrackInfo } from "./api";
import type { App } from "./app";
import {
  type Arrow,
  arrowAt,
  arrowRaster,
  depthAt,
  drawAlone,
  drawArrow,
  rasterArrows,
  type Segment,
  segments,
} from "./arrows";
import { ink, unpack } from "./colors";
import { brief, count, el, name, printable, setText } from "./dom";
import type { Lane } from "./lane";
import { nextFrame } from "./later";
import { type Bitmap, blend, drawCurve, drawInstants, drawSpans, fill, pack, type Rect } from "./raster";
import { type Rate, rateOf } from "./rate";
import { hiddenBelow, moreMark, moreWords, type Row, rowAt } from "./rows";
import { type Pen, write } from "./rulerbar";
import { drawStack, outline, type Piece, pieceAt, stack } from "./stack";
import { type Grid, type Layer, rowKey } from "./tiles";
import { noRegion, RunFlag, runAt, type Strip, StripKind, type Tile } from "./tile";
import { floorDiv, seconds, type Window } from "./time";
import { at, fraction, tickAt } from "./view";

/** Hit is what lies under a point of the time line. */
export interface Hit {
  row: Row;
  track: number;
  /** depth of the strip; -1 for an instant, -2 for a curve or nothing. */
  depth: number;
  kind: "span" | "instant" | "curve" | "empty";
  region: number;
  single: boolean;
  share: number;
  cover: number;
  count: number;
  /** left and right edge in CSS pixels; start and end tell whether they are the span's own. */
  x0: number;
  x1: number;
  begins: boolean;
  ends: boolean;
  /** time under the pointer in the trace's own ticks; middle is a time within what was hit. */
  time: bigint;
  middle: bigint;
  low: number;
  high: number;
  /** rate says that low and high are those of a rate, per second. */
  rate?: boolean;
  /** around is the outline of a claim in a stack, in CSS pixels. */
  around?: [number, number][];
}

/** leastEdges is how high a row is that has room for the values at both edges of its curve. */
export const leastEdges = 24;

/** long is how many milliseconds a picture may take that its names are drawn with at once. */
const long = 30;

/** manyArrows and manyPixels are how many take long together. */
const manyArrows = 400,
  manyPixels = 4000000;

/** sliceTime is how long a slice of the first picture may take, in milliseconds. */
const sliceTime = 8;

/** Timeline draws one lane. */
export class Timeline {
  readonly element: HTMLElement;
  readonly plot: HTMLElement;
  /** shiftField holds how far the trace is shifted on the axis, where there are several. */
  readonly shiftField: HTMLInputElement | null;
  private scroller: HTMLElement;
  private spacer: HTMLElement;
  private labels: HTMLElement;
  private stick: HTMLElement;
  private pixels: HTMLCanvasElement;
  private over: HTMLCanvasElement;
  private image: ImageData | null = null;
  private labelBox: HTMLElement;
  /** below says that there are rows beyond the lower edge; scroll bars may be hidden. */
  private below: HTMLElement;
  private labelKey = "";
  private labelTop = 0;
  /** rates are the rows that show a rate, as of the choices in rated. */
  private rates = "";
  private rated: ReadonlyMap<string, string> | null = null;
  private labelOf = new Map<number, HTMLElement>();
  private segs: Segment[] = [];
  private stacks = new Map<string, { key: string; tile: Tile; pieces: Piece[] }>();
  private textWidth = new Map<string, number>();
  /** hover is what the pointer is over; the pointer's place in CSS pixels. */
  hover: Hit | null = null;
  hoverLink: Segment | null = null;
  pointer: { x: number; y: number } | null = null;
  /** width and height of the plot in CSS pixels, and its place in the window. */
  width = 0;
  height = 0;
  left = 0;
  top = 0;
  private resized = true;
  /** next is the row where the next slice of the first picture begins; null once that is there. */
  private next: number | null = null;
  /** arrowsLater draws some of the arrows that the last picture lacks; it tells whether these were the last. */
  private arrowsLater: (() => boolean) | null = null;
  /** drawn is what the last picture was of. */
  private drawn: { window: Window | null; top: number } = { window: null, top: 0 };
  /** sharp tells whether the last frame was drawn at full resolution. */
  sharp = false;
  /** focusRow is the row the keyboard is on. */
  focusRow = 0;

  constructor(
    private app: App,
    readonly lane: Lane,
    title: string | null,
  ) {
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
    this.labelBox = el("div", {
      class: "labelbox",
      role: "tree",
      aria: { label: "Rows of " + printable(lane.meta.name) },
    });
    this.below = el("div", { class: "below", hidden: true, aria: { hidden: true } });
    this.labels = el("div", { class: "labels" }, this.labelBox, this.below);
    this.stick = el("div", { class: "stick" }, this.labels, this.plot);
    this.spacer = el("div", { class: "spacer" }, this.stick);
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
        if (this.scrolled !== this.held) this.tell();
        app.draw();
      },
      { passive: true },
    );
  }

  /** arrows are those of the last frame, in CSS pixels. */
  get arrows(): readonly Segment[] {
    return this.segs;
  }

  /** scrollTop is how far the rows are scrolled, in CSS pixels. */
  get scrollTop(): number {
    return this.scrolled;
  }
  set scrollTop(v: number) {
    if (v === this.scrolled) return;
    this.scroller.scrollTop = v;
    this.scrolled = this.scroller.scrollTop;
    this.tell();
  }
  // asking the element each time would make the browser lay out the page many times a frame
  private scrolled = 0;
  /** held is where hold has scrolled to; that is told by nobody's hand. */
  private held = 0;

  /** tell puts into the state which row is the first one seen. */
  private tell(): void {
    this.held = -1;
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

  /** hold scrolls to the row that the state says is the first one seen; where that is gone all stays. */
  hold(): void {
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
    this.held = this.scrolled;
  }

  /** measure takes the size from the layout where that has changed; it tells whether it did. */
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
      this.stick.style.height = h + "px";
      this.labelKey = "";
    }
    return changed;
  }

  /** rowsChanged is to be called after the lane's rows were made anew. */
  rowsChanged(): void {
    this.spacer.style.height = Math.max(this.height, this.lane.height) + "px";
    this.labelKey = "";
    this.hold();
  }

  /** scrollTo brings a row into view. */
  scrollTo(index: number): void {
    const r = this.lane.rows[index];
    if (!r) return;
    if (r.y < this.scrollTop) this.scrollTop = Math.max(0, r.y - 20);
    else if (r.y + r.height > this.scrollTop + this.height) this.scrollTop = r.y + r.height - this.height + 20;
  }

  /** visible gives the indexes of the first row on the screen and of the one after the last, with some beyond. */
  visible(beyond = 0): [number, number] {
    const rows = this.lane.rows;
    if (rows.length === 0) return [0, 0];
    const top = Math.max(0, this.scrollTop - beyond),
      bottom = this.scrollTop + this.height + beyond;
    const a = Math.max(0, rowAt(rows, top)),
      b = rowAt(rows, bottom);
    return [a, b < 0 ? rows.length : b + 1];
  }

  /** x is where an axis time lies, in CSS pixels. */
  x(t: bigint): number {
    return fraction(this.app.store.state.window, t) * this.width;
  }
  /** tickAt is the tick of the axis that a CSS pixel lies in: what is there holds that. */
  tickAt(x: number): bigint {
    return tickAt(this.app.store.state.window, x, this.width);
  }
  /** timeAt is the axis time that is nearest to a CSS pixel, for edges of stretches. */
  timeAt(x: number): bigint {
    return at(this.app.store.state.window, x / Math.max(1, this.width));
  }

  /** request tells the caches what is visible. */
  request(): void {
    const s = this.app.store.state,
      dpr = devicePixelRatio;
    const [a, b] = this.visible(this.height / 3);
    const w = this.lane.local(s.window);
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

  /** stripRect is where a strip of a row is drawn, in pixels of the canvas. */
  stripRect(r: Row, strip: Strip, dpr: number): { y: number; h: number } {
    const top = r.y - this.scrollTop,
      padTop = r.stripHeight >= 8 ? 2 : 1;
    const px = (v: number): number => Math.round(v * dpr);
    if (r.track < 0) return { y: px(top + 2), h: px(top + r.height - 2) - px(top + 2) };
    if (r.stacked && strip.kind !== StripKind.instants)
      return { y: px(top + padTop), h: px(top + padTop + r.extra) - px(top + padTop) };
    if (strip.kind === StripKind.curve || strip.kind === StripKind.amounts) {
      const y = top + padTop + r.strips * r.stripHeight;
      return { y: px(y) + 1, h: px(y + r.extra) - px(y) - 1 };
    }
    if (strip.kind === StripKind.instants) {
      const h = r.strips > 0 ? r.stripHeight : r.height - 2 * padTop;
      return { y: px(top + padTop), h: px(top + padTop + h) - px(top + padTop) - (r.strips > 0 ? 1 : 0) };
    }
    const y = top + padTop + strip.depth * r.stripHeight;
    const gap = r.stripHeight >= 8 ? 1 : 0;
    return { y: px(y), h: Math.max(1, px(y + r.stripHeight) - px(y) - gap) };
  }

  /** draw makes the picture. */
  draw(): void {
    const dpr = devicePixelRatio,
      W = Math.round(this.width * dpr),
      H = Math.round(this.height * dpr);
    if (W <= 0 || H <= 0) return;
    const begins = this.pixels.hidden;
    // a large picture takes its time: memory is taken piece by piece, a frame each, while the first tiles are on their way
    if (begins && (this.take(W, H) || this.lane.tiles.empty)) {
      const [a, b] = this.visible();
      this.drawLabels(a, b);
      return;
    }
    while (this.take(W, H));
    this.pixels.hidden = false;
    const g = this.pixels.getContext("2d", { alpha: false });
    if (!g || !this.image) return;
    const b: Bitmap = { width: W, height: H, pixels: new Uint32Array(this.image.data.buffer) };
    const [first, end] = this.visible();
    if (begins) this.next = first;
    const slices = this.next !== null;
    if (slices && this.slice(g, b, this.image, end, dpr)) {
      this.drawLabels(first, end);
      this.app.draw();
      return;
    }
    const begin = performance.now(),
      w = this.app.store.state.window,
      still = w === this.drawn.window && this.scrollTop === this.drawn.top;
    this.drawn = { window: w, top: this.scrollTop };
    // where nothing moves arrows and names may come a frame later, if the picture takes its time
    const image = this.image,
      apart =
        still &&
        this.app.store.state.arrows !== "off" &&
        this.lane.links.arrows.length > manyArrows &&
        W * H > manyPixels;
    this.arrowsLater = apart ? this.inPieces(b, dpr, () => g.putImageData(image, 0, 0)) : null;
    this.sharp = this.paint(b, first, end, dpr, !apart);
    g.putImageData(image, 0, 0);
    this.drawLabels(first, end);
    if (slices || apart || (still && performance.now() - begin > long))
      nextFrame("names and arrows", () => this.app.draw(true));
    else this.drawOver();
  }

  /** take takes memory for a part of a picture; it tells whether there was one without, and has another frame drawn. */
  private take(W: number, H: number): boolean {
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
   * slice paints rows of the first picture as long as a frame has time, and tells whether there were any left. That
   * picture is painted while nothing is warm and would hold up the page; names and arrows come behind it.
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
      this.paintRows(b, i, i + 1, dpr);
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

  /** paint rasterises rows first to end into a bitmap; it tells whether all of it is at full resolution. */
  paint(b: Bitmap, first: number, end: number, dpr: number, arrows = true): boolean {
    b.pixels.fill(pack(this.app.colors.background));
    const sharp = this.paintRows(b, first, end, dpr);
    if (arrows) this.drawArrows(b, dpr);
    return sharp;
  }

  /** inPieces is drawArrows a piece at a time; done is called when all are drawn. */
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

  /** paintRows is paint on a bitmap that holds the background already, without arrows. */
  private paintRows(b: Bitmap, first: number, end: number, dpr: number): boolean {
    const c = this.app.colors,
      lane = this.lane,
      s = this.app.store.state;
    const bg = pack(c.background),
      groupBG = pack(c.row),
      line = pack(c.line),
      mark = pack(c.mark),
      curve = pack(c.curve),
      amount = blend(curve, bg, 110),
      behind = pack(c.line);
    const w = lane.local(s.window);
    let sharp = true;
    for (let i = first; i < end; i++) {
      const r = lane.rows[i];
      const y0 = Math.round((r.y - this.scrollTop) * dpr),
        y1 = Math.round((r.y + r.height - this.scrollTop) * dpr);
      const rowBG = r.track < 0 ? groupBG : bg;
      if (r.track < 0) fill(b, { x: 0, y: y0, w: b.width, h: y1 - y0 }, groupBG);
      fill(b, { x: 0, y: y1 - 1, w: b.width, h: 1 }, line);
      const key = rowKey(r);
      if (key === null) continue;
      const l = lane.tiles.layers(key, w, b.width);
      if (!l.sharp) sharp = false;
      const colors = lane.colors.byTrack(r.track >= 0 ? r.track : r.members[0]) ?? lane.colors.pixels;
      l.layers.forEach((layer, n) => {
        const x0 = Math.max(0, Math.floor(layer.offset)),
          x1 = Math.min(b.width, Math.ceil(layer.offset + layer.scale * layer.entry.grid.width));
        if (x1 <= x0) return;
        if (n > 0) fill(b, { x: x0, y: y0, w: x1 - x0, h: y1 - 1 - y0 }, rowBG);
        const m = { scale: layer.scale, offset: layer.offset - x0 };
        // the amount lies behind a stack: it shows what lanes beyond the chosen levels hold
        const strips = r.stacked ? layer.entry.strips.filter((x) => x.kind !== StripKind.spans) : layer.entry.strips;
        for (const strip of strips) {
          if (strip.kind === StripKind.spans && r.track >= 0 && strip.depth >= r.strips) continue;
          // amounts are no region's: a pale tone keeps them apart from the claims
          if (strip.kind === StripKind.amounts && r.extra === 0) continue;
          const { y, h } = this.stripRect(r, strip, dpr);
          const rect = { x: x0, y, w: x1 - x0, h };
          if (strip.kind === StripKind.spans)
            drawSpans(b, layer.entry.tile, strip, rect, colors, lane.colors.other, rowBG, m, Math.round(3 * dpr));
          else if (strip.kind === StripKind.instants) drawInstants(b, layer.entry.tile, strip, rect, mark, m);
          else {
            const t = lane.meta.tracks[r.track],
              rate = strip.kind === StripKind.curve && t.kind === "counter" ? this.rate(r, layer, strip) : null;
            if (rate) {
              const edges = l.layers[l.layers.length - 1].entry,
                own = edges.strips.find((x) => x.kind === StripKind.curve),
                scale = own ? (this.rate(r, l.layers[l.layers.length - 1], own) ?? rate) : rate;
              drawCurve(b, rate.tile, rate.strip, rect, curve, scale, false, m);
              continue;
            }
            const scale =
              strip.kind === StripKind.curve
                ? { low: t.low, high: t.high }
                : { low: 0, high: t.capacity > 0 ? t.capacity : greatest(layer, strip) || 1 };
            drawCurve(
              b,
              layer.entry.tile,
              strip,
              rect,
              r.stacked ? behind : strip.kind === StripKind.amounts ? amount : curve,
              scale,
              strip.kind === StripKind.amounts,
              m,
            );
          }
        }
        if (r.stacked) {
          const x = this.stackOf(r, layer, dpr, x0, x1);
          if (x) drawStack(b, layer.entry.tile, x.lanes, x.box, colors, lane.colors.other, m, Math.round(dpr));
        }
      });
    }
    return sharp;
  }

  /** rate is the rate of a counter, per second, if its row shows that. */
  private rate(r: Row, layer: Layer, strip: Strip): Rate | null {
    const g = layer.entry.grid;
    return this.app.store.state.choices.has(rateKey(this.lane.index, r.track))
      ? rateOf(layer.entry.tile, strip, seconds(g.to - g.from, this.lane.clock) / g.width)
      : null;
  }

  /** edges are the values at the upper and lower edge of a row's curve, or rate, or stack; null where there is none. */
  edges(r: Row): { high: string; low: string } | null {
    const t = r.track >= 0 ? this.lane.meta.tracks[r.track] : undefined;
    if (t?.kind === "counter" && this.app.store.state.choices.has(rateKey(this.lane.index, r.track))) {
      const l = this.sharpest(r),
        strip = l?.entry.strips.find((x) => x.kind === StripKind.curve),
        rate = l && strip ? this.rate(r, l, strip) : null,
        unit = t.unit && t.unit !== "#" ? " " + printable(t.unit) : "";
      return rate ? { high: `${compact(rate.high)}${unit}/s`, low: compact(rate.low) } : { high: "…", low: "" };
    }
    return edgesOf(r, t);
  }

  /** rateEdges writes the values at the edges of rates, which are those of what is seen. */
  private rateEdges(): void {
    for (const [i, e] of this.labelOf) {
      const r = this.lane.rows[i];
      if (!r || r.track < 0 || !this.app.store.state.choices.has(rateKey(this.lane.index, r.track))) continue;
      const edges = this.edges(r),
        boxes = e.querySelectorAll<HTMLElement>(".range [data-text]");
      [edges?.high ?? "", edges?.low ?? ""].forEach((text, k) => {
        if (boxes[k] && boxes[k].dataset.text !== text) boxes[k].dataset.text = text;
      });
    }
  }

  /** stackOf is the lanes of a stacked row that are shown, and the box they lie in, between two pixels. */
  private stackOf(r: Row, layer: Layer, dpr: number, x0: number, x1: number): { lanes: Strip[]; box: Rect } | null {
    const lanes = layer.entry.strips.filter((x) => x.kind === StripKind.spans && x.depth < r.strips);
    return lanes.length === 0 ? null : { lanes, box: { x: x0, ...this.stripRect(r, lanes[0], dpr), w: x1 - x0 } };
  }

  /** pieces are the claims of a stacked row, and the box they lie in. */
  private pieces(r: Row, layer: Layer, dpr: number): { pieces: Piece[]; box: Rect } | null {
    const x = this.stackOf(r, layer, dpr, 0, Math.round(this.width * dpr));
    if (!x) return null;
    const { lanes, box } = x,
      key = `${layer.scale} ${layer.offset} ${box.w} ${box.h} ${lanes.length} ${dpr}`,
      held = this.stacks.get(r.key);
    if (held && held.tile === layer.entry.tile && held.key === key) return { pieces: held.pieces, box };
    const pieces = stack(layer.entry.tile, lanes, box, { scale: layer.scale, offset: layer.offset }, Math.round(dpr));
    if (this.stacks.size > 64) this.stacks.clear();
    this.stacks.set(r.key, { key, tile: layer.entry.tile, pieces });
    return { pieces, box };
  }

  /** sharpest is the tile that a row is drawn from last, the sharpest. */
  private sharpest(r: Row): Layer | undefined {
    const key = rowKey(r);
    if (key === null) return undefined;
    const { layers } = this.lane.tiles.layers(
      key,
      this.lane.local(this.app.store.state.window),
      Math.round(this.width * devicePixelRatio),
    );
    return layers[layers.length - 1];
  }

  /** painted tells whether all rows that are seen are on the screen, as far as their tiles are there. */
  get painted(): boolean {
    return this.next === null && !this.lane.tiles.pending;
  }

  /** place puts links on the screen, their ends at the spans that hold them where the tiles at hand tell which. */
  private place(arrows: readonly Arrow[]): Segment[] {
    const lane = this.lane,
      dpr = devicePixelRatio,
      tops = new Map<Row, Layer | undefined>(),
      stacks = new Map<Row, ReturnType<Timeline["pieces"]>>();
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

  private drawLabels(first: number, end: number): void {
    const rest = hiddenBelow(this.lane.rows, this.scrollTop + this.height),
      more = rest > 0 ? `▾ ${count(rest)} more ${rest === 1 ? "row" : "rows"}` : "";
    setText(this.below, more);
    if (this.below.hidden !== (more === "")) this.below.hidden = more === "";
    if (this.labelTop !== this.scrollTop) {
      this.labelTop = this.scrollTop;
      this.labelBox.style.transform = `translateY(${-this.scrollTop}px)`;
    }
    const choices = this.app.store.state.choices,
      rates = choices === this.rated ? null : [...choices.keys()].filter((k) => k.startsWith("rate.")).join();
    if (rates !== null) {
      this.rated = choices;
      if (rates !== this.rates) {
        this.rates = rates;
        this.labelKey = "";
      }
    }
    if (this.rates !== "") this.rateEdges();
    const key = `${first} ${end} ${this.focusRow}`;
    if (key === this.labelKey) return;
    const fresh = this.labelKey === "";
    this.labelKey = key;
    const focused = this.labels.contains(document.activeElement);
    if (fresh) {
      this.labelOf.clear();
      this.labelBox.replaceChildren();
    }
    for (const [i, e] of this.labelOf)
      if (i < first || i >= end) {
        e.remove();
        this.labelOf.delete(i);
      }
    // elements stand in the order of the rows, as screen readers follow it
    let before: ChildNode | null = this.labelBox.firstChild;
    for (let i = first; i < end; i++) {
      const held = this.labelOf.get(i);
      if (held) {
        held.tabIndex = i === this.focusRow ? 0 : -1;
        before = held.nextSibling;
        continue;
      }
      const r = this.lane.rows[i];
      const edges = r.height >= leastEdges ? this.edges(r) : null,
        arrow = r.expandable
          ? el("span", { class: "twist", aria: { hidden: true } }, r.collapsed ? "▸" : "▾")
          : el("span", { class: "twist" });
      const values = edges
        ? el(
            "span",
            { class: "range", aria: { hidden: true } },
            el("span", { data: { text: edges.high } }),
            el("span", { data: { text: edges.low } }),
          )
        : null;
      const hidden = moreWords(r);
      const more =
        hidden === ""
          ? null
          : el("span", {
              class: "more",
              title:
                r.more === 0
                  ? hidden
                  : r.deeper
                    ? `${hidden}: click to show ${r.more} of them`
                    : `${hidden}: click to show them`,
              data: { text: moreMark(r) },
              aria: { hidden: true },
            });
      const e = el(
        "div",
        {
          class: "label" + (r.track < 0 ? " group" : ""),
          role: "treeitem",
          tabindex: i === this.focusRow ? 0 : -1,
          data: { row: String(i) },
          title: `${printable(r.label)} (${printable(r.detail)})`,
          aria: {
            label: [
              r.label,
              r.detail,
              edges ? (edges.low === "" ? edges.high : `${edges.low} to ${edges.high}`) : "",
              hidden,
            ]
              .filter((x) => x !== "")
              .map(printable)
              .join(", "),
            level: r.level + 1,
            ...(r.expandable ? { expanded: !r.collapsed } : {}),
          },
          style: { top: r.y + "px", height: r.height + "px", "padding-left": 4 + 12 * r.level + "px" },
        },
        arrow,
        name(r.label, "text"),
        r.track < 0 ? " " : null,
        r.track < 0 ? el("span", { class: "detail" }, name(r.detail)) : null,
        more,
        values,
      );
      this.labelOf.set(i, e);
      this.labelBox.insertBefore(e, before);
    }
    if (focused)
      this.labels.querySelector<HTMLElement>(`[data-row="${this.focusRow}"]`)?.focus({ preventScroll: true });
  }

  /** focusLabel puts the keyboard on a row's label. */
  focusLabel(i: number): void {
    this.focusRow = Math.max(0, Math.min(this.lane.rows.length - 1, i));
    this.scrollTo(this.focusRow);
    const [a, b] = this.visible();
    this.drawLabels(a, b);
    this.labels.querySelector<HTMLElement>(`[data-row="${this.focusRow}"]`)?.focus({ preventScroll: true });
    this.app.draw();
  }

  /** drawOver draws names and marks alone; enough when only the pointer moved. */
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
    // a canvas that is shown is copied, which for a large one takes a frame's time
    if (this.over.hidden) this.over.hidden = false;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.over.width, this.over.height);
    g.scale(dpr, dpr);
    this.drawNames(g, first, end, dpr, w);
    this.drawMarks(g, dpr);
  }

  /** drawNames writes region names into spans wide enough for them; where these are too many, into the widest, wherever they are. */
  drawNames(g: Pen, first: number, end: number, dpr: number, w: Window): void {
    const lane = this.lane,
      lw = lane.local(w),
      most = Math.max(900, Math.round((this.width * this.height) / 1800));
    g.textBaseline = "middle";
    const widths = new Uint32Array(Math.ceil(this.width) + 1);
    let n = 0;
    this.namable(first, end, dpr, lw, (_, __, ___, x0, x1) => {
      widths[Math.floor(x1 - x0)]++;
      n++;
    });
    let least = 0;
    for (; n > most && least < widths.length; least++) n -= widths[least];
    let row: Row | null = null,
      size = 0,
      track: Uint32Array | null = null;
    this.namable(first, end, dpr, lw, (r, t, k, x0, x1, y, high) => {
      if (x1 - x0 < least) return;
      if (r !== row) {
        row = r;
        track = lane.colors.byTrack(r.track);
      }
      // on large screens names grow with the rows
      const own = Math.min(Math.max(12, 0.45 * r.stripHeight), Math.max(8.5, (r.stacked ? high : r.stripHeight) - 3));
      if (own !== size) {
        size = own;
        g.font = `${size}px system-ui, sans-serif`;
      }
      const region = lane.meta.regions[t.region[k]],
        text = region ? this.cut(g, brief(region.name), size, x1 - x0) : "";
      if (text === "") return;
      g.fillStyle = track ? ink(unpack(track[0])) : (lane.colors.ink[t.region[k]] ?? "#000");
      write(g, text, x0, y, y - high / 2, high, x1 - x0);
    });
  }

  /** namable visits the spans that have room for a name, and that room. */
  private namable(
    first: number,
    end: number,
    dpr: number,
    lw: Window,
    visit: (r: Row, t: Tile, run: number, x0: number, x1: number, y: number, high: number) => void,
  ): void {
    const lane = this.lane,
      width = Math.round(this.width * dpr);
    for (let i = first; i < end; i++) {
      const r = lane.rows[i],
        key = rowKey(r);
      if (key === null || r.track < 0 || r.stripHeight < 9) continue;
      const { layers } = lane.tiles.layers(key, lw, width);
      const l = layers[layers.length - 1];
      if (!l) continue;
      const t = l.entry.tile;
      for (const s of l.entry.strips) {
        if (s.kind !== StripKind.spans || s.depth >= r.strips || r.stacked) continue;
        const { y, h } = this.stripRect(r, s, dpr);
        for (let k = Math.max(s.first, firstFrom(t, s, (0 - l.offset) / l.scale)); k < s.first + s.count; k++) {
          const px = (t.x[k] * l.scale + l.offset) / dpr;
          if (px > this.width) break;
          const pw = (t.n[k] * l.scale) / dpr;
          if (pw < 26 || (t.flags[k] & RunFlag.single) === 0 || t.region[k] === noRegion) continue;
          const x0 = Math.max(0, px) + 3,
            x1 = Math.min(this.width, px + pw) - 3;
          if (x1 - x0 < 20) continue;
          const hh = Math.max(1, Math.floor((h * t.height[k] + 127) / 255)) / dpr;
          if (hh >= 8) visit(r, t, k, x0, x1, (y + h) / dpr - hh / 2 + 0.5, hh);
        }
      }
      // a name needs room: a row of many narrow runs has none
      const p =
        r.stacked && l.entry.strips.some((s) => s.kind === StripKind.spans && wide(t, s, (26 * dpr) / l.scale))
          ? this.pieces(r, l, dpr)
          : null;
      for (const q of p?.pieces ?? [])
        if (
          p &&
          q.n / dpr >= 26 &&
          q.h / dpr >= 10 &&
          (t.flags[q.run] & RunFlag.single) !== 0 &&
          t.region[q.run] !== noRegion
        )
          visit(r, t, q.run, q.x / dpr + 3, (q.x + q.n) / dpr - 3, (p.box.y + q.y + q.h / 2) / dpr + 1, q.h / dpr);
    }
  }

  private cut(g: Pen, text: string, size: number, room: number): string {
    const width = (of: string): number => {
      const key = size + of;
      let w = this.textWidth.get(key);
      if (w === undefined) {
        if (this.textWidth.size > 20000) this.textWidth.clear();
        w = g.measureText(of).width;
        this.textWidth.set(key, w);
      }
      return w;
    };
    const all = width(text);
    if (all <= room) return text;
    // letters are not equally wide: the first guess may be too long
    for (let n = Math.floor((text.length * (room - size * 0.8)) / all); n >= 2; n--) {
      const short = [...text].slice(0, n).join("") + "…";
      if (width(short) <= room) return short;
    }
    return "";
  }

  /** drawMarks draws what lies over the spans: range, notes, measure, selection, arrows, hover. */
  drawMarks(g: CanvasRenderingContext2D, dpr: number): void {
    const app = this.app,
      s = app.store.state,
      c = app.colors,
      lane = this.lane;
    const band = (w: Window, color: string): void => {
      const a = this.x(w.from),
        b = this.x(w.to);
      g.fillStyle = color;
      g.fillRect(a, 0, Math.max(1, b - a), this.height);
    };
    const line = (x: number, color: string, dash: number[] = [], width = 1): void => {
      g.strokeStyle = color;
      g.lineWidth = width;
      g.setLineDash(dash);
      g.beginPath();
      g.moveTo(Math.round(x) + 0.5, 0);
      g.lineTo(Math.round(x) + 0.5, this.height);
      g.stroke();
      g.setLineDash([]);
    };
    if (s.range) {
      band(s.range, c.range);
      line(this.x(s.range.from), c.accent);
      line(this.x(s.range.to), c.accent);
    }
    for (const n of app.notes.of(lane.index)) {
      const x = this.x(lane.toAxis(BigInt(n.from)));
      if (x >= -1 && x <= this.width) line(x, c.note, [2, 3]);
    }
    if (this.hoverLink && s.arrows !== "off") {
      const same = this.segs.find((x) => x.arrow === this.hoverLink?.arrow);
      if (same) drawArrow(g, same, c.mark);
    }
    const link = s.link ?? s.followed;
    if (link && link.lane === lane.index) {
      // one that never arrived goes from its begin to nowhere
      const l = link.link,
        start = BigInt(l.from.time),
        alone = l.alone === true || l.unsent === true;
      for (const x of this.place([
        {
          link: l.unsent ? { ...l, from: l.to } : alone ? { ...l, to: l.from } : l,
          start,
          end: alone ? start : BigInt(l.to.time),
        },
      ]))
        if (alone) drawAlone(g, x.x0, x.y0, c.accent);
        else drawArrow(g, x, c.accent);
    }
    const sel = s.selection;
    if (sel && sel.lane === lane.index) this.outlineSelection(g, sel.track, sel.depth, dpr);
    if (this.hover?.around) this.trace(g, this.hover.around, c.select, 1);
    else if (this.hover && this.hover.kind === "span" && this.hover.x1 - this.hover.x0 > 2) {
      const { y, h } = this.hitRect(this.hover);
      g.strokeStyle = c.select;
      g.globalAlpha = 0.6;
      g.lineWidth = 1;
      g.strokeRect(
        Math.max(-2, this.hover.x0) + 0.5,
        y + 0.5,
        Math.min(this.width + 2, this.hover.x1) - Math.max(-2, this.hover.x0) - 1,
        h - 1,
      );
      g.globalAlpha = 1;
    }
    if (s.place !== null) line(this.x(s.place), c.accent, [6, 3], 2);
    s.marks.forEach((m, i) => {
      if (m !== null)
        line(this.x(m), i === 0 ? "#d55e00" : "#009e73", s.loose.includes(String(i + 1)) ? [4, 4] : [], 1.5);
    });
    if (this.pointer) line(this.pointer.x, c.faint, [1, 3]);
  }

  /** trace strokes the outline of a claim in a stack. */
  private trace(g: CanvasRenderingContext2D, around: readonly [number, number][], color: string, width: number): void {
    g.strokeStyle = color;
    g.lineWidth = width;
    g.lineJoin = "round";
    g.beginPath();
    around.forEach(([x, y], i) => {
      if (i === 0) g.moveTo(x, y);
      else g.lineTo(x, y);
    });
    g.closePath();
    g.stroke();
  }

  /** around is the outline of a run of a stack in CSS pixels. */
  private around(p: { pieces: Piece[]; box: Rect }, run: number, dpr: number): [number, number][] {
    return outline(p.pieces, run).map(([x, y]) => [x / dpr, (p.box.y + y) / dpr]);
  }

  private hitRect(h: Hit): { y: number; h: number } {
    const r = h.row,
      top = r.y - this.scrollTop,
      pad = r.stripHeight >= 8 ? 2 : 1;
    return r.track < 0
      ? { y: top + 2, h: r.height - 4 }
      : { y: top + pad + h.depth * r.stripHeight, h: r.stripHeight - (r.stripHeight >= 8 ? 1 : 0) };
  }

  /** selectedSpan is the exact extent of the selection in axis ticks, set once the server has told. */
  selectedSpan: Window | null = null;

  private outlineSelection(g: CanvasRenderingContext2D, track: number, depth: number, dpr: number): void {
    const i = this.lane.rowOf.get(track),
      c = this.app.colors;
    const r = i === undefined ? undefined : this.lane.rows[i];
    if (!r || !this.app.store.state.selection) return;
    const top = r.y - this.scrollTop,
      pad = r.stripHeight >= 8 ? 2 : 1;
    const w = this.selectedSpan;
    const t = this.lane.toAxis(this.app.store.state.selection.time);
    const x0 = w ? this.x(w.from) : this.x(t),
      x1 = w ? this.x(w.to) : x0;
    const l = r.stacked && r.track === track ? this.sharpest(r) : undefined,
      p = l ? this.pieces(r, l, dpr) : null,
      at = Math.max(0, Math.min(this.width - 1, (x0 + x1) / 2)) * dpr;
    const piece = p?.pieces.find((q) => q.depth === depth && q.x <= at && at < q.x + q.n);
    if (p && piece) {
      const a = this.around(p, piece.run, dpr);
      this.trace(g, a, c.background, 4);
      this.trace(g, a, c.select, 2);
      return;
    }
    const own = !r.stacked && r.track === track && depth >= 0 && depth < r.strips;
    const y = own ? top + pad + depth * r.stripHeight : top + 1,
      h = own ? r.stripHeight : r.height - 2;
    const a = Math.max(-3, x0),
      b = Math.min(this.width + 3, Math.max(x1, x0 + 1.5));
    if (b < 0 || a > this.width) return;
    g.lineWidth = 4;
    g.strokeStyle = c.background;
    g.strokeRect(a - 1, y - 1, b - a + 2, h + 1);
    g.lineWidth = 2;
    g.strokeStyle = c.select;
    g.strokeRect(a - 1, y - 1, b - a + 2, h + 1);
  }

  /** linkAt is the arrow that a click at a point is for, where h lies. */
  linkAt(x: number, y: number, h: Hit | null): Segment | null {
    if (this.segs.length === 0) return null;
    const own = h !== null && h.track >= 0 && (h.kind === "span" || h.kind === "instant");
    return arrowAt(
      this.segs,
      x,
      y,
      own ? { w: Math.min(this.width, h.x1) - Math.max(0, h.x0), h: this.hitRect(h).h } : null,
    );
  }

  /** hit finds what lies under a point, in CSS pixels of the plot. */
  hit(x: number, y: number): Hit | null {
    const lane = this.lane,
      dpr = devicePixelRatio,
      width = Math.round(this.width * dpr);
    const i = rowAt(lane.rows, y + this.scrollTop);
    if (i < 0) return null;
    const r = lane.rows[i];
    const time = lane.toLocal(this.tickAt(x));
    const base: Hit = {
      row: r,
      track: r.track,
      depth: -2,
      kind: "empty",
      region: -1,
      single: false,
      share: 0,
      cover: 0,
      count: 0,
      x0: x,
      x1: x,
      begins: false,
      ends: false,
      time,
      middle: time,
      low: 0,
      high: 0,
    };
    const key = rowKey(r);
    if (key === null) return base;
    const { layers } = lane.tiles.layers(key, lane.local(this.app.store.state.window), width);
    const l = layers[layers.length - 1];
    if (!l) return base;
    const t = l.entry.tile,
      column = Math.floor((x * dpr - l.offset) / l.scale);
    const css = (col: number): number => (col * l.scale + l.offset) / dpr;
    const py = y * dpr;
    const middleOf = (x0: number, x1: number): bigint => {
      const a = Math.max(0, x0),
        b = Math.min(this.width, x1);
      return lane.toLocal(this.tickAt((a + b) / 2));
    };
    // the pixels of a span may begin a bit before it and end behind it: the time that is asked for is its own
    const own = (k: number, otherwise: bigint): bigint => within(l.entry.grid, t, k, otherwise);
    for (const s of l.entry.strips) {
      const { y: sy, h } = this.stripRect(r, s, dpr);
      if (py < sy || py > sy + h) continue;
      if (s.kind === StripKind.instants) {
        const k = runAt(t, s, column, Math.ceil((3 * dpr) / l.scale));
        const next = k >= 0 && k + 1 < s.first + s.count ? t.x[k + 1] - t.x[k] : 99;
        if (k >= 0 && (next * l.scale) / dpr > 8)
          return {
            ...base,
            kind: "instant",
            depth: -1,
            count: t.share[k],
            x0: css(t.x[k]),
            x1: css(t.x[k] + 1),
            middle: middleOf(css(t.x[k]), css(t.x[k] + 1)),
          };
      }
    }
    for (const s of l.entry.strips) {
      const { y: sy, h } = this.stripRect(r, s, dpr);
      if (py < sy - 1 || py > sy + h) continue;
      if (s.kind === StripKind.spans && r.stacked) {
        if (s.depth > 0) continue;
        const p = this.pieces(r, l, dpr),
          q = p ? pieceAt(p.pieces, Math.floor(x * dpr), Math.floor(py - p.box.y)) : null;
        if (!p || !q) continue;
        const k = q.run,
          single = (t.flags[k] & RunFlag.single) !== 0,
          x0 = css(t.x[k]),
          x1 = css(t.x[k] + t.n[k]);
        return {
          ...base,
          kind: "span",
          depth: q.depth,
          region: t.region[k] === noRegion ? -1 : t.region[k],
          single,
          share: t.share[k] / 255,
          cover: t.cover[k] / 255,
          x0,
          x1,
          begins: (t.flags[k] & RunFlag.begins) !== 0,
          ends: (t.flags[k] & RunFlag.ends) !== 0,
          middle: single ? own(k, time) : middleOf(x0, x1),
          around: this.around(p, k, dpr),
        };
      }
      if (s.kind === StripKind.spans) {
        if (r.track >= 0 && s.depth >= r.strips) continue;
        const k = runAt(t, s, column, Math.ceil(dpr / l.scale));
        if (k < 0) return { ...base, depth: s.depth };
        const x0 = css(t.x[k]),
          x1 = css(t.x[k] + t.n[k]);
        const single = (t.flags[k] & RunFlag.single) !== 0;
        return {
          ...base,
          kind: "span",
          depth: s.depth,
          region: t.region[k] === noRegion ? -1 : t.region[k],
          single,
          share: t.share[k] / 255,
          cover: t.cover[k] / 255,
          x0,
          x1,
          begins: (t.flags[k] & RunFlag.begins) !== 0,
          ends: (t.flags[k] & RunFlag.ends) !== 0,
          middle: single ? own(k, x >= x0 && x < x1 ? time : middleOf(x0, x1)) : middleOf(x0, x1),
        };
      }
      if ((s.kind === StripKind.curve || s.kind === StripKind.amounts) && r.extra > 0) {
        const rate = s.kind === StripKind.curve ? this.rate(r, l, s) : null,
          values = rate?.tile ?? t,
          at = rate?.strip ?? s;
        for (let k = at.first; k < at.first + at.count; k++)
          if (values.cellX[k] === column)
            return { ...base, kind: "curve", low: values.min[k], high: values.max[k], rate: rate !== null };
      }
    }
    return base;
  }
}

/** rateKey is the choice that a row shows the rate of its counter. */
export function rateKey(lane: number, track: number): string {
  return `rate.${String.fromCharCode(97 + (lane % 26))}${track}`;
}

/** edgesOf are the values at the upper and lower edge of a row's curve or stack, null where there is none. */
function edgesOf(r: Row, t: TrackInfo | undefined): { high: string; low: string } | null {
  if (!t || (t.kind !== "counter" && !r.stacked)) return null;
  return {
    high:
      compact(t.kind === "counter" ? t.high : t.capacity) + (t.unit && t.unit !== "#" ? " " + printable(t.unit) : ""),
    low: t.kind !== "counter" ? compact(0) : t.low === t.high ? "" : compact(t.low),
  };
}

/** within is a time in the span of a run: the given one if it may be, else the nearest that the run's columns are sure of. */
export function within(g: Grid, t: Pick<Tile, "x" | "n" | "flags">, run: number, time: bigint): bigint {
  const d = g.to - g.from,
    n = BigInt(g.width),
    before = (column: number): bigint => g.from + floorDiv(d * BigInt(column), n),
    behind = (column: number): bigint => g.from - floorDiv(-d * BigInt(column), n);
  const first = t.x[run],
    last = first + t.n[run] - 1,
    begins = (t.flags[run] & RunFlag.begins) !== 0,
    ends = (t.flags[run] & RunFlag.ends) !== 0;
  // it begins in its first column and ends in its last one
  const low = behind(first + 1) - 1n,
    high = before(last);
  if (begins && ends && low > high) return behind(first) === low ? low : time;
  return begins && time < low ? low : ends && time > high ? high : time;
}

function greatest(l: Layer, s: Strip): number {
  let v = 0;
  for (let i = s.first; i < s.first + s.count; i++) v = Math.max(v, l.entry.tile.max[i]);
  return v;
}

function firstFrom(t: { x: Uint16Array; n: Uint16Array }, s: Strip, column: number): number {
  let lo = s.first,
    hi = s.first + s.count;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (t.x[m] + t.n[m] <= column) lo = m + 1;
    else hi = m;
  }
  return lo;
}

/** wide tells whether a strip has a single span of some columns. */
function wide(t: Tile, s: Strip, columns: number): boolean {
  for (let i = s.first; i < s.first + s.count; i++)
    if (t.n[i] >= columns && (t.flags[i] & RunFlag.single) !== 0) return true;
  return false;
}

/** compact writes a value of a counter in few characters. */
export function compact(v: number): string {
  const a = Math.abs(v);
  if (a >= 1e4) {
    const e = Math.min(4, Math.floor(Math.log10(a) / 3));
    return (v / 1000 ** e).toPrecision(3) + ["", "k", "M", "G", "T"][e];
  }
  return a !== 0 && a < 0.01 ? v.toExponential(1) : String(Number(v.toPrecision(4)));
}
