// The panel of notes: places and windows with a text.
import { type Note, errorText } from "../api";
import type { App } from "../app";
import { button, el, name, accessibleName } from "../dom";
import type { Panel } from "../dock";
import { csv, fileName, saveText } from "../export";
import type { Lane } from "../lane";
import { nextFrame } from "../timers";
import { newID, valid } from "../notes";
import { exact, short } from "../time";

/** mostLines is the largest number of visible lines in a note. */
const mostLines = 12;

/** Store stores the notes of a trace. */
type Store = (n: Note[]) => void;

/**
 * filePicker returns the hidden field for a file with notes. The notes in the file are added to
 * those of the trace.
 */
function filePicker(app: App, lane: Lane, store: Store): HTMLInputElement {
  const pick = el("input", { type: "file", hidden: true, aria: { label: "File with notes" } });
  pick.addEventListener("change", () => {
    const f = pick.files?.[0];
    if (f)
      void f
        .text()
        .then((t) => {
          const known = new Set(app.notes.inLane(lane.index).map((n) => n.id));
          store([...app.notes.inLane(lane.index), ...valid(JSON.parse(t)).filter((n) => !known.has(n.id))]);
        })
        .catch((e: unknown) => app.announce("import: " + errorText(e)));
  });
  return pick;
}

/** addButton returns the button that adds a note. Its text names the time of the note. */
function addButton(app: App, add: () => void): HTMLElement {
  const adds = button("", "Add a note for the range, else the window", add);
  const label = (): void => {
    adds.textContent = "Add for " + (app.store.state.range ? "range" : "window");
    adds.setAttribute("aria-label", accessibleName(adds.textContent, adds.title));
  };
  const off = app.store.listen((c) => {
    if (c.has("range")) {
      label();
      if (!adds.isConnected) off();
    }
  });
  label();
  return adds;
}

/** textField returns the field for the text of a note. It is as high as the text. */
function textField(n: Note): HTMLTextAreaElement {
  const area = el("textarea", { aria: { label: "Text of the note" } });
  area.value = n.text;
  // grow makes the field as high as its text
  const grow = (): void => {
    area.rows = Math.min(mostLines, Math.max(1, area.value.split("\n").length));
    area.style.height = "";
    if (area.isConnected && area.rows < mostLines && area.scrollHeight > area.clientHeight)
      area.style.height = `${area.scrollHeight + area.offsetHeight - area.clientHeight}px`;
  };
  area.addEventListener("input", grow);
  grow();
  return area;
}

/** noteRow returns the row of a note. */
function noteRow(app: App, lane: Lane, n: Note, signal: AbortSignal, store: Store): HTMLElement {
  const from = BigInt(n.from),
    to = BigInt(n.to);
  const area = textField(n);
  // the text that the user types next goes into this note
  const begin = (): void => {
    if (area.isConnected) {
      app.notes.fresh = "";
      area.focus();
      area.select();
    } else if (!signal.aborted) nextFrame("text of the note", begin);
  };
  if (n.id === app.notes.fresh) begin();
  area.addEventListener("change", () =>
    store(app.notes.inLane(lane.index).map((x) => (x.id === n.id ? { ...x, text: area.value } : x))),
  );
  const go = (): void => {
    const a = lane.toAxis(from),
      b = lane.toAxis(to),
      m = (b - a) / 20n;
    app.show({ from: a - m, to: (b > a ? b : a + 100n) + m });
    const i = lane.rowOf.get(n.track);
    if (i !== undefined) app.reveal({ lane: lane.index, track: n.track, depth: 0, time: from }, from, to);
  };
  return el(
    "tr",
    {},
    el(
      "td",
      { class: "text" },
      el("button", { type: "button", class: "link", on: { click: go } }, exact(from, lane.clock)),
      " ",
      el("span", { class: "faint" }, to > from ? `for ${short(to - from, lane.clock)}` : ""),
    ),
    el("td", { class: "text" }, n.track >= 0 ? name(lane.fullName(n.track)) : ""),
    el("td", { class: "text", style: { width: "60%" } }, area),
    el(
      "td",
      {},
      button("Delete", "Delete this note", () => store(app.notes.inLane(lane.index).filter((x) => x.id !== n.id))),
    ),
  );
}

/** notes creates the panel of notes. */
export function notes(): Panel {
  return {
    id: "notes",
    title: "Notes",
    timeScope: "trace",
    render(app, { lane }, tools) {
      const list = app.notes.inLane(lane.index);
      const store = (n: Note[]): void => {
        app.notes
          .set(lane.index, n)
          .then((where) => {
            app.announce(
              where === "server" ? "notes stored" : "notes stored in this browser only: the server is read-only",
            );
            tools.refresh();
          })
          .catch((e: unknown) => app.announce("notes: " + errorText(e)));
      };
      const add = (): void => {
        const s = app.store.state,
          w = lane.times(s.range ?? s.window);
        store([
          ...app.notes.inLane(lane.index),
          {
            id: newID(),
            from: String(w.from),
            to: String(w.to),
            track: -1,
            text: "",
            created: new Date().toISOString(),
          },
        ]);
      };
      const pick = filePicker(app, lane, store);
      tools.bar.append(
        addButton(app, add),
        " ",
        button("Export", "Save the notes as JSON", () =>
          saveText(
            JSON.stringify({ notes: app.notes.inLane(lane.index) }, null, 1),
            fileName(lane.meta.name, "-notes.json"),
            "application/json",
          ),
        ),
        " ",
        button("Import", "Add notes from a JSON file", () => pick.click()),
        pick,
      );
      if (list.length === 0)
        tools.body.append(el("p", { class: "faint" }, "No notes yet. B adds one at the selection or for the window."));
      else
        tools.body.append(
          el(
            "table",
            { class: "notes" },
            el("tbody", {}, ...list.map((n) => noteRow(app, lane, n, tools.signal, store))),
          ),
        );
      tools.csv(() =>
        csv(
          ["from (ticks)", "to (ticks)", "row", "text", "created"],
          app.notes
            .inLane(lane.index)
            .map((n) => [n.from, n.to, n.track >= 0 ? lane.fullName(n.track) : "", n.text, n.created]),
        ),
      );
    },
  };
}
