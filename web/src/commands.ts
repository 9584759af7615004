// The commands that are started by both keys and buttons.
import { errorText } from "./api";
import type { App } from "./app";
import type { Dock } from "./dock";
import { newID } from "./notes";
import { edgeReach } from "./picker";
import type { Details } from "./details";

/** toggleMode starts or ends the mode in which the user selects a range or measures. */
export function toggleMode(app: App, m: "range" | "measure"): void {
  const on = app.store.state.mode === m;
  app.store.set({ mode: on ? "pan" : m });
  app.announce(
    on
      ? ""
      : m === "range"
        ? "drag over the time line to select a range; Esc ends"
        : `click two places to measure; each snaps to the edge of a span within ${edgeReach} pixels, if there is ` +
          `one; Esc ends`,
  );
}

/** nextArrows switches to the next of the three ways to show links. */
export function nextArrows(app: App): void {
  const n = app.store.state.arrows;
  if (app.lanes.some((l) => l.meta.links > 0))
    app.store.set({ arrows: n === "auto" ? "on" : n === "on" ? "off" : "auto" });
  else app.announce("this trace has no links");
}

/** toggleTheme switches between the light and the dark theme. */
export function toggleTheme(app: App): void {
  app.store.set({ theme: app.colors.dark ? "light" : "dark" });
}

/** addNote adds a note for the selection. Without a selection, the note is for the range or the window. */
export function addNote(app: App, details: Details, dock: Dock): void {
  const s = app.store.state,
    lane = app.lanes[s.selection?.lane ?? 0];
  const span = s.selection ? details.span?.span : undefined;
  const w = lane.times(s.range ?? s.window);
  const note = {
    id: newID(),
    from: span ? span.start : String(w.from),
    to: span ? span.end : String(w.to),
    track: s.selection?.track ?? -1,
    text: span ? span.name : "",
    created: new Date().toISOString(),
  };
  app.notes.fresh = note.id;
  app.notes
    .set(lane.index, [...app.notes.inLane(lane.index), note])
    .then((where) => {
      app.announce(
        where === "server" ? "note added" : "note added, kept in this browser only: the server is read-only",
      );
      app.store.set({ panel: "notes" });
      dock.follow(true);
    })
    .catch((e: unknown) => app.announce("note: " + errorText(e)));
}
