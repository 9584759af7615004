// The panel of messages. It shows the communication matrix.
import type { LinkInfo, LinkSet, MatrixCell } from "../api";
import type { App } from "../app";
import { bytesText, count, countWords, el, name, printable, select } from "../dom";
import type { Panel, Scope, Tools } from "../dock";
import type { Lane } from "../lane";
import { type Bitmap, fill, pack } from "../raster";
import { each } from "../slices";
import { exact, type Mean, meanOf, meanOrder, meanTicks, short, shortMean } from "../time";
import { type Column, makeTable } from "./table";

type Measure = "count" | "bytes" | "mean";

/**
 * Matrix holds the pairs of senders and receivers, and the data that the panel needs to show them.
 * side is the element with the table, next to the heat map.
 */
interface Matrix {
  app: App;
  scope: Scope;
  tools: Tools;
  measure: Measure;
  rows: MatrixCell[];
  tracks: number[];
  side: HTMLElement;
}

/** messages creates the panel of messages. */
export function messages(): Panel {
  return {
    id: "messages",
    title: "Messages",
    timeScope: "range",
    async render(app, scope, tools) {
      const measure = measureOf(tools);
      const r = await app.client.json<{ rows: MatrixCell[] | null; tracks: number[] | null }>(
        pathOf(scope.lane) + "matrix",
        { from: scope.window.from, to: scope.window.to },
        tools.signal,
      );
      const side = el("div", { class: "side" }),
        m: Matrix = { app, scope, tools, measure, rows: r.rows ?? [], tracks: r.tracks ?? [], side };
      tools.bar.append(measureMenu(m));
      if (m.rows.length === 0) {
        tools.body.append(el("p", { class: "faint" }, "No messages were sent in this time."));
        tools.csv(null);
        return;
      }
      const pair = m.rows.find((c) => pairOf(c) === tools.get("pair"));
      if (pair) void listMessages(m, pair);
      else listPairs(m);
      showHeatMap(m);
    },
  };
}

/** measureOf returns the measure that the colours of the matrix show. */
function measureOf(tools: Tools): Measure {
  const chosen = tools.get("measure");
  return chosen === "count" || chosen === "mean" ? chosen : "bytes";
}

/** measureMenu returns the menu of the measures. */
function measureMenu({ measure, tools }: Matrix): HTMLElement {
  return select(
    "Colour shows",
    [
      ["bytes", "bytes"],
      ["count", "count"],
      ["mean", "mean transfer time"],
    ],
    measure,
    (v) => {
      tools.set("measure", v === "bytes" ? "" : v);
      tools.refresh();
    },
  );
}

/** pathOf returns the path of a trace on the server. */
function pathOf(lane: Lane): string {
  return `traces/${encodeURIComponent(lane.meta.id)}/`;
}

/** pairOf returns the text for a pair in the state of the page. */
function pairOf(c: MatrixCell): string {
  return `${c.source}~${c.destination}`;
}

/** mean returns the mean transfer time of the messages of a pair. */
function mean(c: MatrixCell): Mean | null {
  return meanOf(BigInt(c.sum), c.matched);
}

/** measuredValue returns the value of a measure for a pair. */
function measuredValue(measure: Measure, c: MatrixCell): number {
  return measure === "count" ? c.count : measure === "bytes" ? c.bytes : c.matched > 0 ? Number(c.sum) / c.matched : 0;
}

/** transferTime formats a transfer time. The result is "" for a pair without received messages. */
function transferTime(t: string, lane: Lane): string {
  return t === "" ? "–" : short(BigInt(t), lane.clock);
}

/** measureText formats a value of a measure. */
function measureText(measure: Measure, v: number, lane: Lane): string {
  return measure === "count"
    ? count(v)
    : measure === "bytes"
      ? bytesText(v)
      : shortMean(meanOf(BigInt(Math.round(v * 1000)), 1000), lane.clock);
}

