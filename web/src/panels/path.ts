// The panel of the critical path. It shows the regions and locations that determine how long the run
// takes, and the time that faster regions would save.
import type { CriticalPath } from "../api";
import { count, countWords, el, percent, printable } from "../dom";
import type { App } from "../app";
import type { Panel, Tools } from "../dock";
import type { Lane } from "../lane";
import { exact, short } from "../time";
import { chosenRows, outsideName, rowsChooser } from "./parts";
import { type Column, makeTable, type Table } from "./table";

type Region = CriticalPath["regions"][number];
type Location = CriticalPath["locations"][number];
type Gain = CriticalPath["gains"][number];
type Piece = CriticalPath["pieces"][number];

/** shareOf returns a time as a share of another one, from 0 to 1. */
function shareOf(time: string, of: string): number {
  return BigInt(of) > 0n ? Number(BigInt(time)) / Number(BigInt(of)) : 0;
}

/** timeColumn returns a column of times. */
function timeColumn<R>(lane: Lane, title: string, hint: string, f: (x: R) => bigint): Column<R> {
  return { title, hint, show: (x) => short(f(x), lane.clock), sort: f, csv: f, unit: "ticks" };
}

/** summary describes the path in a sentence. */
function summary(lane: Lane, r: CriticalPath): string {
  const time = (t: string): string => short(BigInt(t), lane.clock);
  return r.claims
    ? `A longest path takes ${time(r.length)}; ${count(r.count)} of ${count(r.claims.claims)} claims are critical, ` +
        `by ${countWords(r.claims.dependencies, "dependency", "dependencies")} of the trace and ` +
        `${count(r.claims.inferred)} inferred ones.`
    : `${time(r.length)}, from ${exact(BigInt(r.begin), lane.clock)} to ${exact(BigInt(r.end), lane.clock)}, in ` +
        `${countWords(r.count, "piece")}; the run takes ${time(r.runtime)}.`;
}

/** regionTable returns the table of regions or, for a path of claims, of activities. */
function regionTable(lane: Lane, tools: Tools, r: CriticalPath): Table {
  return makeTable<Region>(
    [
      {
        title: r.claims ? "activity" : "region",
        text: true,
        show: (x) => x.name || outsideName,
        sort: (x) => x.name,
        csv: (x) => x.name || outsideName,
      },
      timeColumn(lane, "time", "on the critical path", (x) => BigInt(x.time)),
      { title: "%", hint: "of the path", show: (x) => percent(shareOf(x.time, r.length)) },
      r.claims
        ? { title: "claims", show: (x) => count(x.claims), sort: (x) => x.claims, csv: (x) => x.claims }
        : timeColumn(
            lane,
            "imbalance",
            "the part of the time by which it exceeds the mean of all locations, without waits",
            // cut off fractions of ticks, as the command line does
            (x) => BigInt(Math.trunc(x.imbalance)),
          ),
    ],
    r.regions,
    { order: 1, memory: tools, run: tools.run },
  );
}

/** locationTable returns the table of locations. */
function locationTable(lane: Lane, tools: Tools, r: CriticalPath): Table {
  return makeTable<Location>(
    [
      {
        title: "location",
        text: true,
        show: (x) => (x.track < 0 ? "unknown" : lane.fullName(x.track)),
        sort: (x) => x.track,
      },
      timeColumn(lane, "time", "on the critical path", (x) => BigInt(x.time)),
      { title: "%", hint: "of the path", show: (x) => percent(shareOf(x.time, r.length)) },
    ],
    r.locations,
    { order: 1, run: tools.run },
  );
}

/** gainTable returns the table with the time that faster regions would save. */
function gainTable(lane: Lane, tools: Tools, r: CriticalPath): Table {
  return makeTable<Gain>(
    [
      { title: "with half of", text: true, show: (x) => x.region, sort: (x) => x.region },
      timeColumn(lane, "gain", "by how much the run would be shorter", (x) => BigInt(x.half)),
      { title: "%", hint: "of the run", show: (x) => percent(shareOf(x.half, r.runtime)) },
      ...r.factors.map((f, i): Column<Gain> => ({
        title: `× ${f}`,
        hint: `the runtime if the region took ${f} of its time`,
        show: (x) => short(BigInt(x.curve[i] ?? "0"), lane.clock),
        sort: (x) => BigInt(x.curve[i] ?? "0"),
      })),
    ],
    r.gains,
    { order: 1, run: tools.run },
  );
}

/** pieceTable returns the table of the pieces of the path. */
function pieceTable(app: App, lane: Lane, tools: Tools, r: CriticalPath): Table {
  return makeTable<Piece>(
    [
      timeColumn(lane, r.claims ? "claim" : "piece", "how long it is", (x) => BigInt(x.to) - BigInt(x.from)),
      { title: "from", show: (x) => exact(BigInt(x.from), lane.clock), sort: (x) => BigInt(x.from) },
      { title: "to", show: (x) => exact(BigInt(x.to), lane.clock), sort: (x) => BigInt(x.to) },
      {
        title: "row",
        text: true,
        show: (x) => (x.track < 0 ? "unknown" : lane.fullName(x.track)),
        sort: (x) => x.track,
      },
      { title: r.claims ? "activity" : "reached by", text: true, show: (x) => x.by, sort: (x) => x.by },
    ],
    r.pieces,
    {
      order: 0,
      run: tools.run,
      left: r.count > r.pieces.length ? `the ${count(r.pieces.length)} longest of ${count(r.count)}` : "",
      clickHint: "go to this piece",
      click: (x) => {
        app.store.set({ showPath: true });
        // a piece of the path need not be a span, so select nothing
        if (x.track >= 0) app.uncover(lane.index, x.track);
        app.reveal(
          { lane: lane.index, track: x.track, depth: lane.meta.tracks[x.track].depth, time: BigInt(x.from) },
          BigInt(x.from),
          BigInt(x.to),
        );
      },
      idle: (x) => (x.track < 0 ? "its row is unknown" : ""),
    },
  );
}

/** path creates the panel of the critical path. */
export function path(): Panel {
  return {
    id: "path",
    title: "Path",
    timeScope: "trace",
    whole: "the critical path of the whole trace",
    async render(app, { lane }, tools) {
      const r = await app.client.json<CriticalPath>(
        `traces/${encodeURIComponent(lane.meta.id)}/path`,
        chosenRows(lane, tools),
        tools.signal,
      );
      tools.csv(null);
      if (!r.claims) tools.bar.append(...rowsChooser(lane, tools));
      if (r.missing !== "") {
        tools.body.append(el("p", { class: "faint" }, printable(r.missing)));
        return;
      }
      const regions = regionTable(lane, tools, r),
        locations = locationTable(lane, tools, r),
        gains = gainTable(lane, tools, r),
        pieces = pieceTable(app, lane, tools, r);
      tools.body.append(
        el("p", {}, summary(lane, r)),
        ...(r.sentence ? [el("p", {}, printable(r.sentence))] : []),
        el(
          "div",
          { class: "tables" },
          regions.element,
          ...(r.locations.length > 0 ? [locations.element] : []),
          ...(r.gains.length > 0 ? [gains.element] : []),
          pieces.element,
        ),
      );
      tools.csv(regions.csv);
    },
  };
}
