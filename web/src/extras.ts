// Extras: results of analyses that are shown on the time line. They are marks over the rows of a lane,
// and additional rows below them. The user can remove them. The choices in the state determine which
// extras are shown, so the address of the page includes them.
import { errorText, isAbort } from "./api";
import type { App } from "./app";
import type { Colors } from "./colors";
import { shortenName, button, el, name, printable } from "./dom";
import { compact } from "./rowview";
import type { Lane } from "./lane";
import type { Pen } from "./pen";
import type { RowView } from "./rowview";
import { exact, type Window } from "./time";
import { windowAround } from "./view";

/**
 * Tone is the meaning of a bar or mark. For a formula, "good" means that it holds, and "bad" that
 * it does not.
 */
export type Tone = "good" | "bad" | "plain";

/**
 * tones holds the colour and the word for each tone. Most people with colour blindness can tell the
 * colours apart.
 */
export const tones: Readonly<Record<Tone, { color: string; word: string }>> = {
  good: { color: "#009e73", word: "holds" },
  bad: { color: "#d55e00", word: "does not hold" },
  plain: { color: "#0072b2", word: "" },
};

/** removeChoice removes a choice of a panel. As a result, the extras that it selects are no longer shown. */
export function removeChoice(app: App, choice: string): void {
  const choices = new Map(app.store.state.choices);
  choices.delete(choice);
  app.store.set({ choices });
}

/** Bar is an interval in a row, in ticks of the lane. Its text describes it. */
export interface Bar {
  from: bigint;
  to: bigint;
  tone: Tone;
  text: string;
}

/** Values holds the values of a curve in columns of equal width. A column without a value has null. */
export interface Values {
  from: bigint;
  to: bigint;
  min: readonly (number | null)[];
  max: readonly (number | null)[];
}

/** Curve is the curve in a row. low and high are the values at the lower and the upper edge of the row. */
export interface Curve {
  low: number;
  high: number;
  unit: string;
  /** values returns the values for the window that was requested last, or null before they arrive. */
  values: () => Values | null;
}

/** ExtraRow is a row that shows the result of an analysis: bars or a curve. */
export interface ExtraRow {
  label: string;
  level: number;
  bars: readonly Bar[];
  curve?: Curve;
}

/** Mark is an interval over the rows of a lane, in ticks of the lane. The track -1 stands for all rows. */
export interface Mark {
  track: number;
  from: bigint;
  to: bigint;
  tone: Tone;
}

/** Extra holds the rows and marks that a source shows in a lane. */
export interface Extra {
  lane: number;
  title: string;
  rows: readonly ExtraRow[];
  marks: readonly Mark[];
  /** request requests the values of the curves in a window of the lane. */
  request?: (w: Window, width: number) => void;
}

/**
 * Source makes the extras of a panel. key returns a text that identifies the extras that the
 * choices in the state select, or "" if they select none. load computes these extras. remove
 * changes the choices so that they select none.
 */
export interface Source {
  id: string;
  key(app: App): string;
  load(app: App, signal: AbortSignal, changed: () => void): Promise<readonly Extra[]>;
  remove(app: App): void;
}

/** Extras holds the extras of all sources. */
export class Extras {
  private keys = new Map<string, string>();
  private held = new Map<string, readonly Extra[]>();
  private aborts = new Map<string, AbortController>();
  /** version changes whenever the extras change, and data whenever the values of curves change. */
  version = 0;
  data = 0;

  constructor(
    private app: App,
    private sources: readonly Source[],
    private changed: () => void,
  ) {}

  /** follow loads the extras that the choices in the state select, and removes all others. */
  follow(): void {
    for (const s of this.sources) {
      const key = s.key(this.app);
      if (key === (this.keys.get(s.id) ?? "")) continue;
      this.keys.set(s.id, key);
      this.aborts.get(s.id)?.abort();
      if (key === "") this.put(s.id, []);
      else void this.load(s, key);
    }
  }

  private async load(s: Source, key: string): Promise<void> {
    const abort = new AbortController();
    this.aborts.set(s.id, abort);
    try {
      const extras = await s.load(this.app, abort.signal, () => {
        this.data++;
        this.changed();
      });
      if (this.keys.get(s.id) === key) this.put(s.id, extras);
    } catch (e) {
      if (isAbort(e) || this.keys.get(s.id) !== key) return;
      this.put(s.id, []);
      this.app.announce(errorText(e));
    }
  }

  private put(id: string, extras: readonly Extra[]): void {
    this.held.set(id, extras);
    this.version++;
    this.changed();
  }

  /** inLane lists the extras of a lane, each with its source. */
  inLane(lane: number): { source: Source; extra: Extra }[] {
    return this.sources.flatMap((source) =>
      (this.held.get(source.id) ?? []).filter((x) => x.lane === lane).map((extra) => ({ source, extra })),
    );
  }

  /** marks lists the marks over the rows of a lane. */
  marks(lane: number): Mark[] {
    return this.inLane(lane).flatMap((x) => [...x.extra.marks]);
  }
}