/** messageColumns returns the columns of the table of messages, or of bundles of messages. */
function messageColumns(lane: Lane, bundled: boolean): Column<LinkInfo>[] {
  return [
    {
      title: "sent at",
      show: (l) => exact(BigInt(l.from.time), lane.clock),
      sort: (l) => BigInt(l.from.time),
      csv: (l) => l.from.time,
      unit: "ticks",
    },
    {
      title: "took",
      show: (l) => short(BigInt(l.to.time) - BigInt(l.from.time), lane.clock),
      sort: (l) => BigInt(l.to.time) - BigInt(l.from.time),
      csv: (l) => BigInt(l.to.time) - BigInt(l.from.time),
      unit: "ticks",
    },
    { title: "bytes", show: (l) => bytesText(l.bytes), sort: (l) => l.bytes, csv: (l) => l.bytes },
    {
      title: "tag",
      show: (l) => String(l.tag ?? ""),
      sort: (l) => String(l.tag ?? ""),
      csv: (l) => String(l.tag ?? ""),
    },
    ...(bundled
      ? [
          {
            title: "messages",
            show: (l: LinkInfo) => count(l.count),
            csv: (l: LinkInfo) => l.count,
          },
        ]
      : []),
  ];
}

/** listMessages replaces the table with the messages of a pair. */
async function listMessages(m: Matrix, c: MatrixCell): Promise<void> {
  const { app, tools, side } = m,
    { lane, window: w, axis } = m.scope;
  tools.set("pair", pairOf(c));
  side.replaceChildren(el("p", { class: "faint" }, "loading …"));
  try {
    const s = await app.client.json<LinkSet>(
      pathOf(lane) + "links",
      {
        from: w.from,
        to: w.to,
        width: 1000,
        tracks:
          c.source === c.destination
            ? c.source
            : `${Math.min(c.source, c.destination)},${Math.max(c.source, c.destination)}`,
        limit: 20000,
      },
      tools.signal,
    );
    const found = (s.links ?? []).filter((l) => l.from.track === c.source && l.to.track === c.destination);
    const t = makeTable(messageColumns(lane, s.bundled), found, {
      order: 0,
      ascending: true,
      run: tools.run,
      clickHint: "select this message and show both its ends",
      click: (l) => {
        app.keepRange(axis);
        app.showLink({ lane: lane.index, link: l });
      },
    });
    const back = el("button", { type: "button", class: "link", on: { click: () => listPairs(m) } }, "all pairs");
    side.replaceChildren(
      el(
        "p",
        {},
        back,
        " › ",
        name(lane.fullName(c.source)),
        " → ",
        name(lane.fullName(c.destination)),
        s.bundled ? el("span", { class: "faint" }, " (too many for single ones: bundles)") : null,
      ),
      t.element,
    );
    tools.csv(t.csv);
  } catch (e) {
    if (!tools.signal.aborted)
      side.replaceChildren(el("p", { class: "error" }, e instanceof Error ? e.message : String(e)));
  }
}

/** pairColumns returns the columns of the table of pairs. */
function pairColumns(lane: Lane): Column<MatrixCell>[] {
  return [
    {
      title: "from",
      text: true,
      show: (c) => lane.fullName(c.source),
      sort: (c) => lane.fullName(c.source),
      csv: (c) => lane.fullName(c.source),
    },
    {
      title: "to",
      text: true,
      show: (c) => lane.fullName(c.destination),
      sort: (c) => lane.fullName(c.destination),
      csv: (c) => lane.fullName(c.destination),
    },
    { title: "count", show: (c) => count(c.count), sort: (c) => c.count, csv: (c) => c.count },
    { title: "bytes", show: (c) => bytesText(c.bytes), sort: (c) => c.bytes, csv: (c) => c.bytes },
    {
      title: "min",
      hint: "shortest transfer",
      show: (c) => transferTime(c.min, lane),
      sort: (c) => BigInt(c.min),
      csv: (c) => c.min,
      unit: "ticks",
    },
    {
      title: "mean",
      hint: "mean transfer time",
      show: (c) => shortMean(mean(c), lane.clock),
      sort: (c) => meanOrder(mean(c)),
      csv: (c) => meanTicks(mean(c)),
      unit: "ticks",
    },
    {
      title: "max",
      hint: "longest transfer",
      show: (c) => transferTime(c.max, lane),
      sort: (c) => BigInt(c.max),
      csv: (c) => c.max,
      unit: "ticks",
    },
  ];
}

