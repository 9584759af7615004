// The panel of defects. It lists the defects that were found when the trace was read, with their
// places.
import type { Defect, TraceMeta } from "../api";
import type { App } from "../app";
import { count, el, name } from "../dom";
import type { Dock, Panel } from "../dock";
import type { Lane } from "../lane";
import { exact } from "../time";
import { makeTable } from "./table";

/** Defects is the answer of /defects. more is the number of defects that it leaves out. */
export interface Defects {
  defects: Defect[] | null;
  more: number;
}

/**
 * DefectCount is a number of defects. words is a text with this number. bad is set if one of the
 * defects is an error.
 */
export interface DefectCount {
  count: number;
  words: string;
  bad: boolean;
}

/** countAnswers counts the defects in several answers of the server. Notes do not count. */
export function countAnswers(answers: readonly Defects[]): DefectCount {
  const all = answers.flatMap((a) => a.defects ?? []).filter((d) => d.severity !== "note"),
    more = answers.reduce((n, a) => n + a.more, 0),
    errors = all.filter((d) => d.severity === "error").length;
  const some = (n: number, what: string): string => (n === 0 ? "" : `${count(n)} ${what}${n === 1 ? "" : "s"}`);
  const words =
    more > 0
      ? some(all.length + more, "defect") + (errors > 0 ? ", errors among them" : "")
      : [some(errors, "error"), some(all.length - errors, "warning")].filter((x) => x !== "").join(", ");
  return { count: all.length + more, words, bad: errors > 0 };
}

/** eventsAround is the number of events of a row that are shown around a defect. */
const eventsAround = 20n;

/**
 * Place is the place of a defect. track is -1 if the defect concerns no track, and time is null if
 * it has no time. ends is set if the time is the end of the track's events.
 */
export interface Place {
  track: number;
  time: bigint | null;
  ends: boolean;
}

/**
 * placeOf returns the place of a defect. If an OTF2 file with the events of a location is damaged,
 * the server sends no time. In that case, the place is the end of the location's readable events.
 */
export function placeOf(d: Pick<Defect, "track" | "time" | "file">, meta: Pick<TraceMeta, "format" | "tracks">): Place {
  const time = /^-?\d+$/.test(d.time ?? "") ? BigInt(d.time) : null;
  if (d.track >= 0 || time !== null) return { track: d.track, time, ends: false };
  const id = meta.format === "otf2" ? /(?:^|[/\\])(\d+)\.evt$/.exec(d.file)?.[1] : undefined,
    track = id === undefined ? -1 : meta.tracks.findIndex((t) => t.kind === "location" && t.id === id);
  return track < 0 ? { track, time, ends: false } : { track, time: BigInt(meta.tracks[track].last || "0"), ends: true };
}

/** noPlace is the explanation that is shown for a click that has no effect. */
const noPlace = "This defect concerns the whole trace or a whole file: its row and time are unknown.";

/** showDefect moves the window to the place of a defect, and marks the time. */
function showDefect(app: App, lane: Lane, { track, time, ends }: Place): void {
  const t = lane.meta.tracks[track],
    s = app.store.state;
  if (time === null) {
    if (!t || !lane.rowOf.has(track)) {
      app.announce("its row is hidden");
      return;
    }
    // the defect concerns the whole track, so go to its begin
    const first = BigInt(t.first || "0");
    app.reveal({ lane: lane.index, track, depth: 0, time: first }, first, first);
    return;
  }
  const at = lane.toAxis(time);
  // the new window is a 100th of the trace, or longer if events are rare, but never wider than the
  // current one
  const between = t && t.events > 0 ? (BigInt(t.last) - BigInt(t.first)) / BigInt(t.events) : 0n,
    least = lane.length / 100n + 10n;
  const wanted = lane.toAxis(eventsAround * between > least ? eventsAround * between : least) - lane.toAxis(0n),
    shown = s.window.to - s.window.from,
    size = wanted < shown ? wanted : shown;
  app.store.set({ marks: [at, null], loose: "" });
  app.show({ from: at - size / 2n, to: at - size / 2n + size });
  const where = `at ${exact(time, lane.clock)}${ends ? ", where the events of this row end" : ""}`;
  if (!t) app.announce(`${where}; it belongs to no row`);
  else if (!lane.rowOf.has(track)) app.announce(`${where}; its row is hidden`);
  // a span that is open at the end contains the tick before the end
  else {
    const within = ends && time > 0n ? time - 1n : time;
    app.reveal({ lane: lane.index, track, depth: 0, time: within }, within, within);
    app.announce(`marked ${where}`);
  }
}

