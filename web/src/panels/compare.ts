// Compares two traces, or two times of one trace, region by region.
import type { Profile } from "../api";
import type { App } from "../app";
import { button, count, el, name, printable, titled } from "../dom";
import type { Panel } from "../dock";
import type { Lane } from "../lane";
import { exact, seconds, short, type Window } from "../time";
import { leftOut, mergeByName, type NamedRow } from "./merge";
import { type Column, makeTable } from "./table";

/** keptTime reads the window that is kept as time A; null if there is none. */
function keptTime(text: string): Window | null {
  const m = /^(-?\d{1,40})~(-?\d{1,40})$/.exec(text);
  return m && BigInt(m[1]) < BigInt(m[2]) ? { from: BigInt(m[1]), to: BigInt(m[2]) } : null;
}

/** Times has the times of regions by name. left describes regions that the server leaves out, or is "". */
interface Times {
  regions: Map<string, NamedRow>;
  left: string;
}

/** timesOf requests the times of regions in a window of the axis. */
async function timesOf(app: App, l: Lane, axis: Window, signal: AbortSignal): Promise<Times> {
  // outside of the trace there is nothing to sum up
  if (l.toLocal(axis.to) <= 0n || l.toLocal(axis.from) > l.length) return { regions: new Map(), left: "" };
  const w = l.cut(axis),
    r = await app.client.json<Profile>(
      `traces/${encodeURIComponent(l.meta.id)}/profile`,
      { from: w.from, to: w.to, by: "region" },
      signal,
    );
  return {
    regions: new Map(mergeByName(r.rows ?? []).map((x) => [x.kind === "claim" ? `${x.name} (claims)` : x.name, x])),
    left: leftOut(r, true),
  };
}

/** Row is a region in A (x) and B (y), with its times in seconds and their difference. */
interface Row {
  region: string;
  x: NamedRow | undefined;
  y: NamedRow | undefined;
  sa: number;
  sb: number;
  d: number;
}

/** compared returns a row for each region of A or B. */
function compared(pa: Map<string, NamedRow>, pb: Map<string, NamedRow>, a: Lane, b: Lane): Row[] {
  const sec = (r: NamedRow | undefined, l: Lane): number => (r ? seconds(BigInt(r.exclusive), l.clock) : 0);
  return [...new Set([...pa.keys(), ...pb.keys()])].map((region) => {
    const x = pa.get(region),
      y = pb.get(region),
      sa = sec(x, a),
      sb = sec(y, b);
    return { region, x, y, sa, sb, d: sb - sa };
  });
}

/** signed formats a difference in seconds. */
function signed(s: number): string {
  return (
    `${s > 0 ? "+" : s < 0 ? "−" : ""}` +
    `${short(BigInt(Math.round(Math.abs(s) * 1e12)), { num: 1000000000000n, den: 1n })}`
  );
}

/** Side is a trace that is compared, with a text that describes its time. */
interface Side {
  lane: Lane;
  text: string;
}

