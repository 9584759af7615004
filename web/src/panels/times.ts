// The time of panels that show the whole trace unless the user chooses the range or the window.
import type { App } from "../app";
import type { Lane } from "../lane";
import type { Window } from "../time";

/** followsWindow reports whether a panel shows the range or the window instead of the whole trace. */
export function followsWindow(app: App, panel: string): boolean {
  return app.store.state.choices.get(`${panel}.time`) === "window";
}

/** timeOf returns the time that a panel shows, or null for the whole trace. */
export function timeOf(app: App, panel: string): Window | null {
  const s = app.store.state;
  return followsWindow(app, panel) ? (s.range ?? s.window) : null;
}

/**
 * timeKey returns a text that identifies the time for which a panel shows results on the time line.
 * The results do not change while the window moves, because [keepTime] makes their time the range.
 */
export function timeKey(app: App, panel: string): string {
  const { range } = app.store.state;
  return followsWindow(app, panel) ? (range ? `${range.from}~${range.to}` : "window") : "";
}

/**
 * keepTime makes the time of a panel the range. After that, a click that moves the window does not
 * change the time of the panel.
 */
export function keepTime(app: App, panel: string, axis: Window): void {
  if (followsWindow(app, panel)) app.keepRange(axis);
}

/** timeQuery returns the parameters for requesting the time of a panel in a trace. */
export function timeQuery(lane: Lane, time: Window | null): { from?: bigint; to?: bigint } {
  if (!time) return {};
  const { from, to } = lane.cut(time);
  return { from, to };
}
