// The communication matrix.
import type { LinkSet, MatrixCell } from "../api";
import { bytes, count, el, name, printable, select } from "../dom";
import type { Panel } from "../dock";
import { type Bitmap, fill, pack } from "../raster";
import { each } from "../slices";
import { exact, type Mean, meanOf, meanOrder, meanTicks, short, shortMean } from "../time";
import { makeTable } from "./table";

type Measure = "count" | "bytes" | "mean";

/** messages creates the panel of messages. */
export function messages(): Panel {
  return {
    id: "messages",
    title: "Messages",
    of: "range",
    async render(app, { lane, window: w, axis }, tools) {
      const measure: Measure =
        tools.get("measure") === "count" ? "count" : tools.get("measure") === "mean" ? "mean" : "bytes";
      const path = `traces/${encodeURIComponent(lane.meta.id)}/`;
      const r = await app.client.json<{ rows: MatrixCell[] | null; tracks: number[] | null }>(
        path + "matrix",
        { from: w.from, to: w.to },
        tools.signal,
      );
      const rows = r.rows ?? [],
        tracks = r.tracks ?? [];
      tools.bar.append(
        select(
          "Colour shows",
          [
            ["bytes", "bytes"],
            ["count", "count"],
            ["mean", "mean transfer time"],
          ],
          measure,
          (v) => {
            tools.set("measure", v === "bytes" ? "" : v);
            tools.again();
          },
        ),
      );
      if (rows.length === 0) {
        tools.body.append(el("p", { class: "faint" }, "No messages were sent in this time."));
        tools.csv(null);
        return;
      }
      const side = el("div", { class: "side" }),
        info = el(
          "p",
          { class: "faint", role: "status" },
          "The pointer over a cell tells its figures; a click lists its messages.",
        );
      const mean = (c: MatrixCell): Mean | null => meanOf(BigInt(c.sum), c.matched);
      const value = (c: MatrixCell): number =>
        measure === "count" ? c.count : measure === "bytes" ? c.bytes : c.matched > 0 ? Number(c.sum) / c.matched : 0;
      // the server sends "" for the times of a pair of which no message was received
      const took = (t: string): string => (t === "" ? "–" : short(BigInt(t), lane.clock));
      const words = (v: number): string =>
        measure === "count"
          ? count(v)
          : measure === "bytes"
            ? bytes(v)
            : shortMean(meanOf(BigInt(Math.round(v * 1000)), 1000), lane.clock);
      const list = async (c: MatrixCell): Promise<void> => {
        tools.set("pair", `${c.source}~${c.destination}`);
        side.replaceChildren(el("p", { class: "faint" }, "loading …"));
        try {
          const s = await app.client.json<LinkSet>(
            path + "links",
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
          const t = makeTable(
            [
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
              { title: "bytes", show: (l) => bytes(l.bytes), sort: (l) => l.bytes, csv: (l) => l.bytes },
              {
                title: "tag",
                show: (l) => String(l.tag ?? ""),
                sort: (l) => String(l.tag ?? ""),
                csv: (l) => String(l.tag ?? ""),
              },
              ...(s.bundled
                ? [
                    {
                      title: "messages",
                      show: (l: (typeof found)[number]) => count(l.count),
                      csv: (l: (typeof found)[number]) => l.count,
                    },
                  ]
                : []),
            ],
            found,
            {
              order: 0,
              ascending: true,
              run: tools.run,
              clickHint: "select this message and show both its ends",
              click: (l) => {
                app.keepRange(axis);
                app.showLink({ lane: lane.index, link: l });
              },
            },
          );
          const back = el("button", { type: "button", class: "link", on: { click: () => cells() } }, "all pairs");
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
      };
      const cells = (): void => {
        tools.set("pair", "");
        const t = makeTable<MatrixCell>(
          [
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
            { title: "bytes", show: (c) => bytes(c.bytes), sort: (c) => c.bytes, csv: (c) => c.bytes },
            {
              title: "min",
              hint: "shortest transfer",
              show: (c) => took(c.min),
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
              show: (c) => took(c.max),
              sort: (c) => BigInt(c.max),
              csv: (c) => c.max,
              unit: "ticks",
            },
          ],
          rows,
          {
            order: 3,
            memory: tools,
            filter: (c) => `${lane.fullName(c.source)} ${lane.fullName(c.destination)}`,
            click: (c) => void list(c),
            clickHint: "list its messages",
            run: tools.run,
          },
        );
        side.replaceChildren(...(t.filter ? [el("p", {}, t.filter)] : []), t.element);
        tools.csv(t.csv);
      };
      const pair = rows.find((c) => `${c.source}~${c.destination}` === tools.get("pair"));
      if (pair) void list(pair);
      else cells();

      // the heat map has a logarithmic scale; the square of a pair is at least a pixel, and a row
      // has a name if a line of text fits
      const n = tracks.length,
        index = new Map(tracks.map((t, i) => [t, i]));
      // the shortest form of names in which they differ
      const named = n <= mostNamed,
        ways = [
          (t: number) => lane.trackName(t),
          (t: number) => lane.meta.groups[lane.meta.tracks[t]?.group ?? -1]?.name ?? "",
          (t: number) => lane.fullName(t),
        ];
      const names = named ? tracks.map(ways.find((f) => new Set(tracks.map(f)).size === n) ?? ways[2]) : [];
      const room = Math.max(160, app.dock - (named ? 170 : 100)),
        cell = Math.max(named ? 14 : 1, Math.min(22, Math.floor(room / n))),
        size = n * cell,
        dpr = Math.min(devicePixelRatio, mostFine / size);
      const cv = el("canvas", {
        role: "img",
        tabindex: 0,
        aria: { label: `Matrix of ${n} senders (down) and receivers (across); the table beside it has the figures` },
      });
      cv.style.width = cv.style.height = size + "px";
      cv.style.cursor = "pointer";
      const high = rows.reduce((m, c) => Math.max(m, value(c)), 0),
        byPlace = new Map<number, MatrixCell>();
      const edge = Math.round(size * dpr),
        pixels = new Uint32Array(edge * edge).fill(pack(app.colors.row));
      const paint = function* (): Generator<void, void> {
        const b: Bitmap = { width: edge, height: edge, pixels },
          at = (i: number): number => Math.floor(i * cell * dpr),
          wide = Math.max(1, Math.round((cell > 4 ? cell - 1 : cell) * dpr));
        yield* each(rows.length, (k) => {
          const c = rows[k],
            i = index.get(c.source),
            j = index.get(c.destination),
            v = value(c);
          if (i === undefined || j === undefined) return;
          byPlace.set(i * n + j, c);
          fill(b, { x: at(j), y: at(i), w: wide, h: wide }, pack(heat(high > 0 ? level(v, high) : 0, app.colors.dark)));
        });
        cv.width = cv.height = edge;
        cv.getContext("2d")?.putImageData(
          new ImageData(new Uint8ClampedArray(pixels.buffer as ArrayBuffer), edge, edge),
          0,
          0,
        );
      };
      const place = (e: MouseEvent): [number, number] => {
        const b = cv.getBoundingClientRect();
        return [Math.floor((e.clientY - b.top) / cell), Math.floor((e.clientX - b.left) / cell)];
      };
      cv.addEventListener("pointermove", (e) => {
        const [i, j] = place(e),
          c = byPlace.get(i * n + j);
        if (tracks[i] === undefined || tracks[j] === undefined) return;
        info.replaceChildren(
          name(lane.fullName(tracks[i])),
          " → ",
          name(lane.fullName(tracks[j])),
          c
            ? `: ${count(c.count)} messages, ${bytes(c.bytes)}, ` +
                `${c.min === "" ? "none of them received" : `${took(c.min)} to ${took(c.max)}`}`
            : ": none",
        );
      });
      cv.addEventListener("click", (e) => {
        const [i, j] = place(e),
          c = i < n && j < n ? byPlace.get(i * n + j) : undefined;
        if (c) void list(c);
      });
      const scale = el(
        "span",
        { class: "faint" },
        words(0),
        " ",
        el("span", {
          style: {
            display: "inline-block",
            width: "90px",
            height: "9px",
            background:
              `linear-gradient(90deg, ` + `${[0, 0.25, 0.5, 0.75, 1].map((f) => heat(f, app.colors.dark)).join(",")})`,
          },
        }),
        " ",
        words(high),
      );
      tools.bar.append(scale);
      const down = el(
        "div",
        { class: "down", aria: { hidden: true } },
        ...names.map((x) =>
          el("span", { title: printable(x), style: { height: cell + "px", "line-height": cell + "px" } }, name(x)),
        ),
      );
      const across = el(
        "div",
        { class: "across", aria: { hidden: true } },
        ...names.map((x) =>
          el("span", { title: printable(x), style: { width: cell + "px", "line-height": cell + "px" } }, name(x)),
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
            ...(named ? [across, down] : []),
            cv,
          ),
          side,
        ),
      );
      tools.run(paint());
    },
  };
}

/**
 * mostNamed is the largest number of senders and receivers whose names stand beside the matrix.
 * mostFine is the largest side of the matrix in pixels.
 */
const mostNamed = 40,
  mostFine = 2048;

/** level maps a value to a number from 0 (for 0) to 1 (for high), on a logarithmic scale. */
export function level(v: number, high: number): number {
  return v <= 0 ? 0 : Math.log1p(v) / Math.log1p(high);
}

/**
 * heat returns the colour of a level. Higher levels are darker on a light page, and lighter on a
 * dark one.
 */
function heat(f: number, dark: boolean): string {
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