/** showInterval brings an interval of a lane into view, with some space on both sides. */
export function showInterval(app: App, lane: Lane, from: bigint, to: bigint): void {
  const least = lane.length / 50n + 4n,
    more = to - from < least ? (least - (to - from)) / 2n : 0n;
  app.show(windowAround(lane.toAxis(from - more), lane.toAxis(to + more), app.limits(), 0.7));
}

/** The heights of rows in CSS pixels. */
const barRow = 18,
  curveRow = 38,
  titleRow = 21;

const heightOf = (r: ExtraRow): number => (r.curve ? curveRow : barRow);

/** ExtraRows shows the extras of a lane below its rows. */
export class ExtraRows {
  readonly element = el("section", { class: "extras", hidden: true, aria: { label: "Results" } });
  private shown = -1;
  private drawn = "";
  private parts: { row: ExtraRow; canvas: HTMLCanvasElement }[] = [];

  constructor(
    private app: App,
    private view: RowView,
  ) {}

  /** request requests the values of the curves in the window. */
  request(): void {
    const w = this.view.lane.cut(this.app.store.state.window);
    for (const { extra } of this.app.extras.inLane(this.view.lane.index))
      extra.request?.(w, Math.round(this.view.width));
  }

  /** draw updates the rows. */
  draw(): void {
    const extras = this.app.extras.inLane(this.view.lane.index);
    if (this.shown !== this.app.extras.version) {
      this.shown = this.app.extras.version;
      this.drawn = "";
      this.build();
    }
    if (extras.length === 0) return;
    const { from, to } = this.app.store.state.window,
      { dark } = this.app.colors,
      { lane, width } = this.view,
      key = `${from} ${to} ${width} ${lane.shift} ${dark} ${devicePixelRatio} ${this.app.extras.data}`;
    if (key === this.drawn) return;
    this.drawn = key;
    for (const { row, canvas } of this.parts) {
      const h = heightOf(row),
        dpr = devicePixelRatio;
      canvas.width = Math.round(this.view.width * dpr);
      canvas.height = Math.round(h * dpr);
      canvas.style.width = `${this.view.width}px`;
      canvas.style.height = `${h}px`;
      const g = canvas.getContext("2d");
      if (!g) continue;
      g.scale(dpr, dpr);
      drawRow(g, this.view, row, this.app.colors, h);
    }
  }

  /** build creates the elements of all rows. */
  private build(): void {
    const held = this.element.contains(document.activeElement);
    this.parts = [];
    const groups = this.app.extras.inLane(this.view.lane.index).map(({ source, extra }) =>
      el(
        "div",
        { class: "extra", role: "group", aria: { label: printable(extra.title) } },
        el(
          "div",
          { class: "extratitle" },
          name(extra.title, "text"),
          button("✕", `Remove from the time line: ${printable(extra.title)}`, () => source.remove(this.app), "link"),
        ),
        ...extra.rows.map((row) => this.row(row)),
      ),
    );
    this.element.replaceChildren(...groups);
    this.element.hidden = groups.length === 0;
    if (held) this.element.querySelector<HTMLElement>("button")?.focus();
  }

  private row(row: ExtraRow): HTMLElement {
    const { lane } = this.view,
      canvas = el("canvas", { aria: { hidden: true } }),
      words = (b: Bar): string =>
        `${b.text} (${exact(b.from, lane.clock)}${b.to > b.from ? ` to ${exact(b.to, lane.clock)}` : ""})`,
      // screen readers and the keyboard find the bars as a list
      list = el(
        "ul",
        { class: "visuallyhidden" },
        ...row.bars.slice(0, 100).map((b) => el("li", {}, printable(words(b)))),
      ),
      at = (e: MouseEvent): Bar | undefined => barAt(this.view, row, e.clientX - canvas.getBoundingClientRect().left);
    this.parts.push({ row, canvas });
    canvas.addEventListener("mousemove", (e) => {
      const b = at(e);
      canvas.title = b ? printable(words(b)) : "";
      canvas.style.cursor = b ? "pointer" : "";
    });
    canvas.addEventListener("click", (e) => {
      const b = at(e);
      if (!b) return;
      showInterval(this.app, lane, b.from, b.to);
      this.app.announce(words(b));
    });
    const edges = row.curve
      ? el(
          "span",
          { class: "range" },
          el("span", {}, `${compact(row.curve.high)}${row.curve.unit === "" ? "" : " " + printable(row.curve.unit)}`),
          el("span", {}, row.curve.low === row.curve.high ? "" : compact(row.curve.low)),
        )
      : null;
    return el(
      "div",
      { class: "extrarow", style: { height: `${heightOf(row)}px` } },
      el(
        "div",
        {
          class: "extralabel",
          title: printable(row.label),
          style: { "padding-left": `${4 + 10 * Math.min(row.level, 8)}px` },
        },
        name(row.label, "text"),
        edges,
      ),
      canvas,
      row.bars.length > 0 ? list : null,
    );
  }
}

/**
 * xOf returns the horizontal position of a time of a lane, in CSS pixels. Positions far outside of
 * the picture are moved closer.
 */
function xOf(view: RowView, t: bigint): number {
  return Math.max(-10, Math.min(view.width + 10, view.x(view.lane.toAxis(t))));
}