/** listPairs replaces the table with all pairs. */
function listPairs(m: Matrix): void {
  const { tools, side } = m,
    { lane } = m.scope;
  tools.set("pair", "");
  const t = makeTable(pairColumns(lane), m.rows, {
    order: 3,
    memory: tools,
    filter: (c) => `${lane.fullName(c.source)} ${lane.fullName(c.destination)}`,
    click: (c) => void listMessages(m, c),
    clickHint: "list its messages",
    run: tools.run,
  });
  side.replaceChildren(...(t.filter ? [el("p", {}, t.filter)] : []), t.element);
  tools.csv(t.csv);
}

/** matrixNames returns the shortest names of senders and receivers that differ from each other. */
function matrixNames(lane: Lane, tracks: readonly number[]): string[] {
  const forms = [
    (t: number) => lane.trackName(t),
    (t: number) => lane.meta.groups[lane.meta.tracks[t]?.group ?? -1]?.name ?? "",
    (t: number) => lane.fullName(t),
  ];
  return tracks.map(forms.find((f) => new Set(tracks.map(f)).size === tracks.length) ?? forms[2]);
}

/**
 * HeatMap describes the picture of the pairs. cell is the side of the square of a pair, and size
 * the side of the picture, in pixels of the page. dpr is the number of pixels of the bitmap in one
 * pixel of the page. high is the greatest value.
 */
interface HeatMap {
  canvas: HTMLCanvasElement;
  cell: number;
  size: number;
  dpr: number;
  high: number;
  pairAt: Map<number, MatrixCell>;
}

/** showHeatMap fills the panel with the heat map, its scale, and the table next to it. */
function showHeatMap(m: Matrix): void {
  const { app, tools } = m,
    { lane } = m.scope;
  // the heat map has a logarithmic scale; the square of a pair is at least one pixel wide, and a row
  // has a name if a line of text fits
  const n = m.tracks.length,
    named = n <= mostNamed,
    names = named ? matrixNames(lane, m.tracks) : [];
  const room = Math.max(160, app.dock - (named ? 170 : 100)),
    cell = Math.max(named ? 14 : 1, Math.min(22, Math.floor(room / n))),
    size = n * cell;
  const canvas = el("canvas", {
    role: "img",
    tabindex: 0,
    aria: { label: `Matrix of ${n} senders (down) and receivers (across); the table next to it has the figures` },
  });
  canvas.style.width = canvas.style.height = size + "px";
  canvas.style.cursor = "pointer";
  const h: HeatMap = {
    canvas,
    cell,
    size,
    dpr: Math.min(devicePixelRatio, mostFine / size),
    high: m.rows.reduce((high, c) => Math.max(high, measuredValue(m.measure, c)), 0),
    pairAt: new Map(),
  };
  const info = el(
    "p",
    { class: "faint", role: "status" },
    "Point at a cell to see its figures; click on it to list its messages.",
  );
  followPointer(m, h, info);
  tools.bar.append(colorScale(m, h.high));
  const axis = (side: string, extent: "height" | "width"): HTMLElement =>
    el(
      "div",
      { class: side, aria: { hidden: true } },
      ...names.map((x) =>
        el("span", { title: printable(x), style: { [extent]: cell + "px", "line-height": cell + "px" } }, name(x)),
      ),
    );
  tools.body.classList.add("parts");
  tools.body.append(
    info,
    el(
      "div",
      { class: "split" },
      el(
        "div",
        { class: "matrix" },
        el("div", { class: "axisname" }, "sender ↓   receiver →"),
        ...(named ? [axis("across", "width"), axis("down", "height")] : []),
        canvas,
      ),
      m.side,
    ),
  );
  tools.run(paintHeatMap(m, h));
}

