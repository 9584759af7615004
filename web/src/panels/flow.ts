// The panel of flow. It shows the throughput, latency and work in progress of the objects that go
// through a system. It can also show these signals as rows below the time line.
import type { Flow, FlowCurves, FlowObject, FlowSignal } from "../answers";
import { ApiError } from "../api";
import type { App } from "../app";
import { count, countWords, el, printable, select } from "../dom";
import type { Panel, Scope, Tools } from "../dock";
import { removeChoice, showInterval, type Source } from "../extras";
import type { Lane } from "../lane";
import { Overlay } from "../overlays";
import { exact, short } from "../time";
import { chooser, usualChoice } from "./objects";
import { makeTable, type Table } from "./table";
import { keepTime, timeKey, timeOf, timeQuery } from "./times";

/** units lists the time units of throughput and latency. */
const units = ["ns", "us", "ms", "s", "min", "h"];

/** textParameters lists the parameters that the user types, each with its meaning and an example. */
const textParameters: readonly (readonly [what: string, label: string, example: string])[] = [
  ["begin", "Events at which objects enter", "come: start A"],
  ["end", "Events at which objects leave", "leave: end G"],
  ["events", "Events that are counted", "count: end G"],
  ["average", "Signals are averaged over this time", "average: 10ms"],
];

/** queryOf returns the parameters for the choices in the state, or null if no objects are chosen. */
function queryOf(app: App, lane: Lane): Record<string, string | undefined> | null {
  const { from, to } = timeQuery(lane, timeOf(app, "flow"));
  const get = (what: string): string | undefined => app.store.state.choices.get(`flow.${what}`),
    of = get("of") ?? usualChoice(lane, false),
    messages = of === "messages",
    m = messages ? ["", "messages", "1"] : /^(by|visits) ([\s\S]+)$/.exec(of),
    // a message enters and leaves with its send and receive
    texts = textParameters.filter(([what]) => !messages || (what !== "begin" && what !== "end"));
  return m
    ? {
        [m[1]]: m[2],
        ...Object.fromEntries(texts.map(([what]) => [what, get(what)])),
        per: get("per"),
        shorten: get("shorten"),
        since: from?.toString(),
        until: to?.toString(),
      }
    : null;
}

/** shownOf returns the signals that the user has chosen for the time line: their names and their lane. */
function shownOf(app: App): { lane: Lane | undefined; names: string[] } {
  const m = /^(\d+) ([\s\S]*)$/.exec(app.store.state.choices.get("flow.signals") ?? "");
  return { lane: app.lanes[Number(m?.[1] ?? -1)], names: m ? m[2].split(",") : [] };
}

type Latencies = NonNullable<Flow["latencies"]>;

/** flowSource shows signals as rows below the time line. */
export const flowSource: Source = {
  id: "flow",
  key(app) {
    const { lane, names } = shownOf(app);
    return lane
      ? JSON.stringify([lane.index, names, { ...queryOf(app, lane), since: "", until: "" }, timeKey(app, "flow")])
      : "";
  },
  async load(app, signal, changed) {
    const { lane, names } = shownOf(app),
      q = lane ? queryOf(app, lane) : null;
    if (!lane || !q) return [];
    const path = `traces/${encodeURIComponent(lane.meta.id)}/flow`,
      r = await app.client.json<Flow>(path, q, signal),
      curves = new Overlay<FlowCurves>(app.client, `${path}/signals`, "signals", changed, q);
    const shown = r.signals.filter((s) => names.includes(s.name));
    if (shown.length === 0) return [];
    return [
      {
        lane: lane.index,
        title:
          `flow: ${countWords(r.objects, "object")} ` +
          (q.by !== undefined ? `by ${q.by}` : q.messages ? ", messages" : `, visits of ${q.visits ?? ""}`),
        rows: shown.map((s) => ({
          label: s.name,
          level: 0,
          bars: [],
          curve: {
            low: Math.min(0, s.low),
            high: s.high,
            unit: s.unit,
            values: () => {
              const v = curves.data?.signals.find((x) => x.name === s.name);
              return v && curves.data ? { from: BigInt(curves.data.from), to: BigInt(curves.data.to), ...v } : null;
            },
          },
        })),
        marks: [],
        request: (w, width) => curves.show(w, width),
      },
    ];
  },
  remove: (app) => removeChoice(app, "flow.signals"),
};

