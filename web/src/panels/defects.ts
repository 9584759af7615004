// What reading found wrong, and where.
import type { Defect } from "../api";
import { count, el } from "../dom";
import type { Panel } from "../dock";
import { exact } from "../time";
import { makeTable, type TableMemory } from "./table";

/** defects makes the panel of defects. */
export function defects(): Panel {
  const memory: TableMemory = { order: -1, ascending: true, filter: "" };
  return {
    id: "defects", title: "Defects", of: "trace",
    async render(app, { lane }, tools) {
      const r = await app.client.json<{ defects: Defect[] | null; more: number }>(`traces/${encodeURIComponent(lane.meta.id)}/defects`, {}, tools.signal);
      const rows = r.defects ?? [];
      if (rows.length === 0) { tools.body.append(el("p", { class: "faint" }, "Nothing wrong was found.")); tools.csv(null); return; }
      const time = (d: Defect): bigint | null => (/^-?\d+$/.test(d.time ?? "") ? BigInt(d.time) : null);
      const t = makeTable<Defect>([
        { title: "severity", text: true, show: (d) => d.severity, sort: (d) => d.severity, csv: (d) => d.severity },
        { title: "rule", text: true, show: (d) => d.rule, sort: (d) => d.rule, csv: (d) => d.rule },
        { title: "what", text: true, show: (d) => d.message, sort: (d) => d.message, csv: (d) => d.message },
        { title: "row", text: true, show: (d) => (d.track >= 0 ? lane.fullName(d.track) : ""), sort: (d) => d.track, csv: (d) => (d.track >= 0 ? lane.fullName(d.track) : "") },
        { title: "time", show: (d) => { const x = time(d); return x === null ? "" : exact(x, lane.clock); }, sort: (d) => time(d) ?? -1n, csv: (d) => d.time, unit: "ticks" },
        { title: "file", text: true, show: (d) => d.file, sort: (d) => d.file, csv: (d) => d.file },
        { title: "position", text: true, show: (d) => d.position, csv: (d) => d.position },
      ], rows, {
        order: 0, ascending: true, memory, filter: (d) => `${d.severity} ${d.rule} ${d.message} ${d.file}`, clickHint: "go there",
        click: (d) => { const x = time(d); if (x === null || d.track < 0) app.announce("this defect has no place on the time line"); else app.reveal({ lane: lane.index, track: d.track, depth: 0, time: x }, x, x); },
      });
      tools.bar.append(...(t.filter ? [t.filter] : []));
      tools.body.append(t.element, r.more > 0 ? el("p", { class: "faint" }, `and ${count(r.more)} more; weft check lists all`) : "");
      tools.csv(t.csv);
    },
  };
}
