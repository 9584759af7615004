// The panel of general facts about the trace: numbers of its index, and the answer of /info.
import { isAbort, errorText } from "../api";
import { bytesText, count, countWords, el, name, printable } from "../dom";
import type { Panel } from "../dock";
import type { Lane } from "../lane";
import { exact } from "../time";
import { formatValue } from "./counters";

/**
 * Info holds the fields of the answer of /info that the panel uses (docs/json/info.md). Any of them may
 * be missing.
 */
interface Info {
  origin?: string;
  first?: number | null;
  last?: number | null;
  events?: number;
  derived?: number;
  unclosed?: number;
  orphans?: number;
  errors?: number;
  warnings?: number;
  missing?: number | null;
  timesChanged?: boolean;
  clock?: { resolution?: string };
  files?: { path: string; size: number }[] | null;
  properties?: Record<string, unknown> | null;
  kinds?: { name: string; events: number; derived: number }[] | null;
  locations?: { id: string; name?: string; kind: string; group?: string; events: number }[] | null;
  regions?: { name: string; count: number }[] | null;
  resources?: { id: string; name?: string; capacity?: number; unit?: string; count: number }[] | null;
  signals?:
    { id: string; name?: string; unit?: string; kind: string; events: number; min: unknown; max: unknown }[] | null;
  attributes?: { name: string; uses: number }[] | null;
  definitionRecords?: { type: string; count: number }[] | null;
}

/** mostRows is the largest number of rows that a list shows. */
const mostRows = 200;

/** facts returns the general facts, each as [name, value, additional text]. */
function facts(lane: Lane, i: Info): [string, string, string?][] {
  const m = lane.meta,
    of = (kind: string): typeof m.tracks => m.tracks.filter((t) => t.kind === kind),
    spans = (kind: string): number => of(kind).reduce((n, t) => n + t.spans, 0);
  const out: [string, string, string?][] = [
    ["name", m.name],
    ["path", m.path],
    ["format", i.origin ? `${m.format}, made of ${i.origin}` : m.format],
    [
      "size",
      i.files && i.files.length > 1
        ? `${bytesText(i.files.reduce((n, f) => n + f.size, 0))} in ${countWords(i.files.length, "file")}`
        : bytesText(m.bytes),
    ],
  ];
  if (m.epoch)
    out.push([
      "first event on",
      new Date(Number(BigInt(m.epoch) / 1000000n)).toISOString().replace("T", " ").replace("Z", " UTC"),
    ]);
  out.push([
    "first event at",
    exact(BigInt(m.origin), lane.clock),
    ", on the clock of the trace; all other times of this page count from it",
  ]);
  const last =
    typeof i.first === "number" &&
    typeof i.last === "number" &&
    Number.isSafeInteger(i.last) &&
    Number.isSafeInteger(i.first) &&
    i.missing === undefined
      ? BigInt(i.last) - BigInt(i.first)
      : lane.length;
  out.push([
    "length",
    exact(lane.length, lane.clock),
    last < lane.length ? `, the last event is at ${exact(last, lane.clock)}; curves go on after it` : "",
  ]);
  out.push([
    "clock",
    `${count(Number(m.clock.num))}${String(m.clock.den) === "1" ? "" : "/" + String(m.clock.den)} ticks a second`,
    i.clock?.resolution ? `, a tick is ${i.clock.resolution}` : "",
  ]);
  const beside = (i.events ?? 0) + (i.derived ?? 0) - m.events;
  out.push([
    "events",
    count(m.events),
    (i.derived ? `, ${count(i.derived)} of them follow from others` : "") +
      (beside > 0 && i.missing === undefined
        ? `, besides ${countWords(beside, "marker, snapshot or summary", "markers, snapshots and summaries")}`
        : ""),
  ]);
  const tracks = m.tracks.filter((t) => t.events > 0 && t.kind !== "communicator").length,
    defined = i.locations?.length ?? tracks;
  out.push([
    "locations",
    `${count(tracks)} with events`,
    defined > tracks ? ` of ${count(defined)} that are defined` : "",
  ]);
  const visited = i.regions?.filter((r) => r.count > 0).length ?? 0;
  const sorts = [
    ["location", "visit", "region", visited],
    ["resource", "claim", "resource", of("resource").length],
    ["communicator", "collective operation", "communicator", of("communicator").length],
  ] as const;
  const made = sorts
    .filter(([kind]) => spans(kind) > 0)
    .map(([kind, one, what, n]) => countWords(spans(kind), one) + (n > 0 ? ` of ${countWords(n, what)}` : ""));
  out.push(["spans", count(m.spans), made.length > 0 ? ": " + made.join(", ") : ""]);
  if (of("counter").length > 0) out.push(["counters and signals", count(of("counter").length)]);
  out.push(["links", count(m.links), ": messages that were received, dependencies, forks and joins"]);
  if (i.unclosed) out.push(["never ended", count(i.unclosed), " visits and claims, which are open at the end"]);
  if (i.orphans) out.push(["never begun", count(i.orphans), " leaves and releases, which have no begin"]);
  const errors = i.errors,
    warnings = i.warnings ?? 0;
  out.push([
    "defects",
    errors === undefined
      ? count(m.defects)
      : errors + warnings === 0
        ? "none"
        : `${countWords(errors, "error")}, ${countWords(warnings, "warning")}`,
    errors === undefined || errors + warnings > 0 ? " found while reading: see Defects" : "",
  ]);
  return out;
}

