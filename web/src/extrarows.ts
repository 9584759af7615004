// The extras of a lane on the screen and in pictures: rows with bars and curves, and marks over the rows
// of the trace.
import type { App } from "./app";
import type { Colors } from "./colors";
import { shortenName, button, el, name, printable } from "./dom";
import { type Bar, type ExtraRow, tones } from "./extratypes";
import { showInterval } from "./extras";
import type { Pen } from "./pen";
import { compact, type RowView } from "./rowview";
import { exact } from "./time";

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
    const groups = this.app.extras.inLane(this.view.lane.index).map(({ extra, remove }) =>
      el(
        "div",
        { class: "extra", role: "group", aria: { label: printable(extra.title) } },
        el(
          "div",
          { class: "extratitle" },
          name(extra.title, "text"),
          button("✕", `Remove from the time line: ${printable(extra.title)}`, remove, "link"),
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
