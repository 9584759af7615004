// The panel of differences between two traces, or two times of one trace, with the figures of weft diff.
import type { Diff, DiffMetric } from "../answers";
import type { App } from "../app";
import { button, count, el, name, printable, select } from "../dom";
import type { Panel, Tools } from "../dock";
import type { Lane } from "../lane";
import { exact, shortFloat, type Window } from "../time";
import { percentChange, type Side, Views } from "./diffviews";
import { OpenPaths } from "./tree";

/** leastSample is the least number of observations on each side for a test. */
const leastSample = 4;

/** keptTime reads the window that is kept as time A; null if there is none. */
function keptTime(text: string): Window | null {
  const m = /^(-?\d{1,40})~(-?\d{1,40})$/.exec(text);
  return m && BigInt(m[1]) < BigInt(m[2]) ? { from: BigInt(m[1]), to: BigInt(m[2]) } : null;
}

/** Part is a trace with the window of the axis that is compared. */
interface Part extends Side {
  axis: Window;
}

/** partsOf returns the two parts of traces that are compared, or null if there is only one trace and no kept time. */
function partsOf(app: App, axis: Window, tools: Tools): [a: Part, b: Part] | null {
  const [first, ...others] = app.lanes;
  if (others.length > 0) {
    const b = others.find((l) => String(l.index) === tools.get("b")) ?? others[0],
      part = (lane: Lane): Part => ({ lane, axis, text: printable(lane.title) });
    return [part(first), part(b)];
  }
  const kept = keptTime(tools.get("a")),
    part = (w: Window): Part => ({
      lane: first,
      axis: w,
      text: `${exact(w.from, app.axis)} to ${exact(w.to, app.axis)}`,
    });
  return kept && [part(kept), part(axis)];
}

/** missingSides returns a text that names the side that has no part in its time, or "". */
function missingSides(parts: readonly Part[]): string {
  const i = parts.findIndex(({ lane: l, axis }) => l.toLocal(axis.to) <= 0n || l.toLocal(axis.from) > l.length);
  return i < 0 ? "" : `${i === 0 ? "A" : "B"} has no part in this time.`;
}

/** requestDiff requests the differences. */
function requestDiff(app: App, [a, b]: readonly [Part, Part], metric: DiffMetric, signal: AbortSignal): Promise<Diff> {
  const wa = a.lane.cut(a.axis),
    wb = b.lane.cut(b.axis);
  return app.client.json<Diff>(
    `traces/${encodeURIComponent(b.lane.meta.id)}/diff`,
    { reference: a.lane.meta.id, referenceFrom: wa.from, referenceTo: wa.to, from: wb.from, to: wb.to, metric },
    signal,
  );
}

/** reportedOf returns the numbers of the regions and of the call paths that differ by both thresholds. */
function reportedOf(d: Diff): { regions: number; paths: number } {
  const of = (list: readonly { reported: boolean }[]): number => list.filter((r) => r.reported).length;
  return { regions: of(d.regions) + d.left.reportedRegions, paths: of(d.paths) + d.left.reportedPaths };
}

/** summary describes both sides in the words of the command line. */
function summary(d: Diff, [a, b]: readonly [Part, Part]): HTMLElement {
  const time = (t: number): string => shortFloat(t, a.lane.clock),
    change = (c: Diff["time"]): string => `${time(c.a)} → ${time(c.b)}, ${percentChange(c)}`,
    reported = reportedOf(d),
    [n, m] = d.samples;
  return el(
    "p",
    {},
    "A: ",
    name(a.text),
    "; B: ",
    name(b.text),
    `. Runtime ${change(d.runtime)}; all locations ${change(d.time)}. ` +
      `${count(reported.regions)} of ${count(d.comparedRegions)} regions and ` +
      `${count(reported.paths)} of ${count(d.comparedPaths)} call paths differ by ` +
      `${time(d.least)} and ${count(100 * d.change)} % or more. Observations are ${d.unit}, matched by their order: ` +
      `${count(n)} of A, ${count(m)} of B` +
      (Math.min(n, m) < leastSample
        ? `; fewer than ${leastSample} are not tested, and differences are sizes without a probability.`
        : "."),
  );
}

/** View is a way to show the differences. */
type View = "regions" | "tree" | "flame";

/** Choices are the user's choices. */
interface Choices {
  view: View;
  metric: DiffMetric;
  all: boolean;
}

/**
 * choicesOf reads the user's choices. By default, regions are compared by exclusive time, and call paths by
 * inclusive time.
 */
function choicesOf(tools: Tools): Choices {
  const view = (["tree", "flame"] as const).find((v) => v === tools.get("view")) ?? "regions",
    chosen = (["exclusive", "inclusive"] as const).find((m) => m === tools.get("metric"));
  return {
    view,
    metric: chosen ?? (view === "regions" ? "exclusive" : "inclusive"),
    all: tools.get("rows") === "all",
  };
}

/** controls adds the controls to the bar. */
function controls(app: App, c: Choices, b: Part, tools: Tools): void {
  const choice = (label: string, what: string, value: string, options: [string, string][]): HTMLElement =>
    select(label, options, value, (v) => {
      tools.set(what, v);
      tools.refresh();
    });
  const others = app.lanes.slice(1);
  tools.bar.append(
    choice("View of the differences", "view", c.view, [
      ["regions", "regions"],
      ["tree", "call tree"],
      ["flame", "flame graph"],
    ]),
    choice("Time that is compared", "metric", c.metric, [
      ["exclusive", "exclusive time"],
      ["inclusive", "inclusive time"],
    ]),
    choice("Which rows are shown", "rows", c.all ? "all" : "", [
      ["", "what differs"],
      ["all", "all"],
    ]),
  );
  if (others.length > 1)
    tools.bar.append(
      choice(
        "Trace B",
        "b",
        String(b.lane.index),
        others.map((l) => [String(l.index), l.title]),
      ),
    );
}

/**
 * diff creates the panel of differences. It compares two traces, of which the first one is A, or
 * a kept time of a single trace with its current time.
 */
export function diff(): Panel {
  const open = new OpenPaths();
  let zoomed: readonly string[] = [];
  return {
    id: "diff",
    title: "Diff",
    timeScope: "range",
    both: true,
    async render(app, { axis }, tools) {
      const hint = (text: string): void => {
        tools.body.append(el("p", { class: "faint" }, text));
        tools.csv(null);
      };
      if (app.lanes.length === 1)
        tools.bar.append(
          button("Keep as A", "Keep this time as A, to compare others with it", () => {
            tools.set("a", `${axis.from}~${axis.to}`);
            tools.refresh();
          }),
        );
      const parts = partsOf(app, axis, tools);
      if (!parts) {
        hint(
          "Select a range and keep it as A; then select another one: both are compared by region and call path. " +
            "Two traces side by side: weft view A B.",
        );
        return;
      }
      const c = choicesOf(tools),
        none = missingSides(parts);
      controls(app, c, parts[1], tools);
      if (none !== "") {
        hint(none);
        return;
      }
      const d = await requestDiff(app, parts, c.metric, tools.signal);
      if (d.missing !== "") {
        hint(`Nothing can be compared: ${printable(d.missing)}.`);
        return;
      }
      tools.body.append(summary(d, parts));
      const views = new Views(app, tools, d, parts, c.metric, c.all);
      if (!c.all && c.view !== "flame" && reportedOf(d)[c.view === "tree" ? "paths" : "regions"] === 0)
        hint("No difference.");
      else if (c.view === "flame") views.flame(zoomed, (path) => (zoomed = path));
      else if (c.view === "tree") views.tree(open);
      else views.regions();
    },
  };
}