/** paintHeatMap draws the squares of all pairs. */
function* paintHeatMap(m: Matrix, h: HeatMap): Generator<void, void> {
  const { colors } = m.app,
    { cell, dpr } = h,
    n = m.tracks.length,
    index = new Map(m.tracks.map((t, i) => [t, i])),
    edge = Math.round(h.size * dpr),
    pixels = new Uint32Array(edge * edge).fill(pack(colors.row));
  const b: Bitmap = { width: edge, height: edge, pixels },
    at = (i: number): number => Math.floor(i * cell * dpr),
    wide = Math.max(1, Math.round((cell > 4 ? cell - 1 : cell) * dpr));
  yield* each(m.rows.length, (k) => {
    const c = m.rows[k],
      i = index.get(c.source),
      j = index.get(c.destination),
      v = measuredValue(m.measure, c);
    if (i === undefined || j === undefined) return;
    h.pairAt.set(i * n + j, c);
    fill(
      b,
      { x: at(j), y: at(i), w: wide, h: wide },
      pack(heatColor(h.high > 0 ? heatLevel(v, h.high) : 0, colors.dark)),
    );
  });
  h.canvas.width = h.canvas.height = edge;
  h.canvas
    .getContext("2d")
    ?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), edge, edge), 0, 0);
}

/** followPointer shows the numbers of the pair under the pointer. A click lists the messages of that pair. */
function followPointer(m: Matrix, { canvas, cell, pairAt }: HeatMap, info: HTMLElement): void {
  const { tracks } = m,
    { lane } = m.scope,
    n = tracks.length;
  const place = (e: MouseEvent): [number, number] => {
    const b = canvas.getBoundingClientRect();
    return [Math.floor((e.clientY - b.top) / cell), Math.floor((e.clientX - b.left) / cell)];
  };
  canvas.addEventListener("pointermove", (e) => {
    const [i, j] = place(e),
      c = pairAt.get(i * n + j);
    if (tracks[i] === undefined || tracks[j] === undefined) return;
    info.replaceChildren(
      name(lane.fullName(tracks[i])),
      " → ",
      name(lane.fullName(tracks[j])),
      c
        ? `: ${countWords(c.count, "message")}, ${bytesText(c.bytes)}, ` +
            `${c.min === "" ? "none of them received" : `${transferTime(c.min, lane)} to ${transferTime(c.max, lane)}`}`
        : ": none",
    );
  });
  canvas.addEventListener("click", (e) => {
    const [i, j] = place(e),
      c = i < n && j < n ? pairAt.get(i * n + j) : undefined;
    if (c) void listMessages(m, c);
  });
}

/** colorScale returns the scale of colours from 0 to the greatest value. */
function colorScale({ app, scope, measure }: Matrix, high: number): HTMLElement {
  return el(
    "span",
    { class: "faint" },
    measureText(measure, 0, scope.lane),
    " ",
    el("span", {
      style: {
        display: "inline-block",
        width: "90px",
        height: "9px",
        background:
          `linear-gradient(90deg, ` + `${[0, 0.25, 0.5, 0.75, 1].map((f) => heatColor(f, app.colors.dark)).join(",")})`,
      },
    }),
    " ",
    measureText(measure, high, scope.lane),
  );
}

/**
 * mostNamed is the largest number of senders and receivers whose names are shown next to the
 * matrix. mostFine is the largest side of the matrix in pixels.
 */
const mostNamed = 40,
  mostFine = 2048;

/**
 * heatLevel maps a value to a number from 0 (for the value 0) to 1 (for the value high), on a
 * logarithmic scale.
 */
export function heatLevel(v: number, high: number): number {
  return v <= 0 ? 0 : Math.log1p(v) / Math.log1p(high);
}

/**
 * heatColor returns the colour for a level. The higher the level, the darker is the colour on a light
 * page, and the lighter on a dark page.
 */
function heatColor(f: number, dark: boolean): string {
  const stops = dark
    ? [
        [38, 50, 84],
        [60, 84, 150],
        [64, 140, 170],
        [130, 200, 130],
        [250, 235, 120],
      ]
    : [
        [222, 235, 247],
        [158, 202, 225],
        [66, 146, 198],
        [33, 90, 160],
        [8, 40, 100],
      ];
  const x = Math.max(0, Math.min(1, f)) * (stops.length - 1),
    i = Math.min(stops.length - 2, Math.floor(x)),
    k = x - i;
  return (
    "#" +
    stops[i]
      .map((a, j) =>
        Math.round(a + (stops[i + 1][j] - a) * k)
          .toString(16)
          .padStart(2, "0"),
      )
      .join("")
  );
}
