// The panel of the flat profile. It shows the number and the times of the calls or claims of each
// region.
import { type Profile, type ProfileRow, ranges, errorText } from "../api";
import type { App } from "../app";
import { count, el, percent, printable, select, nameElement } from "../dom";
import type { Panel, Scope, Tools } from "../dock";
import type { Lane } from "../lane";
import { type Mean, meanOf, meanOrder, meanTicks, short, shortMean } from "../time";
import { selectLongestCall } from "./calls";
import { linkButton, swatch } from "./parts";
import { type Column, makeTable } from "./table";

/** Grouping is the subject of a row of the profile: a region, or a region at one location or in one group. */
type Grouping = "region" | "location" | "group";

/** leftOut returns a text with the number of rows that a profile leaves out, or "" if it is complete. */
export function leftOut(p: Profile): string {
  const n = p.left.rows;
  if (n === 0) return "";
  return `${count(n)} ${n === 1 ? "row" : "rows"} with less exclusive time ${n === 1 ? "is" : "are"} left out`;
}

/** Row is a row of the profile with its times in ticks. where is its location or group. */
interface Row extends ProfileRow {
  label: string;
  claim: boolean;
  inc: bigint;
  exc: bigint;
  least: bigint;
  most: bigint;
  avg: Mean | null;
  where: string;
}

/**
 * Rows holds the rows of the table. claims and calls are set if there are such rows. part returns
 * the share of a row in the exclusive time of all calls, or of all claims.
 */
interface Rows {
  by: Grouping;
  rows: Row[];
  claims: boolean;
  calls: boolean;
  part: (x: Row) => number;
}

/** profile creates the panel of the flat profile. */
export function profile(): Panel {
  return {
    id: "profile",
    title: "Profile",
    timeScope: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const by = (["location", "group"] as const).find((x) => x === tools.get("by")) ?? "region";
      const r = await app.client.json<Profile>(
        `traces/${encodeURIComponent(lane.meta.id)}/profile`,
        { from: w.from, to: w.to, by },
        tools.signal,
      );
      const table = rowsOf(lane, r, by),
        columns = [...identityColumns(app, lane, table), ...timeColumns(app, scope, table)],
        what = printable(lane.spanWord);
      const t = makeTable(columns, table.rows, {
        order: columns.findIndex((c) => c.title === "exclusive" || c.title === "held"),
        memory: tools,
        run: tools.run,
        left: leftOut(r),
        filter: (x) => `${x.label} ${x.where}`,
        click: (x) => app.highlight(x.name),
        clickHint: `highlight this ${what}`,
        chosen: (x) => x.name === app.store.state.highlight,
      });
      tools.bar.append(rowMenu(tools, by, what), ...(t.filter ? [t.filter] : []));
      tools.body.append(t.element);
      tools.csv(t.csv);
    },
  };
}

/** rowMenu returns the menu for the choice of rows: by region, location or group. */
function rowMenu(tools: Tools, by: Grouping, what: string): HTMLElement {
  return select(
    "Rows of the profile",
    [
      ["region", `a row per ${what}`],
      ["location", "per location"],
      ["group", "per group"],
    ],
    by,
    (v) => {
      tools.set("sort", "");
      tools.set("by", v);
      tools.refresh();
    },
  );
}

/** rowsOf returns the rows of an answer. */
function rowsOf(lane: Lane, r: Profile, by: Grouping): Rows {
  const rows = (r.rows ?? []).map((x): Row => ({
    ...x,
    label: lane.regionLabel(x.region, x.name),
    claim: x.kind === "claim",
    inc: BigInt(x.inclusive),
    exc: BigInt(x.exclusive),
    least: BigInt(x.min),
    most: BigInt(x.max),
    avg: meanOf(BigInt(x.sum), x.count),
    where: by === "location" ? lane.fullName(x.track) : by === "group" ? (lane.meta.groups[x.group]?.name ?? "") : "",
  }));
  // compute the shares of calls and of claims separately, because their times cannot be added
  const sums = [false, true].map((claim) =>
    rows.reduce((s, x) => (x.claim === claim ? s + x.exc : s), BigInt(claim ? r.left.held : r.left.exclusive)),
  );
  const part = (x: Row): number => {
    const total = sums[x.claim ? 1 : 0];
    return total > 0n ? Number(x.exc) / Number(total) : 0;
  };
  return { by, rows, claims: rows.some((x) => x.claim), calls: rows.some((x) => !x.claim), part };
}