/** columns returns the columns of the table. */
function columns(
  app: App,
  rows: readonly Row[],
  { lane: a, text: na }: Side,
  { lane: b, text: nb }: Side,
): Column<Row>[] {
  const most = rows.reduce((m, r) => Math.max(m, Math.abs(r.d)), 0) || 1;
  const color = (r: Row): string =>
    (r.x ? a.colors.css[r.x.region] : r.y ? b.colors.css[r.y.region] : undefined) ?? app.colors.other;
  return [
    {
      title: "region",
      text: true,
      show: (r) =>
        el(
          "span",
          {},
          app.store.state.color === "track" ? null : el("span", { class: "swatch", style: { background: color(r) } }),
          titled(r.region),
        ),
      sort: (r) => r.region,
      csv: (r) => r.region,
    },
    {
      title: `A: exclusive`,
      hint: na,
      show: (r) => (r.x ? short(BigInt(r.x.exclusive), a.clock) : "–"),
      sort: (r) => r.sa,
      csv: (r) => r.sa,
      unit: "s",
    },
    {
      title: `B: exclusive`,
      hint: nb,
      show: (r) => (r.y ? short(BigInt(r.y.exclusive), b.clock) : "–"),
      sort: (r) => r.sb,
      csv: (r) => r.sb,
      unit: "s",
    },
    { title: "B − A", show: (r) => signed(r.d), sort: (r) => Math.abs(r.d), csv: (r) => r.d, unit: "s" },
    {
      title: "",
      bar: true,
      show: (r) =>
        el("span", {
          style: {
            display: "block",
            height: "9px",
            width: `${(50 * Math.abs(r.d)) / most}%`,
            "margin-left": r.d < 0 ? `${50 - (50 * Math.abs(r.d)) / most}%` : "50%",
            background: r.d > 0 ? "#d55e00" : "#0072b2",
          },
        }),
    },
    {
      title: "B / A",
      show: (r) => (r.sa > 0 && r.sb > 0 ? (r.sb / r.sa).toFixed(3) : "–"),
      sort: (r) => (r.sa > 0 ? r.sb / r.sa : Infinity),
      csv: (r) => (r.sa > 0 ? r.sb / r.sa : ""),
    },
    {
      title: "A: count",
      show: (r) => count(r.x?.count ?? 0),
      sort: (r) => r.x?.count ?? 0,
      csv: (r) => r.x?.count ?? 0,
    },
    {
      title: "B: count",
      show: (r) => count(r.y?.count ?? 0),
      sort: (r) => r.y?.count ?? 0,
      csv: (r) => r.y?.count ?? 0,
    },
  ];
}

/**
 * compare creates the panel that compares two profiles by region name. They are those of the first
 * two traces or, for a single trace, those of a kept time and of the current time.
 */
export function compare(): Panel {
  return {
    id: "compare",
    title: "Compare",
    of: "range",
    both: true,
    async render(app, { axis }, tools) {
      const several = app.lanes.length > 1,
        kept = several ? null : keptTime(tools.get("a")),
        a = app.lanes[0],
        b = several ? app.lanes[1] : a;
      if (!several)
        tools.bar.append(
          button("Keep as A", "Keep this time as A, to compare others with it", () => {
            tools.set("a", `${axis.from}~${axis.to}`);
            tools.again();
          }),
        );
      if (!several && !kept) {
        tools.body.append(
          el(
            "p",
            { class: "faint" },
            "Select a range and keep it as A; then select another one: both are compared region by region. Two " +
              "traces side by side: weft view A B.",
          ),
        );
        tools.csv(null);
        return;
      }
      const time = (l: Lane, w: Window): Promise<Times> => timesOf(app, l, w, tools.signal),
        [ta, tb] = await Promise.all([time(a, kept ?? axis), time(b, axis)]),
        left = [ta.left ? `A: ${ta.left}` : "", tb.left ? `B: ${tb.left}` : ""].filter((x) => x !== "");
      const rows = compared(ta.regions, tb.regions, a, b);
      const words = (w: Window): string => `${exact(w.from, app.axis)} to ${exact(w.to, app.axis)}`,
        na = kept ? words(kept) : printable(a.title),
        nb = kept ? words(axis) : printable(b.title);
      const t = makeTable<Row>(columns(app, rows, { lane: a, text: na }, { lane: b, text: nb }), rows, {
        order: 3,
        memory: tools,
        run: tools.run,
        left: left.join("; "),
        filter: (r) => r.region,
        click: (r) => app.highlight(r.region),
        clickHint: "highlight this region",
      });
      tools.bar.append(
        el("span", { class: "faint" }, "A: ", name(na), "  B: ", name(nb)),
        ...(t.filter ? [t.filter] : []),
      );
      tools.body.append(t.element);
      tools.csv(t.csv);
    },
  };
}