/** formatSix formats a number with six digits, as the command line does. */
const formatSix = (v: number): string => String(Number(v.toPrecision(6)));

/** controls returns the fields for the choices of the panel. */
function controls(lane: Lane, tools: Tools): HTMLElement {
  const choose = (what: string, value: string): void => {
    tools.set(what, value);
    tools.refresh();
  };
  const objects = chooser(lane, tools.get("of") || usualChoice(lane, false), false, (v) => choose("of", v)),
    shorten = el("input", { type: "checkbox" });
  shorten.checked = tools.get("shorten") === "1";
  shorten.addEventListener("change", () => choose("shorten", shorten.checked ? "1" : ""));
  return el(
    "div",
    { class: "controls" },
    objects.select,
    objects.input,
    objects.list,
    ...textParameters.map(([what, label, example]) => {
      const input = el("input", {
        type: "search",
        class: "narrow",
        placeholder: example,
        value: tools.get(what),
        title: label,
        aria: { label },
      });
      input.addEventListener("change", () => choose(what, input.value.trim()));
      return input;
    }),
    el("label", { title: "At the begin average over the time since the begin" }, shorten, " shorten"),
    select(
      "Time unit of throughput and latency",
      units.map((u) => [u, `per ${u}`] as const),
      tools.get("per") || "s",
      (v) => choose("per", v === "s" ? "" : v),
    ),
  );
}

/** signalTable lists the signals. A click on a signal shows it on the time line, or removes it. */
function signalTable(app: App, { lane, axis }: Scope, tools: Tools, r: Flow): HTMLElement {
  const toggle = (name: string): void => {
    const held = shownOf(app),
      names = held.lane === lane ? held.names : [],
      next = names.includes(name) ? names.filter((x) => x !== name) : [...names, name];
    keepTime(app, "flow", axis);
    tools.set("signals", next.length > 0 ? `${lane.index} ${next.join(",")}` : "");
    app.announce(`${name}: ${names.includes(name) ? "removed from" : "shown on"} the time line`);
  };
  const figure = (
    title: string,
    f: (s: FlowSignal) => number,
  ): Parameters<typeof makeTable<FlowSignal>>[0][number] => ({
    title,
    show: (s) => formatSix(f(s)),
    sort: f,
  });
  return makeTable<FlowSignal>(
    [
      { title: "signal", text: true, show: (s) => s.name },
      figure("mean", (s) => s.mean),
      figure("min", (s) => s.min),
      figure("max", (s) => s.max),
      { title: "unit", text: true, show: (s) => s.unit },
    ],
    r.signals,
    {
      order: -1,
      run: tools.run,
      click: (s) => toggle(s.name),
      clickHint: "show this signal as a row of the time line, or remove it",
    },
  ).element;
}

/** latencyTable returns the table with the percentiles of the latency. */
function latencyTable(lane: Lane, tools: Tools, l: Latencies): HTMLElement {
  const time = (t: string): string => short(BigInt(t), lane.clock);
  return makeTable(
    [
      ...(["min", "mean", "median", "p90", "p99", "max"] as const).map((k) => ({
        title: k === "p90" ? "90 %" : k === "p99" ? "99 %" : k === "min" ? "latency: min" : k,
        show: () => time(k === "mean" ? String(Math.round(l.mean)) : l[k]),
      })),
    ],
    [l],
    { order: -1, run: tools.run },
  ).element;
}

