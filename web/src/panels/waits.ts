// The panel of wait states. It shows waiting times by location, by the location that others wait for,
// and by call.
import type { WaitInfo, WaitPattern, WaitShare, WaitShares, Waits } from "../api";
import type { App } from "../app";
import { count, countWords, el, percent, printable, select } from "../dom";
import type { Panel, Scope, Tools } from "../dock";
import { exact, meanOf, meanOrder, short, shortMean } from "../time";
import type { Lane } from "../lane";
import { selectCall } from "./calls";
import { chosenRows, linkButton, outsideName, rowsChooser, contradictionsText } from "./parts";
import { type Column, makeTable, type Table } from "./table";

type Breakdown = "regions" | "paths" | "locations" | "communicators" | "pairs";

/** breakdowns lists the ways to split the time of a pattern, each with the title of its column. */
const breakdowns: readonly (readonly [Breakdown, string])[] = [
  ["regions", "region"],
  ["paths", "call path"],
  ["locations", "location"],
  ["communicators", "communicator"],
  ["pairs", "pair"],
];

/** allPatterns is the value of the menu that stands for all patterns together. */
const allPatterns = "all";

/** shareOf returns time as a share of whole, from 0 to 1, or 0 if whole is 0. */
function shareOf(time: bigint, whole: bigint): number {
  return whole > 0n ? Number(time) / Number(whole) : 0;
}

/** selectWait selects the call of a wait. The table keeps its content. */
export function selectWait(app: App, { lane, axis }: Scope, w: WaitInfo): void {
  selectCall(app, lane, axis, {
    track: w.track,
    depth: Math.max(0, w.depth),
    start: w.begin,
    end: String(BigInt(w.begin) + BigInt(w.time)),
  });
}

/** Share is the part of a pattern's time with the given label. */
type Share = WaitShare & { of: WaitPattern; label: string };

/** LongestWait is one of the longest waits of a pattern. */
type LongestWait = WaitInfo & { of: WaitPattern };

/** rowName returns the name of a row. */
function rowName(lane: Lane, track: number | undefined): string {
  return track === undefined || track < 0 ? "unknown" : lane.fullName(track);
}

/** notesOf describes the total waiting time, and the limits of the answer. */
function notesOf(lane: Lane, r: Waits): string[] {
  const time = BigInt(r.time),
    waiting = BigInt(r.waiting);
  return [
    `Waiting: ${short(waiting, lane.clock)}, ${percent(shareOf(waiting, time))} of the time of ` +
      `${countWords(r.locations, "location")}.`,
    r.clocks ? contradictionsText(r.clocks, "waits are") : "",
    ...r.unjudged.map((u) => {
      const time = u.time === undefined ? "" : `, ${short(BigInt(u.time), lane.clock)} in total`;
      return `Not judged: ${u.what} (${count(u.count)}${time}): ${u.reason}.`;
    }),
  ].filter((x) => x !== "");
}

/** patternTable returns the table of patterns. */
function patternTable(
  lane: Lane,
  tools: Tools,
  r: Waits,
  chosen: WaitPattern | undefined,
  choose: (pattern: string) => void,
): Table {
  const time = BigInt(r.time);
  const ofTime = (title: string, f: (p: WaitPattern) => bigint): Column<WaitPattern> => ({
    title,
    show: (p) => short(f(p), lane.clock),
    sort: f,
    csv: f,
    unit: "ticks",
  });
  const mean = (p: WaitPattern): ReturnType<typeof meanOf> => meanOf(BigInt(p.time), Math.max(1, p.count));
  return makeTable<WaitPattern>(
    [
      {
        title: "pattern",
        text: true,
        show: (p) => (p.partOf === "" ? p.pattern : el("span", { title: `part of ${p.partOf}` }, "└ " + p.pattern)),
        sort: (p) => p.pattern,
      },
      { title: "waits", show: (p) => count(p.count), sort: (p) => p.count },
      ofTime("time", (p) => BigInt(p.time)),
      { title: "%", hint: "of the time of all locations", show: (p) => percent(shareOf(BigInt(p.time), time)) },
      { title: "mean", show: (p) => shortMean(mean(p), lane.clock), sort: (p) => meanOrder(mean(p)) },
      ofTime("median", (p) => BigInt(p.median)),
      ofTime("max", (p) => BigInt(p.max)),
    ],
    r.patterns,
    {
      order: -1,
      run: tools.run,
      click: (p) => choose(p === chosen ? allPatterns : p.pattern),
      clickHint: "show only this pattern, or all again",
      chosen: (p) => p === chosen,
    },
  );
}

/** shareTable returns a table that breaks the waits of patterns down by path, location, pair and so on. */
function shareTable(lane: Lane, tools: Tools, listed: readonly WaitPattern[], by: (typeof breakdowns)[number]): Table {
  const row = (track: number | undefined): string => rowName(lane, track);
  const name = (s: WaitShare): string =>
    s.cause !== undefined
      ? `${row(s.track)} for ${row(s.cause)}`
      : s.track !== undefined
        ? row(s.track)
        : (s.path?.join(" > ") ?? s.name ?? (by[0] === "paths" ? outsideName : "unknown"));
  const shares = listed.flatMap((p) => p[by[0]].rows.map((s): Share => ({ ...s, of: p, label: name(s) })));
  const left = listed.reduce((n, p) => n + (p[by[0]] satisfies WaitShares).left.rows, 0);
  return makeTable<Share>(
    [
      {
        title: "pattern",
        text: true,
        show: (s) => s.of.pattern,
        sort: (s) => s.of.pattern,
        csv: (s) => s.of.pattern,
      },
      { title: by[1], text: true, show: (s) => s.label, sort: (s) => s.label, csv: (s) => s.label },
      { title: "waits", show: (s) => count(s.count), sort: (s) => s.count, csv: (s) => s.count },
      {
        title: "time",
        show: (s) => short(BigInt(s.time), lane.clock),
        sort: (s) => BigInt(s.time),
        csv: (s) => s.time,
        unit: "ticks",
      },
      { title: "%", hint: "of the pattern", show: (s) => percent(shareOf(BigInt(s.time), BigInt(s.of.time))) },
    ],
    shares,
    {
      order: 3,
      memory: tools,
      run: tools.run,
      filter: (s) => `${s.of.pattern} ${s.label}`,
      left: left > 0 ? `${count(left)} rows with less time are left out` : "",
    },
  );
}

