// The communication matrix: who sent how much to whom.
import type { LinkSet, MatrixCell } from "../api";
import { bytes, count, el, name, select } from "../dom";
import type { Panel } from "../dock";
import { exact, type Mean, meanOf, meanOrder, meanTicks, short, shortMean } from "../time";
import { makeTable } from "./table";

type Measure = "count" | "bytes" | "mean";

/** messages makes the panel of messages. */
export function messages(): Panel {
  return {
    id: "messages", title: "Messages", of: "range",
    async render(app, { lane, window: w }, tools) {
      const measure: Measure = tools.get("measure") === "count" ? "count" : tools.get("measure") === "mean" ? "mean" : "bytes";
      const path = `traces/${encodeURIComponent(lane.meta.id)}/`;
      const r = await app.client.json<{ rows: MatrixCell[] | null; tracks: number[] | null }>(path + "matrix", { from: w.from, to: w.to }, tools.signal);
      const rows = r.rows ?? [], tracks = r.tracks ?? [];
      tools.bar.append(select("Colour shows", [["bytes", "bytes"], ["count", "count"], ["mean", "mean transfer time"]], measure, (v) => { tools.set("measure", v === "bytes" ? "" : v); tools.again(); }));
      if (rows.length === 0) { tools.body.append(el("p", { class: "faint" }, "No messages were sent in this time.")); tools.csv(null); return; }
      const side = el("div", { class: "side" }), info = el("p", { class: "faint", role: "status" }, "The pointer over a cell tells its figures; a click lists its messages.");
      const mean = (c: MatrixCell): Mean | null => meanOf(BigInt(c.sum), c.matched);
      const value = (c: MatrixCell): number => (measure === "count" ? c.count : measure === "bytes" ? c.bytes : c.matched > 0 ? Number(c.sum) / c.matched : 0);
      // of a pair whose messages nobody received the server knows no times
      const took = (t: string): string => (t === "" ? "–" : short(BigInt(t), lane.clock));
      const words = (v: number): string => (measure === "count" ? count(v) : measure === "bytes" ? bytes(v) : shortMean(meanOf(BigInt(Math.round(v * 1000)), 1000), lane.clock));
      const list = async (c: MatrixCell): Promise<void> => {
        side.replaceChildren(el("p", { class: "faint" }, "loading …"));
        try {
          const s = await app.client.json<LinkSet>(path + "links", { from: w.from, to: w.to, width: 1000, tracks: c.source === c.destination ? c.source : `${Math.min(c.source, c.destination)},${Math.max(c.source, c.destination)}`, limit: 20000 }, tools.signal);
          const found = (s.links ?? []).filter((l) => l.from.track === c.source && l.to.track === c.destination);
          const t = makeTable([
            { title: "sent at", show: (l) => exact(BigInt(l.from.time), lane.clock), sort: (l) => BigInt(l.from.time), csv: (l) => l.from.time, unit: "ticks" },
            { title: "took", show: (l) => short(BigInt(l.to.time) - BigInt(l.from.time), lane.clock), sort: (l) => BigInt(l.to.time) - BigInt(l.from.time), csv: (l) => BigInt(l.to.time) - BigInt(l.from.time), unit: "ticks" },
            { title: "bytes", show: (l) => bytes(l.bytes), sort: (l) => l.bytes, csv: (l) => l.bytes },
            { title: "tag", show: (l) => String(l.tag ?? ""), sort: (l) => String(l.tag ?? ""), csv: (l) => String(l.tag ?? "") },
            ...(s.bundled ? [{ title: "messages", show: (l: (typeof found)[number]) => count(l.count), csv: (l: (typeof found)[number]) => l.count }] : []),
          ], found, { order: 0, ascending: true, clickHint: "show the sending side", click: (l) => app.reveal({ lane: lane.index, track: l.from.track, depth: Math.max(0, (lane.meta.tracks[l.from.track]?.depth ?? 1) - 1), time: BigInt(l.from.time) }, BigInt(l.from.time), BigInt(l.to.time)) });
          const back = el("button", { type: "button", class: "link", on: { click: () => cells() } }, "all pairs");
          side.replaceChildren(el("p", {}, back, " › ", name(lane.trackName(c.source)), " → ", name(lane.trackName(c.destination)), s.bundled ? el("span", { class: "faint" }, " (too many for single ones: bundles)") : null), t.element);
          tools.csv(t.csv);
        } catch (e) { if (!tools.signal.aborted) side.replaceChildren(el("p", { class: "error" }, e instanceof Error ? e.message : String(e))); }
      };
      const cells = (): void => {
        const t = makeTable<MatrixCell>([
          { title: "from", text: true, show: (c) => lane.fullName(c.source), sort: (c) => lane.fullName(c.source), csv: (c) => lane.fullName(c.source) },
          { title: "to", text: true, show: (c) => lane.fullName(c.destination), sort: (c) => lane.fullName(c.destination), csv: (c) => lane.fullName(c.destination) },
          { title: "count", show: (c) => count(c.count), sort: (c) => c.count, csv: (c) => c.count },
          { title: "bytes", show: (c) => bytes(c.bytes), sort: (c) => c.bytes, csv: (c) => c.bytes },
          { title: "min", hint: "shortest transfer", show: (c) => took(c.min), sort: (c) => BigInt(c.min), csv: (c) => c.min, unit: "ticks" },
          { title: "mean", hint: "mean transfer time", show: (c) => shortMean(mean(c), lane.clock), sort: (c) => meanOrder(mean(c)), csv: (c) => meanTicks(mean(c)), unit: "ticks" },
          { title: "max", hint: "longest transfer", show: (c) => took(c.max), sort: (c) => BigInt(c.max), csv: (c) => c.max, unit: "ticks" },
        ], rows, { order: 3, memory: tools, filter: (c) => `${lane.fullName(c.source)} ${lane.fullName(c.destination)}`, click: (c) => void list(c), clickHint: "list its messages", most: 300 });
        side.replaceChildren(...(t.filter ? [el("p", {}, t.filter)] : []), t.element);
        tools.csv(t.csv);
      };
      cells();

      // heat map: logarithmic, one square a pair, at least a pixel
      const n = tracks.length, index = new Map(tracks.map((t, i) => [t, i]));
      const room = Math.max(160, app.store.state.dock - 90), cell = Math.max(1, Math.min(22, Math.floor(room / n))), dpr = devicePixelRatio, size = n * cell;
      const cv = el("canvas", { role: "img", tabindex: 0, aria: { label: `Matrix of ${n} senders (down) and receivers (across); the table beside it has the figures` } });
      cv.width = Math.round(size * dpr); cv.height = Math.round(size * dpr); cv.style.width = cv.style.height = size + "px"; cv.style.cursor = "pointer";
      const g = cv.getContext("2d");
      const values = rows.map(value).filter((v) => v > 0), low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), 0);
      if (g) {
        g.scale(dpr, dpr); g.fillStyle = app.colors.row; g.fillRect(0, 0, size, size);
        for (const c of rows) {
          const i = index.get(c.source), j = index.get(c.destination), v = value(c);
          if (i === undefined || j === undefined) continue;
          const f = v <= 0 ? 0 : high > low ? (Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low)) : 1;
          g.fillStyle = heat(f, app.colors.dark);
          g.fillRect(j * cell, i * cell, cell > 4 ? cell - 1 : cell, cell > 4 ? cell - 1 : cell);
        }
      }
      const byPlace = new Map(rows.map((c) => [`${index.get(c.source)},${index.get(c.destination)}`, c]));
      const under = (e: MouseEvent): MatrixCell | undefined => { const b = cv.getBoundingClientRect(); return byPlace.get(`${Math.floor((e.clientY - b.top) / cell)},${Math.floor((e.clientX - b.left) / cell)}`); };
      cv.addEventListener("pointermove", (e) => {
        const b = cv.getBoundingClientRect(), i = Math.floor((e.clientY - b.top) / cell), j = Math.floor((e.clientX - b.left) / cell), c = under(e);
        if (tracks[i] === undefined || tracks[j] === undefined) return;
        info.replaceChildren(name(lane.trackName(tracks[i])), " → ", name(lane.trackName(tracks[j])), c ? `: ${count(c.count)} messages, ${bytes(c.bytes)}, ${c.min === "" ? "none of them received" : `${took(c.min)} to ${took(c.max)}`}` : ": none");
      });
      cv.addEventListener("click", (e) => { const c = under(e); if (c) void list(c); });
      const scale = el("span", { class: "faint" }, words(low === Infinity ? 0 : low), " ", el("span", { style: { display: "inline-block", width: "90px", height: "9px", background: `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map((f) => heat(f, app.colors.dark)).join(",")})` } }), " ", words(high));
      tools.bar.append(scale);
      tools.body.append(info, el("div", { class: "split" }, el("div", { style: { flex: "none", "max-width": "60%", overflow: "auto" } }, el("div", { class: "axisname" }, "sender ↓   receiver →"), cv), side));
    },
  };
}

/** heat is a colour between little and much, dark on light or light on dark, in one order of lightness. */
function heat(f: number, dark: boolean): string {
  const stops = dark ? [[38, 50, 84], [60, 84, 150], [64, 140, 170], [130, 200, 130], [250, 235, 120]] : [[222, 235, 247], [158, 202, 225], [66, 146, 198], [33, 90, 160], [8, 40, 100]];
  const x = Math.max(0, Math.min(1, f)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(x)), k = x - i;
  return `rgb(${stops[i].map((a, j) => Math.round(a + (stops[i + 1][j] - a) * k)).join(",")})`;
}
