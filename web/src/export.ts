// The export of pictures and tables to files.
import type { App } from "./app";
import { shortenName, button, el, printable } from "./dom";
import { drawExtras, extrasHeight } from "./extrarows";
import type { Bitmap } from "./raster";
import { type Pen, drawText } from "./pen";
import { leastEdges } from "./rowlabels";
import { paintRuler, rulerHeight } from "./rulerbar";
import { exact } from "./time";
import type { Timeline } from "./timeline";

function save(data: Blob, file: string): void {
  const url = URL.createObjectURL(data),
    a = el("a", { href: url, download: file });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** fileName returns the name of the file to which something of a trace is exported. */
export function fileName(trace: string, ending: string): string {
  return trace.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[.]+/, "") + ending;
}

/**
 * csv formats rows according to RFC 4180. It quotes a text that a spreadsheet would evaluate as a
 * formula, and puts an apostrophe before it.
 */
export function csv(head: readonly string[], rows: readonly (readonly (string | number | bigint)[])[]): string {
  const cell = (v: string | number | bigint): string => {
    if (typeof v !== "string") return String(v);
    const safe = /^[=+@\t\r]/.test(v) || /^-(?!\d)/.test(v) ? "'" + v : v;
    return /[",\r\n]/.test(safe) || safe !== v ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  return [head, ...rows].map((r) => r.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** saveText saves text as a file. */
export function saveText(text: string, file: string, type: string): void {
  save(new Blob([text], { type }), file);
}

/** LegendColor is a colour in the picture with its meaning. */
export interface LegendColor {
  label: string;
  color: string;
}

/** PictureTarget draws a picture on a canvas or into an SVG text. */
interface PictureTarget {
  pen: Pen;
  /**
   * within calls draw with the origin moved to (x, y). It clips the drawing to the width w and the
   * height h.
   */
  within(x: number, y: number, w: number, h: number, draw: () => void): void;
  image(cv: HTMLCanvasElement, w: number, h: number): void;
}

/** The sizes of the parts of a picture, in CSS pixels. */
const labels = 200,
  mostLabel = 260,
  titleHeight = 24,
  laneTitle = 20,
  legendLine = 20,
  margin = 6;

/** legendLines places each entry of the legend in a line, at a horizontal position. */
function legendLines(
  g: Pen,
  legend: readonly LegendColor[],
  width: number,
): { x: number; line: number; of: LegendColor }[] {
  g.font = "11px system-ui, sans-serif";
  let x = labels,
    line = 0;
  return legend.map((of) => {
    const w = 15 + Math.min(mostLabel, g.measureText(shortenName(of.label)).width) + 14;
    if (x + w > width && x > labels) {
      x = labels;
      line++;
    }
    const out = { x, line, of };
    x += w;
    return out;
  });
}

/** sizeOf returns the width and the height of a picture, in CSS pixels. */
function sizeOf(
  g: Pen,
  app: App,
  timelines: readonly Timeline[],
  legend: readonly LegendColor[],
): { width: number; height: number } {
  const width = labels + timelines[0].width + margin,
    last = legendLines(g, legend, width).at(-1);
  return {
    width,
    height:
      titleHeight +
      rulerHeight +
      timelines.reduce(
        (n, t) => n + t.height + extrasHeight(app, t.lane.index) + (timelines.length > 1 ? laneTitle : 0),
        0,
      ) +
      (last ? 6 + (last.line + 1) * legendLine : 0) +
      margin,
  };
}

/** fitText shortens a text until it is at most `room` pixels wide. */
function fitText(g: Pen, text: string, room: number): string {
  if (g.measureText(text).width <= room) return text;
  const all = [...text],
    begin = (n: number): string => all.slice(0, n).join("") + "…";
  let low = 1,
    high = all.length;
  while (low < high) {
    const n = (low + high + 1) >> 1;
    if (g.measureText(begin(n)).width <= room) low = n;
    else high = n - 1;
  }
  return begin(low);
}

/** plainFont is the font of names and times in pictures. */
const plainFont = "11px system-ui, sans-serif";

/**
 * drawPicture draws all time lines as they are on the screen, with the title, the axis, the names
 * of rows and the legend.
 */
function drawPicture(
  paper: PictureTarget,
  app: App,
  timelines: readonly Timeline[],
  legend: readonly LegendColor[],
): void {
  const g = paper.pen,
    c = app.colors,
    { width, height } = sizeOf(g, app, timelines, legend),
    plot = timelines[0].width,
    s = app.store.state;
  g.fillStyle = c.background;
  g.fillRect(0, 0, width, height);
  const end = app.limits().to - 1n,
    to = s.window.to > end ? end : s.window.to,
    span = `${exact(s.window.from, app.axis)} to ${exact(to, app.axis)}`;
  g.textBaseline = "middle";
  g.font = plainFont;
  g.fillStyle = c.faint;
  g.textAlign = "right";
  g.fillText(span, labels + plot, titleHeight / 2 + 1);
  const room = labels + plot - margin - g.measureText(span).width - 20;
  g.textAlign = "left";
  g.font = "600 13px system-ui, sans-serif";
  g.fillStyle = c.text;
  g.fillText(
    fitText(g, timelines.map((t) => shortenName(t.lane.title)).join(" | "), room),
    margin,
    titleHeight / 2 + 1,
  );
  paper.within(labels, titleHeight, plot, rulerHeight, () => paintRuler(g, app, plot, rulerHeight));
  let y = titleHeight + rulerHeight;
  const line = (at: number): void => {
    g.fillStyle = c.line;
    g.fillRect(0, at, labels + plot, 1);
  };
  for (const t of timelines) {
    if (timelines.length > 1) {
      g.fillStyle = c.text;
      g.font = "600 12px system-ui, sans-serif";
      g.textBaseline = "middle";
      g.textAlign = "left";
      g.fillText(fitText(g, shortenName(t.lane.title), width - 2 * margin), margin, y + laneTitle / 2);
      y += laneTitle;
    }
    line(y - 1);
    const [first, last] = t.visible();
    paper.within(0, y, labels, t.height, () => drawLabels(g, app, t, first, last));
    paper.within(labels, y, t.width, t.height, () => drawRows(paper, app, t, first, last));
    y += t.height;
    line(y - 1);
    drawExtras(g, app, t, y, labels, (...at) => paper.within(...at));
    y += extrasHeight(app, t.lane.index);
  }
  g.fillStyle = c.line;
  g.fillRect(labels - 1, titleHeight, 1, y - titleHeight);
  y += 6;
  drawLegend(g, app, legend, width, y);
}

/** drawLegend draws the colours with their meaning. */
function drawLegend(g: Pen, app: App, legend: readonly LegendColor[], width: number, y: number): void {
  const c = app.colors;
  for (const { x, line: n, of } of legendLines(g, legend, width)) {
    g.fillStyle = of.color;
    g.fillRect(x, y + n * legendLine + 5, 11, 11);
    g.fillStyle = c.text;
    g.font = plainFont;
    g.textBaseline = "middle";
    g.textAlign = "left";
    drawText(
      g,
      fitText(g, shortenName(of.label), Math.min(mostLabel + 1, width - x - 20)),
      x + 15,
      y + n * legendLine + 11,
      y + n * legendLine,
      legendLine,
      mostLabel,
    );
  }
}

/** drawLabels draws the names of the rows from first to last − 1. */
function drawLabels(g: Pen, app: App, t: Timeline, first: number, last: number): void {
  const c = app.colors;
  for (let i = first; i < last; i++) {
    const r = t.lane.rows[i],
      top = r.y - t.scrollTop,
      edges = t.edges(r),
      left = margin + 10 * r.level;
    if (r.track < 0) {
      g.fillStyle = c.row;
      g.fillRect(0, top, labels, r.height - 1);
    }
    g.fillStyle = c.line;
    g.fillRect(0, top + r.height - 1, labels, 1);
    let taken = 0;
    if (edges && r.height >= leastEdges) {
      g.font = "9px system-ui, sans-serif";
      g.textAlign = "right";
      g.fillStyle = c.faint;
      g.textBaseline = "top";
      g.fillText(edges.high, labels - 5, top + 3);
      g.textBaseline = "alphabetic";
      g.fillText(edges.low, labels - 5, top + r.height - 5);
      taken = Math.max(g.measureText(edges.high).width, g.measureText(edges.low).width) + 6;
    }
    g.font = (r.track < 0 ? "600 " : "") + plainFont;
    g.textBaseline = "middle";
    g.textAlign = "left";
    g.fillStyle = c.text;
    drawText(
      g,
      fitText(g, shortenName(r.label), labels - 6 - left - taken),
      left,
      top + r.height / 2,
      top,
      r.height - 1,
      labels - left,
    );
  }
}

/** drawRows draws the rows from first to last − 1, and the marks over them. */
function drawRows(paper: PictureTarget, app: App, t: Timeline, first: number, last: number): void {
  const g = paper.pen,
    s = app.store.state,
    dpr = devicePixelRatio;
  const b: Bitmap = {
    width: Math.round(t.width * dpr),
    height: Math.round(t.height * dpr),
    pixels: new Uint32Array(Math.round(t.width * dpr) * Math.round(t.height * dpr)),
  };
  t.paint(b, first, last, dpr);
  const cv = el("canvas");
  cv.width = b.width;
  cv.height = b.height;
  cv.getContext("2d")?.putImageData(
    new ImageData(new Uint8ClampedArray(b.pixels.buffer as ArrayBuffer), b.width, b.height),
    0,
    0,
  );
  paper.image(cv, t.width, t.height);
  const over = (draw: (o: CanvasRenderingContext2D) => void): void => {
    const cv = el("canvas"),
      o = cv.getContext("2d");
    cv.width = b.width;
    cv.height = b.height;
    if (o) {
      o.scale(dpr, dpr);
      draw(o);
      paper.image(cv, t.width, t.height);
    }
  };
  if (s.showWaits) over((o) => t.drawHatching(o, dpr));
  g.textAlign = "left";
  t.drawNames(g, first, last, dpr, s.window);
  if (s.showWaits) over((o) => t.drawWaitCauses(o, dpr));
  over((o) => t.drawMarks(o, dpr));
}

/** picture draws the time lines into a canvas, in pixels of the device. */
function picture(app: App, timelines: readonly Timeline[], legend: readonly LegendColor[]): HTMLCanvasElement {
  const cv = el("canvas"),
    dpr = devicePixelRatio,
    g = cv.getContext("2d");
  if (!g) throw new Error("no canvas");
  const { width, height } = sizeOf(g, app, timelines, legend);
  cv.width = Math.round(width * dpr);
  cv.height = Math.round(height * dpr);
  g.scale(dpr, dpr);
  drawPicture(
    {
      pen: g,
      within: (x, y, w, h, draw) => {
        g.save();
        g.translate(x, y);
        g.beginPath();
        g.rect(0, 0, w, h);
        g.clip();
        draw();
        g.restore();
      },
      image: (from, w, h) => g.drawImage(from, 0, 0, w, h),
    },
    app,
    timelines,
    legend,
  );
  return cv;
}

function escape(text: string): string {
  return printable(text).replace(/[&<>"]/g, (x) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[x] ?? x);
}

const round = (v: number): string => String(Math.round(v * 100) / 100);

/** SVGPen is a pen that writes SVG. */
class SVGPen implements Pen {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  font = "11px sans-serif";
  textBaseline: CanvasTextBaseline = "alphabetic";
  textAlign: CanvasTextAlign = "left";
  readonly out: string[] = [];
  private path: string[] = [];
  private clips = 0;
  /** groups holds, for each call of save, the number of clip groups that have been opened since. */
  private groups: number[] = [];
  constructor(private measure: CanvasRenderingContext2D) {}
  save(): void {
    this.groups.push(0);
  }
  restore(): void {
    for (let n = this.groups.pop() ?? 0; n > 0; n--) this.out.push("</g>");
  }
  rect(x: number, y: number, w: number, h: number): void {
    this.path.push(`M${round(x)} ${round(y)}h${round(w)}v${round(h)}h${round(-w)}Z`);
  }
  clip(): void {
    const id = `t${this.clips++}`;
    this.out.push(`<clipPath id="${id}"><path d="${this.path.join("")}"/></clipPath><g clip-path="url(#${id})">`);
    if (this.groups.length > 0) this.groups[this.groups.length - 1]++;
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    this.out.push(
      `<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" fill="${this.fillStyle}"/>`,
    );
  }
  beginPath(): void {
    this.path = [];
  }
  moveTo(x: number, y: number): void {
    this.path.push(`M${round(x)} ${round(y)}`);
  }
  lineTo(x: number, y: number): void {
    this.path.push(`L${round(x)} ${round(y)}`);
  }
  closePath(): void {
    this.path.push("Z");
  }
  stroke(): void {
    if (this.path.length > 0)
      this.out.push(
        `<path d="${this.path.join("")}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"/>`,
      );
  }
  fill(): void {
    this.out.push(`<path d="${this.path.join("")}" fill="${this.fillStyle}"/>`);
  }
  measureText(text: string): TextMetrics {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }
  fillText(text: string, x: number, y: number): void {
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 11),
      down =
        this.textBaseline === "middle"
          ? 0.35
          : this.textBaseline === "top"
            ? 0.85
            : this.textBaseline === "bottom"
              ? -0.2
              : 0;
    const anchors: Record<string, string> = { right: ' text-anchor="end"', center: ' text-anchor="middle"' };
    this.out.push(
      `<text x="${round(x)}" y="${round(y + down * size)}" font-size="${size}" ` +
        `fill="${this.fillStyle}"${this.font.startsWith("600") ? ' font-weight="600"' : ""}` +
        `${anchors[this.textAlign] ?? ""}>${escape(text)}</text>`,
    );
  }
}

/** svg returns the picture as SVG. Texts stay texts. The rows are images with the resolution of the screen. */
function svg(app: App, timelines: readonly Timeline[], legend: readonly LegendColor[]): string {
  const measure = el("canvas").getContext("2d");
  if (!measure) throw new Error("no canvas");
  const pen = new SVGPen(measure),
    { width, height } = sizeOf(pen, app, timelines, legend);
  let clips = 0;
  drawPicture(
    {
      pen,
      within: (x, y, w, h, draw) => {
        const id = `c${clips++}`;
        pen.out.push(
          `<clipPath id="${id}"><rect width="${round(w)}" height="${round(h)}"/></clipPath><g ` +
            `transform="translate(${round(x)} ${round(y)})"><g clip-path="url(#${id})">`,
        );
        draw();
        pen.out.push("</g></g>");
      },
      image: (cv, w, h) =>
        pen.out.push(
          `<image width="${round(w)}" height="${round(h)}" style="image-rendering:pixelated" ` +
            `href="${cv.toDataURL("image/png")}"/>`,
        ),
    },
    app,
    timelines,
    legend,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ` +
      `${round(width)} ${round(height)}" font-family="system-ui, sans-serif">`,
    ...pen.out,
    "</svg>",
    "",
  ].join("\n");
}

/** exportMenu asks the user which file to export. */
export function exportMenu(
  app: App,
  timelines: readonly Timeline[],
  legend: readonly LegendColor[],
  table: () => string | null,
): void {
  const base = app.lanes[0].meta.name,
    csvText = table();
  const d = el("dialog", { aria: { label: "Export" } });
  const item = (label: string, title: string, go: () => void, off = false): HTMLElement => {
    const b = button(label, title, () => {
      d.close();
      try {
        go();
      } catch (e) {
        app.announce(e instanceof Error ? e.message : String(e));
      }
    });
    b.disabled = off;
    return el("p", {}, b, " ", el("span", { class: "faint" }, title));
  };
  d.append(
    el("h1", {}, "Export"),
    item("PNG", "the time lines as they are on the screen, with the legend", () =>
      picture(app, timelines, legend).toBlob((b) => {
        if (b) save(b, fileName(base, ".png"));
      }),
    ),
    item("SVG", "the same, all names as text", () =>
      saveText(svg(app, timelines, legend), fileName(base, ".svg"), "image/svg+xml"),
    ),
    item(
      "CSV",
      csvText === null ? "the open panel is no table" : "the table of the open panel",
      () => {
        if (csvText !== null)
          saveText(csvText, fileName(base, `-${app.store.state.panel}.csv`), "text/csv;charset=utf-8");
      },
      csvText === null,
    ),
    item("Copy link", "the address with this view", () => {
      void navigator.clipboard
        .writeText(location.href)
        .then(() => app.announce("link copied"))
        .catch(() => app.announce("the browser did not allow copying; the address bar holds the link"));
    }),
    item("Copy link with the secret", "for another browser: whoever has it sees all traces of this server", () => {
      const copy = app.client.json<{ token: string }>("secret").then(({ token }) => {
        const u = new URL(location.href);
        if (token !== "") u.searchParams.set("token", token);
        return u.href;
      });
      void copy
        .then((text) => navigator.clipboard.writeText(text))
        .then(() => app.announce("link with the secret copied"))
        .catch((e: unknown) => app.announce(`the link was not copied: ${e instanceof Error ? e.message : String(e)}`));
    }),
    el(
      "p",
      {},
      button("Close", "Close", () => d.close()),
    ),
  );
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => {
    if (e.target === d) d.close();
  });
  document.body.append(d);
  d.showModal();
}
