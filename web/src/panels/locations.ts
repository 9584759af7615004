// A row per location: who was busy with what, who sent and received. Sorting finds the straggler.
import type { LocationRow } from "../api";
import { bytes, count, el, percent, printable } from "../dom";
import type { Panel } from "../dock";
import { short } from "../time";
import { makeTable, type TableMemory } from "./table";

/** locations makes the panel of locations. */
export function locations(): Panel {
  const memory: TableMemory = { order: -1, ascending: false, filter: "" };
  return {
    id: "locations", title: "Locations", of: "range",
    async render(app, { lane, window: w }, tools) {
      const r = await app.client.json<{ rows: LocationRow[] | null }>(`traces/${encodeURIComponent(lane.meta.id)}/locations`, { from: w.from, to: w.to }, tools.signal);
      const whole = Number(w.to - w.from) || 1;
      const rows = (r.rows ?? []).map((x) => ({ ...x, time: BigInt(x.busy), label: lane.fullName(x.track), parts: (x.exclusive ?? []).map((p) => ({ region: p.region, ticks: BigInt(p.ticks) })) }));
      type Row = (typeof rows)[number];
      const bar = (x: Row): HTMLElement => el("span", { class: "stack" }, ...x.parts.map((p) => el("span", { title: `${printable(lane.meta.regions[p.region]?.name ?? "")}: ${short(p.ticks, lane.clock)}`, style: { width: `${(100 * Number(p.ticks)) / whole}%`, background: lane.colors.css[p.region] ?? app.colors.other } })));
      const largest = (x: Row): { region: number; ticks: bigint } | undefined => x.parts[0];
      const high = app.store.state.highlight;
      const ofHighlight = (x: Row): bigint => x.parts.find((p) => lane.meta.regions[p.region]?.name === high)?.ticks ?? 0n;
      const t = makeTable<Row>([
        { title: "location", text: true, show: (x) => x.label, sort: (x) => x.label, csv: (x) => x.label },
        { title: "busy", hint: "time in any region", show: (x) => short(x.time, lane.clock), sort: (x) => x.time, csv: (x) => x.time, unit: "ticks" },
        { title: "part", hint: "busy time of the window", show: (x) => percent(Number(x.time) / whole), sort: (x) => x.time, csv: (x) => Number(x.time) / whole },
        { title: "exclusive time by region", bar: true, show: bar },
        ...(high !== null ? [{ title: printable(high).slice(0, 24), hint: "exclusive time of the highlighted region, where it is among the eight largest", show: (x: Row) => short(ofHighlight(x), lane.clock), sort: ofHighlight, csv: ofHighlight, unit: "ticks" }] : []),
        { title: "most in", text: true, show: (x) => { const l = largest(x); return l ? `${lane.meta.regions[l.region]?.name ?? ""}` : ""; }, sort: (x) => lane.meta.regions[largest(x)?.region ?? -1]?.name ?? "", csv: (x) => lane.meta.regions[largest(x)?.region ?? -1]?.name ?? "" },
        { title: "spans", show: (x) => count(x.spans), sort: (x) => x.spans, csv: (x) => x.spans },
        { title: "sent", show: (x) => `${count(x.sent)}`, sort: (x) => x.sent, csv: (x) => x.sent },
        { title: "sent bytes", show: (x) => bytes(x.sentBytes), sort: (x) => x.sentBytes, csv: (x) => x.sentBytes },
        { title: "received", show: (x) => `${count(x.received)}`, sort: (x) => x.received, csv: (x) => x.received },
        { title: "received bytes", show: (x) => bytes(x.receivedBytes), sort: (x) => x.receivedBytes, csv: (x) => x.receivedBytes },
      ], rows, {
        order: 1, memory, filter: (x) => x.label, clickHint: "show this row in the time line",
        click: (x) => { const i = lane.rowOf.get(x.track); if (i === undefined) app.announce("this row is hidden"); else app.reveal({ lane: lane.index, track: x.track, depth: 0, time: w.from + (w.to - w.from) / 2n }, w.from, w.to); },
      });
      // the balance is one of locations
      const times = rows.filter((x) => lane.meta.tracks[x.track]?.kind === "location").map((x) => Number(x.time)), mean = times.reduce((a, b) => a + b, 0) / Math.max(1, times.length), most = times.reduce((a, b) => Math.max(a, b), 0);
      tools.bar.append(el("span", { title: "load balance: mean busy time of the largest" }, most > 0 ? `mean/max busy ${percent(mean / most)}` : ""), ...(t.filter ? [t.filter] : []));
      tools.body.append(t.element);
      tools.csv(t.csv);
    },
  };
}