/** defects creates the panel of defects. */
export function defects(): Panel {
  return {
    id: "defects",
    title: "Defects",
    timeScope: "trace",
    async render(app, { lane }, tools) {
      const r = await app.client.json<Defects>(`traces/${encodeURIComponent(lane.meta.id)}/defects`, {}, tools.signal);
      const rows = r.defects ?? [];
      if (rows.length === 0) {
        tools.body.append(el("p", { class: "faint" }, "Nothing wrong was found."));
        tools.csv(null);
        return;
      }
      const places = new Map(rows.map((d) => [d, placeOf(d, lane.meta)])),
        nowhere: Place = { track: -1, time: null, ends: false },
        place = (d: Defect): Place => places.get(d) ?? nowhere;
      const time = (d: Defect): bigint | null => (place(d).ends ? null : place(d).time),
        row = (d: Defect): string => (place(d).track >= 0 ? lane.fullName(place(d).track) : ""),
        known = (d: Defect): boolean => place(d).track >= 0 || place(d).time !== null;
      const t = makeTable<Defect>(
        [
          { title: "severity", text: true, show: (d) => d.severity, sort: (d) => d.severity, csv: (d) => d.severity },
          {
            title: "what",
            text: true,
            wrap: true,
            show: (d) => d.message,
            sort: (d) => d.message,
            csv: (d) => d.message,
          },
          {
            title: "row",
            text: true,
            show: (d) => (known(d) ? row(d) : el("span", { class: "faint" }, "no place")),
            sort: (d) => place(d).track,
            csv: row,
          },
          {
            title: "time",
            show: (d) => {
              const x = time(d);
              return x === null ? "" : exact(x, lane.clock);
            },
            sort: (d) => time(d) ?? -1n,
            csv: (d) => d.time,
            unit: "ticks",
          },
          {
            title: "file",
            text: true,
            show: (d) => el("span", { title: d.file }, name(d.file.split("/").at(-1) ?? "")),
            sort: (d) => d.file,
            csv: (d) => d.file,
          },
          { title: "position", text: true, show: (d) => d.position, csv: (d) => d.position },
          { title: "rule", text: true, show: (d) => d.rule, sort: (d) => d.rule, csv: (d) => d.rule },
        ],
        rows,
        {
          order: 0,
          ascending: true,
          memory: tools,
          run: tools.run,
          filter: (d) => `${d.severity} ${d.rule} ${d.message} ${d.file} ${row(d)}`,
          clickHint: "go there",
          click: (d) => showDefect(app, lane, place(d)),
          idle: (d) => (known(d) ? "" : noPlace),
        },
      );
      tools.bar.append(...(t.filter ? [t.filter] : []));
      tools.body.append(
        t.element,
        r.more > 0 ? el("p", { class: "faint" }, `and ${count(r.more)} more; weft check lists all`) : "",
      );
      tools.csv(t.csv);
    },
  };
}

/**
 * mostChecked is the largest number of events in a trace that the page checks without a request by
 * the user. mostRead is the limit for a trace in which indexing has already found defects.
 */
const mostChecked = 100000,
  mostRead = 1000000;

/**
 * countDefects shows the number of defects. These are the defects that indexing has found or, for a
 * small trace, all that a check finds.
 */
export async function countDefects(app: App, where: HTMLElement, dock: Dock): Promise<void> {
  const show = (f: DefectCount): void => {
    where.hidden = f.count === 0;
    if (f.count === 0) return;
    where.classList.toggle("bad", f.bad);
    where.textContent = `${f.bad ? "✗" : "⚠"} ${f.words}`;
    where.setAttribute("aria-label", `${f.words}: open the list of defects`);
    dock.showResult("defects", count(f.count), f.words, f.bad);
  };
  const n = app.lanes.reduce((s, l) => s + l.meta.defects, 0);
  show({ count: n, words: `${count(n)} ${n === 1 ? "defect" : "defects"}`, bad: false });
  if (app.lanes.some((l) => l.meta.events > (l.meta.defects > 0 ? mostRead : mostChecked))) return;
  // if the check fails, keep the number from indexing; the panel shows the reason
  try {
    show(
      countAnswers(
        await Promise.all(
          app.lanes.map((l) => app.client.json<Defects>(`traces/${encodeURIComponent(l.meta.id)}/defects`)),
        ),
      ),
    );
  } catch {
    /** the panel shows the reason */
  }
}
