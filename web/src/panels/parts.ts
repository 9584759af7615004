// Functions and colours that several panels use.
import { type Contradictions, ranges, type StateTimes } from "../api";
import type { App } from "../app";
import type { Tools } from "../dock";
import { button, count, el, select } from "../dom";
import type { Lane } from "../lane";

/** outsideName is the name for time in which no region is open. */
export const outsideName = "(outside of all regions)";

/** stateColors maps the states of a processor, as ParaGraph defines them, to colours. */
export const stateColors = { busy: "#009e73", overhead: "#e69f00", idle: "#d55e00" };
/** State is a state of a processor. */
export type State = keyof typeof stateColors;
/** states lists the states in the order in which charts stack them, from bottom to top. */
export const states: readonly State[] = ["busy", "overhead", "idle"];

/**
 * stateShares returns the share of each state in the total time, from 0 to 1. If the total is 0 or
 * unknown, all shares are 0.
 */
export function stateShares(t: Partial<StateTimes>): Record<State, number> {
  const ticks = (k: State): bigint => BigInt(t[k] ?? 0),
    all = states.reduce((n, k) => n + ticks(k), 0n),
    part = (k: State): number => (all > 0n ? Number(ticks(k)) / Number(all) : 0);
  return { busy: part("busy"), overhead: part("overhead"), idle: part("idle") };
}

/** waitsQuery returns the parameter that states whether waits count as idle time. By default they do. */
export function waitsQuery(tools: Tools): { waits?: string } {
  return tools.get("waits") === "0" ? { waits: "0" } : {};
}

/** mostChoices is the largest number of locations that the menu of rows lists. */
const mostChoices = 100;

/** locationsOf returns the tracks of the locations of a trace. */
function locationsOf(lane: Lane): number[] {
  return lane.meta.tracks.flatMap((t, i) => (t.kind === "location" ? [i] : []));
}

/**
 * rowsChooser returns the menu for the rows of a panel: all of them, those that are shown, or one of them. It returns
 * nothing if there is no choice.
 */
export function rowsChooser(lane: Lane, tools: Tools): HTMLElement[] {
  const all = locationsOf(lane);
  if (all.length < 2) return [];
  const options: (readonly [string, string])[] = [
    ["", "all rows"],
    ["shown", "rows shown"],
    ...(all.length <= mostChoices ? all.map((t) => [String(t), lane.fullName(t)] as const) : []),
  ];
  const value = chosenRows(lane, tools).tracks === undefined ? "" : tools.get("rows");
  return [
    select("Rows of this table", options, value, (v) => {
      tools.set("rows", v);
      tools.refresh();
    }),
  ];
}

/** chosenRows returns the parameter for the rows of [rowsChooser]. It has no tracks if all rows are chosen, or none. */
export function chosenRows(lane: Lane, tools: Tools): { tracks?: string } {
  const v = tools.get("rows"),
    all = locationsOf(lane),
    chosen = all.filter((t) => (v === "shown" ? lane.rowOf.has(t) : v === String(t)));
  return chosen.length === 0 || chosen.length === all.length ? {} : { tracks: ranges(chosen) };
}

/** contradictionsText describes how the clocks of a trace contradict causality. what names the figures, with a verb. */
export function contradictionsText(c: Contradictions, what: string): string {
  return `Clocks differ: ${c.text}; ${what} not to be trusted; see ${c.remedy}.`;
}

/**
 * waitsSwitch returns the box with which the user chooses that waits count as idle time. With clock violations, a mark
 * beside it says that the idle time is not to be trusted.
 */
export function waitsSwitch(tools: Tools, contradictions?: Contradictions): HTMLElement {
  const box = el("input", { type: "checkbox" });
  box.checked = tools.get("waits") !== "0";
  box.addEventListener("change", () => {
    tools.set("waits", box.checked ? "" : "0");
    tools.refresh();
  });
  return el(
    "label",
    { title: "Time in which a call waits for others is idle, not overhead. The trace is read once for this." },
    box,
    " waits are idle",
    ...(contradictions
      ? [
          el(
            "span",
            {
              class: "error",
              title: contradictionsText(contradictions, "idle time is"),
            },
            " (clocks differ)",
          ),
        ]
      : []),
  );
}

/**
 * swatch returns an element with the colour of a region in the time lines. It returns null if
 * colours mean rows.
 */
export function swatch(app: App, lane: Lane, region: number): HTMLElement | null {
  return app.store.state.color === "track" && app.store.state.highlight === null
    ? null
    : el("span", { class: "swatch", style: { background: lane.colors.css[region] ?? app.colors.other } });
}

/** linkButton creates a button in a table cell. Its effect differs from that of a click on the row. */
export function linkButton(text: string, title: string, go: () => void): HTMLElement {
  const b = button(text, title, go, "link");
  b.tabIndex = -1;
  b.addEventListener("click", (e) => e.stopPropagation());
  return b;
}

/** programOf describes a program by its numbers of processes, threads and streams of devices. */
export function programOf(r: { processes: number; threads: number; streams: number }): string {
  const some = (n: number, one: string, many: string): string => `${count(n)} ${n === 1 ? one : many}`,
    streams = r.streams > 0 ? ` and ${some(r.streams, "stream of devices", "streams of devices")}` : "";
  return `${some(r.processes, "process", "processes")} with ${some(r.threads, "thread", "threads")}${streams}`;
}