/** edgesOf returns the left and the right edge of a bar, which is at least three pixels wide. */
function edgesOf(view: RowView, b: { from: bigint; to: bigint }): [number, number] {
  const a = xOf(view, b.from),
    z = xOf(view, b.to);
  return z - a < 3 ? [a - 1.5, a + 1.5] : [a, z];
}

/** barAt returns the narrowest bar under a point. */
function barAt(view: RowView, row: ExtraRow, x: number): Bar | undefined {
  return row.bars
    .filter((b) => {
      const [a, z] = edgesOf(view, b);
      return x >= a - 2 && x <= z + 2;
    })
    .sort((a, b) => Number(a.to - a.from - (b.to - b.from)))[0];
}

/** drawRow draws a row with the height h. */
function drawRow(g: Pen, view: RowView, row: ExtraRow, colors: Colors, h: number): void {
  g.fillStyle = colors.background;
  g.fillRect(0, 0, view.width, h);
  g.fillStyle = colors.line;
  g.fillRect(0, h - 1, view.width, 1);
  for (const b of row.bars) {
    const [a, z] = edgesOf(view, b);
    if (z < 0 || a > view.width) continue;
    g.fillStyle = tones[b.tone].color;
    // bad bars are higher, so that they also differ for people who see no colours
    const top = b.tone === "bad" ? 2 : b.tone === "good" ? 6 : 4;
    g.fillRect(Math.max(0, a), top, Math.min(view.width, z) - Math.max(0, a), h - 1 - 2 * top);
  }
  const v = row.curve?.values();
  if (!row.curve || !v || v.min.length === 0) return;
  const { low, high } = row.curve,
    y = (x: number): number => h - 3 - (high > low ? (x - low) / (high - low) : 1) * (h - 6);
  g.fillStyle = colors.curve;
  const x0 = view.x(view.lane.toAxis(v.from)),
    step = (view.x(view.lane.toAxis(v.to)) - x0) / v.min.length;
  v.min.forEach((least, i) => {
    const most = v.max[i],
      x = x0 + i * step;
    if (least === null || most === null || x + step < 0 || x > view.width) return;
    const top = y(most);
    g.fillRect(x, top, Math.max(step, 0.75), Math.max(1, y(least) - top));
  });
}

/** extrasHeight returns the height that the extras of a lane need in a picture. */
export function extrasHeight(app: App, lane: number): number {
  return app.extras
    .inLane(lane)
    .reduce((n, { extra }) => n + titleRow + extra.rows.reduce((m, r) => m + heightOf(r), 0), 0);
}

/**
 * drawExtras draws the extras of a lane into a picture, from y downwards. labels is the width of
 * the names on the left. within moves the origin and clips.
 */
export function drawExtras(
  g: Pen,
  app: App,
  view: RowView,
  y: number,
  labels: number,
  within: (x: number, y: number, w: number, h: number, draw: () => void) => void,
): void {
  const write = (text: string, left: number, h: number, bold: boolean): void => {
    g.fillStyle = app.colors.text;
    g.font = `${bold ? "600 " : ""}11px system-ui, sans-serif`;
    g.textBaseline = "middle";
    g.textAlign = "left";
    g.fillText(shortenName(text), left, h / 2);
  };
  for (const { extra } of app.extras.inLane(view.lane.index)) {
    within(0, y, labels + view.width, titleRow, () => {
      g.fillStyle = app.colors.row;
      g.fillRect(0, 0, labels + view.width, titleRow);
      write(extra.title, 6, titleRow, true);
    });
    y += titleRow;
    for (const row of extra.rows) {
      const h = heightOf(row);
      within(0, y, labels - 2, h, () => write(row.label, 6 + 10 * Math.min(row.level, 8), h, false));
      within(labels, y, view.width, h, () => drawRow(g, view, row, app.colors, h));
      y += h;
    }
  }
}

/** drawExtraMarks draws the marks of a lane over its rows. */
export function drawExtraMarks(app: App, view: RowView, g: CanvasRenderingContext2D): void {
  for (const m of app.extras.marks(view.lane.index)) {
    const [a, z] = edgesOf(view, m);
    if (z < 0 || a > view.width) continue;
    const i = m.track < 0 ? undefined : view.lane.rowOf.get(m.track),
      r = i === undefined ? undefined : view.lane.rows[i];
    if (m.track >= 0 && !r) continue;
    const top = r ? r.y - view.scrollTop : 0,
      h = r ? r.height - 1 : view.height;
    g.fillStyle = g.strokeStyle = tones[m.tone].color;
    g.globalAlpha = 0.16;
    g.fillRect(a, top, z - a, h);
    g.globalAlpha = 1;
    g.lineWidth = 1.5;
    g.setLineDash(m.tone === "bad" ? [] : [5, 3]);
    if (r) g.strokeRect(a, top + 0.75, z - a, h - 1.5);
    else
      for (const x of [a, z]) {
        g.beginPath();
        g.moveTo(x, 0);
        g.lineTo(x, view.height);
        g.stroke();
      }
    g.setLineDash([]);
  }
}