/** worstTable returns the table of the longest waits. */
function worstTable(app: App, scope: Scope, tools: Tools, longest: readonly LongestWait[]): Table {
  const { lane, axis } = scope,
    row = (track: number): string => rowName(lane, track);
  return makeTable<LongestWait>(
    [
      { title: "longest", show: (x) => short(BigInt(x.time), lane.clock), sort: (x) => BigInt(x.time) },
      { title: "at", show: (x) => exact(BigInt(x.begin), lane.clock), sort: (x) => BigInt(x.begin) },
      { title: "row", text: true, show: (x) => row(x.track), sort: (x) => row(x.track) },
      {
        title: "in",
        text: true,
        show: (x) => el("span", { title: printable(x.path.join(" > ")) }, printable(x.path.at(-1) ?? outsideName)),
        sort: (x) => x.path.at(-1) ?? "",
      },
      {
        title: "for",
        text: true,
        show: (x) =>
          linkButton(
            printable(row(x.cause)),
            `go to what it waits for, at ${exact(BigInt(x.causeTime), lane.clock)}`,
            () =>
              selectCall(app, lane, axis, {
                track: x.cause,
                depth: Math.max(0, x.causeDepth),
                start: x.causeTime,
                end: x.causeTime,
              }),
          ),
        sort: (x) => row(x.cause),
      },
      { title: "pattern", text: true, show: (x) => x.of.pattern, sort: (x) => x.of.pattern },
    ],
    longest,
    { order: 0, run: tools.run, click: (x) => selectWait(app, scope, x), clickHint: "go to this wait" },
  );
}

/** lateTable returns the table of the locations that come last to operations of all locations. */
function lateTable(lane: Lane, tools: Tools, rows: Waits["late"]): Table {
  const row = (track: number): string => rowName(lane, track);
  return makeTable<Waits["late"][number]>(
    [
      { title: "last to come", text: true, show: (x) => row(x.track), sort: (x) => row(x.track) },
      { title: "communicator", text: true, show: (x) => x.communicator, sort: (x) => x.communicator },
      { title: "operations", show: (x) => count(x.operations), sort: (x) => x.operations },
      { title: "of", hint: "all operations of the communicator", show: (x) => count(x.of), sort: (x) => x.of },
      {
        title: "others lost",
        show: (x) => short(BigInt(x.lost), lane.clock),
        sort: (x) => BigInt(x.lost),
      },
    ],
    rows,
    { order: 4, run: tools.run },
  );
}

/** waits creates the panel of wait states. */
export function waits(): Panel {
  return {
    id: "waits",
    title: "Waits",
    timeScope: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const r = await app.client.json<Waits>(
        `traces/${encodeURIComponent(lane.meta.id)}/waits`,
        { from: w.from, to: w.to, ...chosenRows(lane, tools) },
        tools.signal,
      );
      tools.csv(null);
      tools.bar.append(...rowsChooser(lane, tools));
      if (r.missing !== "") {
        tools.body.append(el("p", { class: "faint" }, printable(r.missing)));
        return;
      }
      tools.body.append(...notesOf(lane, r).map((x) => el("p", {}, printable(x))));
      if (r.patterns.length === 0) {
        const unknown = r.judged === 0 && r.unjudged.length > 0;
        tools.body.append(
          el("p", { class: "faint" }, unknown ? "No call in this time can be judged." : "Nothing waits in this time."),
        );
        return;
      }

      const by = breakdowns.find(([x]) => x === tools.get("by")) ?? breakdowns[0],
        chosen = r.patterns.find((p) => p.pattern === tools.get("pattern")),
        listed = chosen ? [chosen] : r.patterns;
      tools.bar.append(
        select(
          "Waits are broken down by",
          breakdowns.map(([x, title]) => [x, `by ${title}`] as const),
          by[0],
          (v) => {
            tools.set("by", v === breakdowns[0][0] ? "" : v);
            tools.refresh();
          },
        ),
        select(
          "Pattern",
          [[allPatterns, "all patterns"], ...r.patterns.map((p) => [p.pattern, p.pattern] as const)],
          chosen?.pattern ?? allPatterns,
          (v) => choose(v),
        ),
      );
      const choose = (pattern: string): void => {
        tools.set("pattern", pattern === allPatterns ? "" : pattern);
        tools.refresh();
      };
      const patterns = patternTable(lane, tools, r, chosen, choose),
        broken = shareTable(lane, tools, listed, by);
      tools.bar.append(...(broken.filter ? [broken.filter] : []));
      // a pattern that is part of another one has its waits listed there
      const longest = (chosen ? [chosen] : r.patterns.filter((p) => p.partOf === "")).flatMap((p) =>
        p.worst.map((x): LongestWait => ({ ...x, of: p })),
      );
      const worst = worstTable(app, scope, tools, longest),
        late = lateTable(lane, tools, r.late);
      tools.body.append(
        el(
          "div",
          { class: "tables" },
          patterns.element,
          broken.element,
          worst.element,
          ...(r.late.length > 0 ? [late.element] : []),
        ),
      );
      tools.csv(broken.csv);
    },
  };
}