/** histogram returns a table with the number of objects in each interval of latency. */
function histogram(lane: Lane, tools: Tools, l: Latencies): HTMLElement {
  const time = (t: string): string => short(BigInt(t), lane.clock);
  const most = l.histogram.reduce((n, b) => Math.max(n, b.count), 1);
  return makeTable<(typeof l.histogram)[number]>(
    [
      { title: "latency from", show: (b) => time(b.from) },
      { title: "to", show: (b) => time(b.to) },
      { title: "objects", show: (b) => count(b.count) },
      {
        title: "",
        bar: true,
        show: (b) =>
          el("span", { class: "bar", style: { width: `${(100 * b.count) / most}%`, background: "#0072b2" } }),
      },
    ],
    l.histogram,
    { order: -1, run: tools.run },
  ).element;
}

/** objectTable returns the table of the objects that stay longest in the system. */
function objectTable(app: App, { lane, axis }: Scope, tools: Tools, r: Flow): Table {
  const stay = (o: FlowObject): bigint => BigInt(o.to) - BigInt(o.from);
  return makeTable<FlowObject>(
    [
      { title: "object", text: true, show: (o) => o.object, sort: (o) => o.object, csv: (o) => o.object },
      { title: "latency", show: (o) => short(stay(o), lane.clock), sort: stay, csv: stay, unit: "ticks" },
      {
        title: "from",
        show: (o) => exact(BigInt(o.from), lane.clock),
        sort: (o) => BigInt(o.from),
        csv: (o) => o.from,
        unit: "ticks",
      },
      {
        title: "to",
        show: (o) => exact(BigInt(o.to), lane.clock),
        sort: (o) => BigInt(o.to),
        csv: (o) => o.to,
        unit: "ticks",
      },
    ],
    r.longest,
    {
      order: 1,
      memory: tools,
      run: tools.run,
      filter: (o) => o.object,
      left:
        r.objects > r.longest.length
          ? `${count(r.objects - r.longest.length)} objects that stay shorter are left out`
          : "",
      click: (o) => {
        keepTime(app, "flow", axis);
        showInterval(app, lane, BigInt(o.from), BigInt(o.to));
      },
      clickHint: "go to the time of this object",
    },
  );
}

/** flow creates the panel of flow. */
export function flow(): Panel {
  return {
    id: "flow",
    title: "Flow",
    timeScope: "trace",
    choosesTime: true,
    whole: "the whole trace, regardless of range and window",
    async render(app, scope, tools) {
      const { lane } = scope;
      tools.body.append(controls(lane, tools));
      tools.csv(null);
      const q = queryOf(app, lane);
      if (!q) {
        tools.body.append(el("p", { class: "faint" }, "Choose the region whose visits are the objects."));
        return;
      }
      let r: Flow;
      try {
        r = await app.client.json<Flow>(`traces/${encodeURIComponent(lane.meta.id)}/flow`, q, tools.signal);
      } catch (e) {
        // keep the text that the user typed, so that the user can correct it
        if (!(e instanceof ApiError) || e.status !== 400) throw e;
        tools.body.append(el("p", { class: "error", role: "alert" }, printable(e.message)));
        return;
      }
      if (r.missing !== "" || !r.latencies) {
        tools.body.append(el("p", { class: "faint" }, `There is no flow: ${printable(r.missing)}.`));
        return;
      }
      const notes = [
        `${countWords(r.objects, "object")}, from ${exact(BigInt(r.first), lane.clock)} ` +
          `to ${exact(BigInt(r.last), lane.clock)}`,
        ...(r.incomplete > 0 ? [`${count(r.incomplete)} more do not both come and leave`] : []),
        ...(r.instant > 0 ? [`${count(r.instant)} have a single time, and do not count in the signals`] : []),
      ];
      const longest = objectTable(app, scope, tools, r);
      tools.bar.append(...(longest.filter ? [longest.filter] : []));
      tools.body.append(
        el("p", {}, `${notes.join("; ")}.`),
        el(
          "div",
          { class: "tables" },
          el(
            "div",
            {},
            signalTable(app, scope, tools, r),
            latencyTable(lane, tools, r.latencies),
            histogram(lane, tools, r.latencies),
          ),
          longest.element,
        ),
      );
      tools.csv(longest.csv);
    },
  };
}
