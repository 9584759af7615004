// The content of the page while the server indexes a trace: the progress, and the facts about the trace
// that the server already knows.
import type { Overview, TraceEntry, TraceMeta } from "./api";
import { bytesText, count, el, name, percent } from "./dom";
import { type Clock, exact, short } from "./time";

const mostRegions = 24,
  mostNames = 400;

/**
 * remainingSeconds estimates the remaining time in seconds. first is the progress when the page first
 * asked, and seconds the time since then. The result is null if it is too early for an estimate.
 */
export function remainingSeconds(first: number, progress: number, seconds: number): number | null {
  return seconds < 2 || progress - first < 0.01 ? null : ((1 - progress) * seconds) / (progress - first);
}

function inWords(seconds: number): string {
  return seconds < 90
    ? `about ${Math.max(1, Math.round(seconds))} s left`
    : `about ${Math.round(seconds / 60)} min left`;
}

/** overviewWords describes which events the sums of an overview include, and which part of the trace. */
export function overviewWords(o: Overview, clock: Clock | null): { events: string; sums: string } {
  const time = (t: string): string => (clock ? exact(BigInt(t), clock) : `${t} ticks`);
  if (o.to !== undefined)
    return {
      events: "visits and messages",
      sums: `The trace's own sums, up to ${time(o.to)} of its clock; of its events they count visits and messages.`,
    };
  return {
    events: "events",
    sums:
      `The trace's own sums, of all its events` +
      `${o.missing === "0" ? "" : `; each time may lack up to ${time(o.missing)}`}.`,
  };
}

/** singleFileFormats lists the formats whose traces consist of a single file. */
const singleFileFormats: readonly string[] = ["etf", "picl"];

/**
 * sizeOf returns the size of a trace as a text, or "" if it is unknown. If a trace has several
 * files, the server knows only the size of the main file until it has read all of them.
 */
export function sizeOf(t: Pick<TraceEntry, "format" | "state" | "bytes">): string {
  return t.state === "ready" || singleFileFormats.includes(t.format) ? bytesText(t.bytes) : "";
}

/** Indexing shows the content of the page while the server indexes a trace. */
export class Indexing {
  readonly element: HTMLElement;
  private title = el("h1", {});
  private line = el("p", { class: "faint", role: "status" });
  private trouble = el("p", { class: "error", role: "alert" });
  private bar = el("progress", { max: "1", aria: { label: "Indexing" } });
  private facts = el("dl", { class: "facts2" });
  private known = el("div", { class: "known" });
  private begun: { id: string; at: number; progress: number } | null = null;
  private shown = "";

  constructor() {
    this.element = el(
      "main",
      { class: "start indexing" },
      this.title,
      this.line,
      this.bar,
      this.trouble,
      this.facts,
      this.known,
    );
  }

  /** lost shows why the server did not answer, and that the page keeps asking. */
  lost(why: string): void {
    this.trouble.textContent = `${why} Asking again …`;
  }

  /** show updates the page with the server's answer. */
  show(m: TraceMeta): void {
    const progress = m.progress ?? 0,
      now = performance.now();
    if (this.begun?.id !== m.id || progress < this.begun.progress) this.begun = { id: m.id, at: now, progress };
    const rest = remainingSeconds(this.begun.progress, progress, (now - this.begun.at) / 1000);
    this.trouble.textContent = "";
    this.title.replaceChildren("Indexing ", name(m.name));
    const size = sizeOf(m);
    this.line.textContent =
      `${percent(progress)}${size === "" ? "" : ` of ${size}`}` +
      `${rest === null ? "" : ", " + inWords(rest)}. This is done once; the trace opens by itself.`;
    this.bar.value = progress;
    document.title = `${Math.floor(100 * progress)} % ${m.name}`;
    const o = m.overview,
      clock: Clock | null = m.clock ? { num: BigInt(m.clock.num), den: BigInt(m.clock.den) } : null,
      facts: [string, string][] = [["format", m.format]];
    if (o) facts.push([overviewWords(o, clock).events, count(o.events)]);
    if (m.tracks) facts.push(["rows so far", count(m.tracks.length)]);
    if (m.regions) facts.push(["regions so far", count(m.regions.length)]);
    this.facts.replaceChildren(...facts.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, name(v))]));
    // the server never changes names that it has sent, so build a list of thousands only once
    const key = o ? `${m.id} ${o.events} ${o.to}` : `${m.id} ${m.tracks?.length ?? 0}`;
    if (key === this.shown) return;
    this.shown = key;
    this.known.replaceChildren(
      ...(o
        ? this.overview(o, clock)
        : m.tracks
          ? [
              this.names(
                "Rows",
                m.tracks.map((t) => t.name || `${t.sort || t.kind} ${t.id}`),
              ),
            ]
          : []),
    );
  }

  private overview(o: Overview, clock: Clock | null): HTMLElement[] {
    const words = overviewWords(o, clock);
    const time = (t: string | number): string => (clock ? short(BigInt(t), clock) : `${count(Number(t))} ticks`);
    const regions = [...(o.regions ?? [])].sort((a, b) => (BigInt(b.exclusive) > BigInt(a.exclusive) ? 1 : -1)),
      most = Number(regions[0]?.exclusive ?? 0) || 1;
    const locations = [...(o.locations ?? [])].sort((a, b) => b.events - a.events);
    const head = (...titles: string[]): HTMLElement =>
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...titles.map((t, i) =>
            el(
              t === "" ? "td" : "th",
              { class: i === 0 ? "text" : "" },
              el("span", { style: { padding: "2px 8px" } }, t),
            ),
          ),
        ),
      );
    const cell = (t: string): HTMLElement => el("td", {}, t);
    const part = (title: string, of: number, shown: number): string =>
      of > shown ? `${title} (the first ${shown} of ${count(of)})` : title;
    return [
      el("p", { class: "faint sums" }, words.sums),
      regions.length === 0
        ? el("p", { class: "faint" }, "No region is visited.")
        : el(
            "section",
            {},
            el("h3", {}, part("Regions", regions.length, mostRegions)),
            el(
              "table",
              {},
              head("region", "", "exclusive", "inclusive", "count"),
              el(
                "tbody",
                {},
                ...regions.slice(0, mostRegions).map((r) =>
                  el(
                    "tr",
                    {},
                    el("td", { class: "text" }, name(r.name)),
                    el(
                      "td",
                      { class: "barcell" },
                      el("span", {
                        class: "bar",
                        style: { width: `${(100 * Number(r.exclusive)) / most}%`, background: "var(--accent)" },
                      }),
                    ),
                    cell(time(r.exclusive)),
                    cell(time(r.inclusive)),
                    cell(count(r.count)),
                  ),
                ),
              ),
            ),
          ),
      el(
        "section",
        {},
        el("h3", {}, part(`Locations with most ${words.events}`, locations.length, mostRegions)),
        el(
          "table",
          {},
          head("location", words.events),
          el(
            "tbody",
            {},
            ...locations
              .slice(0, mostRegions)
              .map((l) => el("tr", {}, el("td", { class: "text" }, name(l.name)), cell(count(l.events)))),
          ),
        ),
      ),
    ];
  }

  private names(title: string, list: readonly string[]): HTMLElement {
    return el(
      "section",
      {},
      el("h3", {}, list.length > mostNames ? `${title} (the first ${mostNames} of ${count(list.length)})` : title),
      el("ul", { class: "names" }, ...list.slice(0, mostNames).map((n) => el("li", {}, name(n)))),
    );
  }
}
