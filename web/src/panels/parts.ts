// Elements that several panels use.
import type { StateTimes } from "../api";
import type { App } from "../app";
import { button, count, el } from "../dom";
import type { Lane } from "../lane";

/** stateColors has the colours of the processor states that ParaGraph defines. */
export const stateColors = { busy: "#009e73", overhead: "#e69f00", idle: "#d55e00" };
/** State is one of them. */
export type State = keyof typeof stateColors;
/** states lists them in the order in which charts stack them. */
export const states: readonly State[] = ["busy", "overhead", "idle"];

/** parts returns the share of each state in the total time; 0 if that is 0. */
export function parts(t: StateTimes): Record<State, number> {
  const all = states.reduce((n, k) => n + BigInt(t[k]), 0n),
    part = (k: State): number => (all > 0n ? Number(BigInt(t[k])) / Number(all) : 0);
  return { busy: part("busy"), overhead: part("overhead"), idle: part("idle") };
}

/** swatch shows the colour of a region in the time lines; null if rows have the colours. */
export function swatch(app: App, lane: Lane, region: number): HTMLElement | null {
  return app.store.state.color === "track" && app.store.state.highlight === null
    ? null
    : el("span", { class: "swatch", style: { background: lane.colors.css[region] ?? app.colors.other } });
}

/** jump is a figure in a table that leads somewhere else than a click on its row. */
export function jump(text: string, title: string, go: () => void): HTMLElement {
  const b = button(text, title, go, "link");
  b.tabIndex = -1;
  b.addEventListener("click", (e) => e.stopPropagation());
  return b;
}

/** programOf describes the size of a program. */
export function programOf(r: { processes: number; threads: number }): string {
  const some = (n: number, one: string, many: string): string => `${count(n)} ${n === 1 ? one : many}`;
  return `${some(r.processes, "process", "processes")} with ${some(r.threads, "thread", "threads")}`;
}
