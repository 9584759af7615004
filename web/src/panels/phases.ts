// The factors of efficiency over time: of equal parts of a window, of the visits of a region, or of the
// iterations of a loop.
import type { Phase, Phases } from "../answers";
import type { App } from "../app";
import { count, el, name, printable } from "../dom";
import type { Scope, Tools } from "../dock";
import { showInterval } from "../extras";
import type { Lane } from "../lane";
import { exact, short } from "../time";
import { chosenRows } from "./parts";
import { visitsField, visitsSelect } from "./objects";
import { type Column, makeTable } from "./table";

/** lowFactor is the value below which a factor is emphasised. */
export const lowFactor = 0.8;

/** toneColor returns the colour for a factor: from red for 0.5 through yellow to green for 1. */
export function toneColor(value: number): string {
  const x = Math.max(0, Math.min(1, (value - 0.5) / 0.5));
  return `hsl(${Math.round(120 * x)} 65% 45%)`;
}

/**
 * phaseChooser returns the control for choosing the phases. Its value is "" for the whole window as one
 * phase, "time" for equal parts, "loop" for iterations, or "visits NAME".
 */
export function phaseChooser(lane: Lane, value: string, change: (v: string) => void): HTMLElement[] {
  const { input, list } = visitsField(
    lane,
    { id: "regions-efficiency", label: "Region whose visits are the phases" },
    value,
    change,
  );
  const options: (readonly [string, string])[] = [
    ["", "all of it"],
    ["time", "over time"],
    ["loop", "iterations of the loop"],
    ["visits", "visits of"],
  ];
  return [visitsSelect("The time that has the factors", options, value, input, change), input, list];
}

/** queryOf returns the parameters of a request for phases. */
function queryOf(choice: string): Record<string, string> {
  return choice.startsWith("visits ") ? { by: "region", region: choice.slice("visits ".length) } : { by: choice };
}

/** columnsOf returns the columns of the table: a phase, its time, and its factors. */
function columnsOf(r: Phases, lane: Lane): Column<Phase>[] {
  const factor = (title: string, i: number): Column<Phase> => ({
    title,
    show: (p) => {
      const v = p.values[i];
      if (v === undefined) return "";
      const text = el("span", { class: v < lowFactor ? "low" : "" }, v.toFixed(3)),
        bar = el("span", {
          class: "bar small",
          style: { width: `${40 * Math.max(0, Math.min(1, v))}px`, background: toneColor(v) },
        });
      return el("span", { class: "factor" }, bar, text);
    },
    sort: (p) => p.values[i] ?? Infinity,
    csv: (p) => p.values[i] ?? "",
  });
  const length = (p: Phase): bigint => BigInt(p.to) - BigInt(p.from);
  return [
    { title: "phase", show: (p) => count(p.number), sort: (p) => p.number, csv: (p) => p.number },
    {
      title: "from",
      show: (p) => exact(BigInt(p.from), lane.clock),
      sort: (p) => BigInt(p.from),
      csv: (p) => p.from,
      unit: "ticks",
    },
    {
      title: "duration",
      show: (p) => short(length(p), lane.clock),
      sort: length,
      csv: length,
      unit: "ticks",
    },
    ...r.factors.map((f, i) => factor(f.name, i)),
  ];
}

/** showPhases fills the panel with the phases of a choice. */
export async function showPhases(app: App, scope: Scope, tools: Tools, choice: string): Promise<void> {
  const { lane, window: w, axis } = scope;
  const r = await app.client.json<Phases>(
    `traces/${encodeURIComponent(lane.meta.id)}/efficiency/phases`,
    { from: w.from, to: w.to, ...chosenRows(lane, tools), ...queryOf(choice) },
    tools.signal,
  );
  if (r.missing !== "") {
    tools.body.append(el("p", { class: "faint" }, `There is no efficiency: ${printable(r.missing)}.`));
    return;
  }
  if (r.steps.length > 0) {
    const steps = r.steps.slice(0, 20).join(", ") + (r.steps.length > 20 ? ", …" : "");
    tools.body.append(el("p", {}, "An iteration has the steps ", name(steps), "."));
  }
  const t = makeTable<Phase>(columnsOf(r, lane), r.phases, {
    order: 0,
    ascending: true,
    memory: tools,
    run: tools.run,
    left: r.left > 0 ? `${count(r.left)} later phases are left out` : "",
    click: (p) => {
      app.keepRange(axis);
      showInterval(app, lane, BigInt(p.from), BigInt(p.to));
      app.announce(`phase ${p.number}`);
    },
    clickHint: "show the phase on the time line",
  });
  tools.body.append(t.element);
  tools.csv(t.csv);
}
