// What reading found wrong, and where.
import type { Defect } from "../api";
import type { App } from "../app";
import { count, el, name } from "../dom";
import type { Panel } from "../dock";
import type { Lane } from "../lane";
import { exact } from "../time";
import { makeTable } from "./table";

/** Defects is the answer of /defects; more are those that are not listed. */
export interface Defects { defects: Defect[] | null; more: number }

/** Found is how many defects there are, in words too, and whether any of them is an error. */
export interface Found { count: number; words: string; bad: boolean }

/** found counts errors and warnings; notes are no defects. */
export function found(answers: readonly Defects[]): Found {
  const all = answers.flatMap((a) => a.defects ?? []).filter((d) => d.severity !== "note"), more = answers.reduce((n, a) => n + a.more, 0), errors = all.filter((d) => d.severity === "error").length;
  const some = (n: number, what: string): string => (n === 0 ? "" : `${count(n)} ${what}${n === 1 ? "" : "s"}`);
  const words = more > 0 ? some(all.length + more, "defect") + (errors > 0 ? ", errors among them" : "") : [some(errors, "error"), some(all.length - errors, "warning")].filter((x) => x !== "").join(", ");
  return { count: all.length + more, words, bad: errors > 0 };
}

/** nearby is how many events of its row should be seen beside a defect. */
const nearby = 20n;

/** go shows the place of a defect, with what is beside it, and marks the time. */
function go(app: App, lane: Lane, d: Defect, time: bigint | null): void {
  if (time === null) { app.announce("this defect has no place on the time line"); return; }
  const t = lane.meta.tracks[d.track], s = app.store.state, at = lane.toAxis(time);
  // a 100th of the trace, or more where little happens, but never more than is seen now
  const between = t && t.events > 0 ? (BigInt(t.last) - BigInt(t.first)) / BigInt(t.events) : 0n, least = lane.length / 100n + 10n;
  const wanted = lane.toAxis(nearby * between > least ? nearby * between : least) - lane.toAxis(0n), shown = s.window.to - s.window.from, size = wanted < shown ? wanted : shown;
  app.store.set({ marks: [at, null] });
  app.show({ from: at - size / 2n, to: at - size / 2n + size });
  if (!t) app.announce(`at ${exact(time, lane.clock)}; it is of no row`);
  else if (!lane.rowOf.has(d.track)) app.announce(`at ${exact(time, lane.clock)}; its row is hidden`);
  else { app.reveal({ lane: lane.index, track: d.track, depth: 0, time }, time, time); app.announce(`marked at ${exact(time, lane.clock)}`); }
}

/** defects makes the panel of defects. */
export function defects(): Panel {
  return {
    id: "defects", title: "Defects", of: "trace",
    async render(app, { lane }, tools) {
      const r = await app.client.json<Defects>(`traces/${encodeURIComponent(lane.meta.id)}/defects`, {}, tools.signal);
      const rows = r.defects ?? [];
      if (rows.length === 0) { tools.body.append(el("p", { class: "faint" }, "Nothing wrong was found.")); tools.csv(null); return; }
      const time = (d: Defect): bigint | null => (/^-?\d+$/.test(d.time ?? "") ? BigInt(d.time) : null), row = (d: Defect): string => (d.track >= 0 ? lane.fullName(d.track) : "");
      const t = makeTable<Defect>([
        { title: "severity", text: true, show: (d) => d.severity, sort: (d) => d.severity, csv: (d) => d.severity },
        { title: "what", text: true, wrap: true, show: (d) => d.message, sort: (d) => d.message, csv: (d) => d.message },
        { title: "row", text: true, show: row, sort: (d) => d.track, csv: row },
        { title: "time", show: (d) => { const x = time(d); return x === null ? "" : exact(x, lane.clock); }, sort: (d) => time(d) ?? -1n, csv: (d) => d.time, unit: "ticks" },
        { title: "file", text: true, show: (d) => el("span", { title: d.file }, name(d.file.split("/").at(-1) ?? "")), sort: (d) => d.file, csv: (d) => d.file },
        { title: "position", text: true, show: (d) => d.position, csv: (d) => d.position },
        { title: "rule", text: true, show: (d) => d.rule, sort: (d) => d.rule, csv: (d) => d.rule },
      ], rows, {
        order: 0, ascending: true, memory: tools, run: tools.run, filter: (d) => `${d.severity} ${d.rule} ${d.message} ${d.file} ${row(d)}`, clickHint: "go there",
        click: (d) => go(app, lane, d, time(d)),
      });
      tools.bar.append(...(t.filter ? [t.filter] : []));
      tools.body.append(t.element, r.more > 0 ? el("p", { class: "faint" }, `and ${count(r.more)} more; weft check lists all`) : "");
      tools.csv(t.csv);
    },
  };
}