/** listTable creates a table that the user can fold. It returns "" if there are no rows. */
function listTable(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  open = false,
): HTMLElement | string {
  if (rows.length === 0) return "";
  const cell = (tag: "th" | "td", text: string, i: number): HTMLElement =>
    el(tag, { class: i === 0 ? "text wrap" : i < head.length - 1 || head[i] === "value" ? "text" : "" }, name(text));
  const d = el(
    "details",
    {},
    el("summary", {}, title),
    el(
      "table",
      { class: "list" },
      el("thead", {}, el("tr", {}, ...head.map((h, i) => cell("th", h, i)))),
      el("tbody", {}, ...rows.slice(0, mostRows).map((r) => el("tr", {}, ...r.map((x, i) => cell("td", x, i))))),
    ),
    rows.length > mostRows ? el("p", { class: "faint" }, `the first ${mostRows} of ${count(rows.length)}`) : null,
  );
  d.open = open;
  return d;
}

function valueText(x: unknown): string {
  return typeof x === "number"
    ? formatValue(x)
    : x === null || x === undefined
      ? "–"
      : typeof x === "object"
        ? JSON.stringify(x)
        : String(x as string | boolean);
}

/** factTables returns the tables of facts, such as the table of locations. */
function factTables(i: Info): (HTMLElement | string)[] {
  const l = i.locations ?? [],
    s = i.signals ?? [],
    f = i.files ?? [],
    k = i.kinds ?? [],
    p = Object.entries(i.properties ?? {}),
    a = i.attributes ?? [],
    r = i.resources ?? [],
    d = i.definitionRecords ?? [];
  return [
    i.missing !== undefined
      ? el("p", { class: "faint" }, "Numbers by kind and location are from sums that the trace keeps of itself.")
      : "",
    listTable(
      countWords(p.length, "property", "properties"),
      ["property", "value"],
      p.map(([x, v]) => [x, valueText(v)]),
      true,
    ),
    listTable(
      countWords(k.length, "kind of event", "kinds of events"),
      ["kind", ...(i.derived ? ["that follow from others"] : []), "records"],
      k.map((x) => [
        x.name.replaceAll("-", " "),
        ...(i.derived ? [x.derived > 0 ? count(x.derived) : ""] : []),
        count(x.events),
      ]),
      true,
    ),
    listTable(
      countWords(f.length, "file"),
      ["file", "size"],
      f.map((x) => [x.path, bytesText(x.size)]),
    ),
    listTable(
      countWords(l.length, "location"),
      ["location", "of", "kind", "events"],
      l.map((x) => [x.name ?? x.id, x.group ?? "", x.kind, count(x.events)]),
    ),
    listTable(
      countWords(r.length, "resource"),
      ["resource", "capacity", "claims"],
      r.map((x) => [
        x.name ?? x.id,
        x.capacity === undefined ? "" : formatValue(x.capacity) + (x.unit ? " " + x.unit : ""),
        count(x.count),
      ]),
    ),
    listTable(
      countWords(s.length, "counter or signal", "counters and signals"),
      ["counter", "unit", "least", "greatest", "values"],
      s.map((x) => [x.name ?? x.id, x.unit ?? "", valueText(x.min), valueText(x.max), count(x.events)]),
    ),
    listTable(
      countWords(a.length, "attribute") + " of events",
      ["attribute", "used"],
      a.map((x) => [x.name, countWords(x.uses, "time")]),
    ),
    listTable(
      countWords(d.length, "kind of definition", "kinds of definitions"),
      ["definition", "records"],
      d.map((x) => [x.type, count(x.count)]),
    ),
  ];
}

/** overview creates the panel of general facts. */
export function overview(): Panel {
  return {
    id: "overview",
    title: "Overview",
    timeScope: "trace",
    render(app, { lane }, tools) {
      const left = el("dl", { class: "facts2" }),
        right = el("div", { class: "side" }, el("p", { class: "faint" }, "Reading the trace for more information …"));
      const say = (i: Info): void =>
        left.replaceChildren(
          ...facts(lane, i).flatMap(([t, v, more]) => [
            el("dt", {}, t),
            el("dd", {}, name(v), more ? el("span", { class: "faint" }, printable(more)) : null),
          ]),
        );
      // show the numbers of the index first, because /info may have to read the trace
      say({});
      tools.body.append(el("div", { class: "split" }, el("div", { class: "side" }, left), right));
      tools.csv(null);
      app.client
        .json<Info>(`traces/${encodeURIComponent(lane.meta.id)}/info`, {}, tools.signal)
        .then((i) => {
          say(i);
          right.replaceChildren(...factTables(i));
        })
        .catch((e: unknown) => {
          if (!isAbort(e))
            right.replaceChildren(
              el("p", { class: "error" }, `More information could not be read: ${printable(errorText(e))}`),
            );
        });
    },
  };
}
