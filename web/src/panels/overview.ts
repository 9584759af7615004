// What the trace is: figures of the index and the JSON of `weft info`.
import { bytes, count, el, name } from "../dom";
import type { Panel } from "../dock";
import { exact } from "../time";

/** overview makes the panel of general facts. */
export function overview(): Panel {
  return {
  id: "overview", title: "Overview", of: "trace",
  async render(app, { lane }, tools) {
    const m = lane.meta, kinds = new Map<string, number>();
    for (const t of m.tracks) kinds.set(t.kind, (kinds.get(t.kind) ?? 0) + 1);
    const facts: [string, string][] = [
      ["name", m.name], ["path", m.path], ["format", m.format], ["size", bytes(m.bytes)],
      ["length", exact(lane.length, lane.clock)], ["events", count(m.events)], ["spans", count(m.spans)], ["links", count(m.links)],
      ...[...kinds].map(([k, n]): [string, string] => [`${k}s`, count(n)]), ["regions", count(m.regions.length)],
      ["clock", `${m.clock.num}${String(m.clock.den) === "1" ? "" : "/" + String(m.clock.den)} ticks a second`], ["first event at", `${m.origin} ticks`],
      ...(m.epoch ? [["began", new Date(Number(BigInt(m.epoch) / 1000000n)).toISOString()] as [string, string]] : []), ["defects", count(m.defects)],
    ];
    const info = await app.client.json<unknown>(`traces/${encodeURIComponent(m.id)}/info`, {}, tools.signal).catch((e: unknown) => { if (tools.signal.aborted) throw e; return null; });
    tools.body.append(el("div", { class: "split" },
      el("div", { class: "side" }, el("dl", { class: "facts2" }, ...facts.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, name(v))]))),
      el("div", { class: "side" }, info === null ? "" : tree(info))));
  },
  };
}

/** tree shows JSON as nested lists that fold. */
function tree(v: unknown): HTMLElement {
  if (Array.isArray(v)) {
    const list = v as unknown[];
    return el("div", {}, ...list.slice(0, 200).map((x) => (typeof x === "object" && x !== null ? el("details", {}, el("summary", {}, name(title(x))), tree(x)) : el("div", {}, name(String(x))))), list.length > 200 ? el("p", { class: "faint" }, `${list.length - 200} more`) : null);
  }
  if (typeof v === "object" && v !== null) {
    return el("dl", { class: "facts2" }, ...Object.entries(v).flatMap(([k, x]) => [el("dt", {}, name(k)), el("dd", {}, typeof x === "object" && x !== null ? el("details", {}, el("summary", {}, Array.isArray(x) ? `${x.length} entries` : `${Object.keys(x).length} entries`), tree(x)) : name(String(x)))]));
  }
  return el("span", {}, name(String(v)));
}

function title(v: object): string {
  for (const k of ["name", "kind", "id"]) { const x = (v as Record<string, unknown>)[k]; if (typeof x === "string" || typeof x === "number") return String(x); }
  return `${Object.keys(v).length} entries`;
}