/** identityColumns returns the columns that identify a row, and the number of its calls or claims. */
function identityColumns(app: App, lane: Lane, { by, claims, calls }: Rows): Column<Row>[] {
  return [
    {
      title: printable(lane.spanWord),
      text: true,
      show: (x) => el("span", {}, swatch(app, lane, x.region), nameElement(x.label)),
      sort: (x) => x.label,
      csv: (x) => x.label,
    },
    ...(by === "region"
      ? []
      : [{ title: by, text: true, show: (x: Row) => x.where, sort: (x: Row) => x.where, csv: (x: Row) => x.where }]),
    ...(claims && calls
      ? [
          {
            title: "kind",
            text: true,
            show: (x: Row) => (x.claim ? "claims" : "calls"),
            sort: (x: Row) => (x.claim ? "claims" : "calls"),
            csv: (x: Row) => (x.claim ? "claims" : "calls"),
          },
        ]
      : []),
    {
      title: "count",
      show: (x) =>
        linkButton(count(x.count), `list the ${x.claim ? "claims" : "calls"}, the longest first`, () => {
          const c = new Map(app.store.state.choices).set("calls.region", x.label);
          if (x.claim) c.set("calls.kind", "claim");
          else c.delete("calls.kind");
          app.store.set({ choices: c, panel: "calls" });
        }),
      sort: (x) => x.count,
      csv: (x) => x.count,
    },
  ];
}

/** timeColumns returns the columns with times. */
function timeColumns(app: App, scope: Scope, { by, rows, claims, calls, part }: Rows): Column<Row>[] {
  const { lane } = scope,
    top = rows.reduce((m, x) => Math.max(m, part(x)), 0) || 1;
  const time = (title: string, hint: string, f: (x: Row) => bigint): Column<Row> => ({
    title,
    hint,
    show: (x) => short(f(x), lane.clock),
    sort: f,
    csv: f,
    unit: "ticks",
  });
  // the values of an attribute may take the place of regions
  const what = printable(lane.spanWord);
  const tracksOf = (x: Row): string | undefined =>
    by === "location"
      ? String(x.track)
      : by === "group"
        ? ranges(lane.meta.tracks.flatMap((t, i) => (t.group === x.group ? [i] : [])))
        : undefined;
  return [
    ...(calls || !claims
      ? [
          time("inclusive", `time in the ${what} and all it calls`, (x) => x.inc),
          time(
            "exclusive",
            claims ? `time in the ${what} itself, or that its claims held` : `time in the ${what} itself`,
            (x) => x.exc,
          ),
        ]
      : [time("held", "time that its claims held resources", (x) => x.exc)]),
    {
      title: "part",
      hint:
        claims && calls
          ? "part of the exclusive time of all calls, or of all claims"
          : claims
            ? "part of the time of all claims"
            : "part of all exclusive time",
      show: (x) => percent(part(x)),
      sort: part,
      csv: part,
    },
    {
      title: "",
      bar: true,
      show: (x) =>
        el("span", {
          class: "bar",
          style: {
            width: `${(100 * part(x)) / top}%`,
            background:
              app.store.state.color === "track" ? app.colors.other : (lane.colors.css[x.region] ?? app.colors.other),
          },
        }),
    },
    time("min", claims && !calls ? "shortest claim" : "shortest inclusive time", (x) => x.least),
    {
      title: "mean",
      hint: claims && !calls ? "mean claim" : "mean inclusive time of a visit",
      show: (x) => shortMean(x.avg, lane.clock),
      sort: (x) => meanOrder(x.avg),
      csv: (x) => meanTicks(x.avg),
      unit: "ticks",
    },
    {
      ...time("max", claims && !calls ? "longest claim" : "longest inclusive time", (x) => x.most),
      show: (x) =>
        linkButton(short(x.most, lane.clock), `go to the longest ${x.claim ? "claim" : "call"}`, () => {
          selectLongestCall(app, scope, String(x.region), x.kind ?? "region", tracksOf(x)).catch((e: unknown) =>
            app.announce(errorText(e)),
          );
        }),
    },
  ];
}
