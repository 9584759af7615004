// The panel of calls. It lists the calls of a region, with the longest first.
import type { SpanDetails, SpanInfo } from "../api";
import type { App } from "../app";
import { count, el, printable, select } from "../dom";
import type { Panel, Scope, Tools } from "../dock";
import type { Lane } from "../lane";
import { exact, parse, short, type Window } from "../time";
import { makeTable, type Table } from "./table";

/** maxCalls is the largest number of calls in the list. */
const maxCalls = 1000;

/** Calls is the answer of /calls. more is set if the answer leaves out calls. */
interface Calls {
  calls: SpanInfo[];
  more: boolean;
}

/**
 * regionsOf returns the numbers of the regions with a name, or with a label of [Lane.regionLabel],
 * as a parameter of a request.
 */
export function regionsOf(lane: Lane, name: string): string {
  return lane.meta.regions
    .flatMap((r, i) => (r.name === name || lane.regionLabel(i, r.name) === name ? [i] : []))
    .join(",");
}

/**
 * selectLongestCall selects the call or claim of some regions that lasts longest inside of a window. The
 * table keeps its content.
 */
export async function selectLongestCall(
  app: App,
  { lane, window: w, axis }: Scope,
  regions: string,
  kind: string,
  tracks?: string,
): Promise<void> {
  const r = await app.client.json<Calls>(`traces/${encodeURIComponent(lane.meta.id)}/calls`, {
    regions,
    kind,
    from: w.from,
    to: w.to,
    tracks,
    by: "part",
    limit: 1,
  });
  if (r.calls.length > 0) selectCall(app, lane, axis, r.calls[0]);
  else app.announce("there is no such call in this time");
}

/** selectCallAt selects the call of a track that is open at a time and at a depth. */
export async function selectCallAt(
  app: App,
  { lane, axis }: Scope,
  track: number,
  depth: number,
  time: string,
): Promise<void> {
  const r = await app.client.json<SpanDetails>(`traces/${encodeURIComponent(lane.meta.id)}/span`, {
    track,
    depth,
    time,
  });
  selectCall(app, lane, axis, r.span);
}

/**
 * selectCall selects a call, or the part of a call that s describes. axis is the time of the table,
 * which keeps its content.
 */
export function selectCall(
  app: App,
  lane: Lane,
  axis: Window,
  s: Pick<SpanInfo, "track" | "depth" | "start" | "end">,
): void {
  app.keepRange(axis);
  app.uncover(lane.index, s.track);
  app.reveal(
    { lane: lane.index, track: s.track, depth: s.depth, time: BigInt(s.start) },
    BigInt(s.start),
    BigInt(s.end),
  );
}

/** maxLeast is the largest minimal duration that the server accepts. Every call is shorter. */
const maxLeast = 1n << 62n;

/**
 * parseLeast reads a minimal duration such as "> 1 ms" and returns it in ticks. It returns null for an
 * invalid text.
 */
export function parseLeast(text: string, lane: Lane): bigint | null {
  const t = text.replace(/^\s*[>\u2265]?=?/, "");
  const least = t.trim() === "" ? 0n : parse(t, lane.clock);
  return least === null || least < 0n ? null : least < maxLeast ? least : maxLeast;
}

/** controls returns the fields for the choices of the panel: the region, the minimal duration, and the kind. */
function controls(lane: Lane, tools: Tools, names: readonly string[], region: string, kind: string): HTMLElement[] {
  const choose = el("input", {
    type: "search",
    value: region,
    placeholder: "region",
    aria: { label: "Region whose calls are listed" },
  });
  const list = el(
    "datalist",
    { id: "regions" },
    ...names.slice(0, 1000).map((n) => el("option", { value: printable(n) })),
  );
  choose.setAttribute("list", "regions");
  choose.addEventListener("change", () => {
    tools.set("region", choose.value);
    tools.refresh();
  });
  const threshold = el("input", {
    value: tools.get("least"),
    placeholder: "> 1 ms",
    title: "How long a call has to last in all, also outside of this time",
    aria: { label: "Shortest call that is listed" },
  });
  threshold.addEventListener("change", () => {
    tools.set("least", threshold.value);
    tools.refresh();
  });
  const claims = lane.meta.tracks.some((t) => t.kind === "resource");
  return [
    choose,
    list,
    threshold,
    ...(claims
      ? [
          select(
            "What is listed",
            [
              ["region", "calls"],
              ["claim", "claims"],
            ],
            kind,
            (v) => {
              tools.set("kind", v === "claim" ? v : "");
              tools.refresh();
            },
          ),
        ]
      : []),
  ];
}

/** callTable returns the table of calls. */
function callTable(app: App, { lane, window: w, axis }: Scope, tools: Tools, r: Calls): Table {
  const rows = r.calls.map((c) => ({
    ...c,
    a: BigInt(c.start),
    b: BigInt(c.end),
    part: (BigInt(c.end) < w.to ? BigInt(c.end) : w.to) - (BigInt(c.start) > w.from ? BigInt(c.start) : w.from),
    where: lane.fullName(c.track),
  }));
  return makeTable(
    [
      { title: "start", show: (c) => exact(c.a, lane.clock), sort: (c) => c.a, csv: (c) => c.a, unit: "ticks" },
      {
        title: "in this time",
        hint: "the part of the call in this time",
        show: (c) => short(c.part, lane.clock),
        sort: (c) => c.part,
        csv: (c) => c.part,
        unit: "ticks",
      },
      {
        title: "duration",
        show: (c) => short(c.b - c.a, lane.clock),
        sort: (c) => c.b - c.a,
        csv: (c) => c.b - c.a,
        unit: "ticks",
      },
      { title: "row", text: true, show: (c) => c.where, sort: (c) => c.where, csv: (c) => c.where },
    ],
    rows,
    {
      order: 2,
      memory: tools,
      run: tools.run,
      left: r.more ? `the ${count(maxCalls)} longest; there are more` : "",
      click: (c) => selectCall(app, lane, axis, c),
      clickHint: "go to this call",
    },
  );
}

/** calls creates the panel of the calls of a region. */
export function calls(): Panel {
  return {
    id: "calls",
    title: "Calls",
    timeScope: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const names = [...new Set(lane.meta.regions.flatMap((r, i) => [r.name, lane.regionLabel(i, r.name)]))].sort(),
        s = app.store.state;
      const region = tools.get("region") || (s.highlight !== null && names.includes(s.highlight) ? s.highlight : ""),
        least = parseLeast(tools.get("least"), lane);
      const kind = tools.get("kind") === "claim" ? "claim" : "region";
      tools.bar.append(...controls(lane, tools, names, region, kind));
      tools.csv(null);
      const regions = regionsOf(lane, region);
      if (region === "") {
        tools.body.append(
          el("p", { class: "faint" }, "Choose a region, or click on a count in the profile, to list its calls."),
        );
        return;
      }
      if (regions === "" || least === null) {
        tools.body.append(
          el(
            "p",
            { class: "error" },
            regions === ""
              ? `no region is called ${printable(region)}`
              : `the threshold is a time of 0 or more, such as 1 ms or 20 µs; found ${printable(tools.get("least"))}`,
          ),
        );
        return;
      }
      const r = await app.client.json<Calls>(
        `traces/${encodeURIComponent(lane.meta.id)}/calls`,
        { regions, kind, from: w.from, to: w.to, least, limit: maxCalls },
        tools.signal,
      );
      const t = callTable(app, scope, tools, r);
      tools.body.append(t.element);
      tools.csv(t.csv);
    },
  };
}
