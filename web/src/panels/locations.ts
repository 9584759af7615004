// The panel of locations. It has a row for each location, with the times of work, communication and
// waiting, and the messages. The user can sort it to find the slowest location.
import type { LocationRow, States } from "../api";
import type { App } from "../app";
import { bytesText, count, el, nameless, percent, printable } from "../dom";
import type { Panel, Scope } from "../dock";
import type { Lane } from "../lane";
import { short } from "../time";
import { stateShares, type State, stateColors, states, waitsQuery, waitsSwitch } from "./parts";
import { type Column, makeTable } from "./table";

const hints: Record<State, string> = {
  busy: "time outside of the communication system and not waiting, as in weft states",
  overhead: "time in the communication system, such as calls of MPI, as in weft states",
  idle: "recorded waiting time, and the time before the first and after the last event, as in weft states",
};

/** rowsOf returns a row for each location. */
function rowsOf(lane: Lane, rows: readonly LocationRow[], s: States) {
  const stateOf = new Map(s.rows.map((x) => [x.track, x]));
  return rows.map((x) => ({
    ...x,
    time: BigInt(x.busy),
    label: lane.fullName(x.track),
    state: stateOf.get(x.track),
    parts: (x.exclusive ?? []).map((p) => ({ region: p.region, ticks: BigInt(p.ticks) })),
  }));
}

/** Row is a location with its times. */
type Row = ReturnType<typeof rowsOf>[number];

/** stateBar returns a bar with the times of work, communication and waiting. */
function stateBar(x: Row): HTMLElement {
  const p = x.state && stateShares(x.state);
  return el(
    "span",
    { class: "stack" },
    ...(p
      ? states.map((k) =>
          el("span", {
            title: `${k} ${percent(p[k])}`,
            style: { width: `${100 * p[k]}%`, background: stateColors[k] },
          }),
        )
      : []),
  );
}

/** stateColumns returns the columns with the times of work, communication and waiting. */
function stateColumns(lane: Lane): Column<Row>[] {
  const ticks = (x: Row, k: State): bigint => (x.state ? BigInt(x.state[k]) : -1n);
  return [
    ...states.map((k): Column<Row> => ({
      title: k,
      hint: hints[k],
      show: (x) =>
        x.state ? el("span", { title: percent(stateShares(x.state)[k]) }, short(BigInt(x.state[k]), lane.clock)) : "–",
      sort: (x) => ticks(x, k),
      csv: (x) => x.state?.[k] ?? "",
      unit: "ticks",
    })),
    { title: "", bar: true, show: stateBar },
  ];
}

/** regionBar returns a bar with the exclusive times of regions, as parts of the whole time. */
function regionBar(app: App, lane: Lane, whole: number, x: Row): HTMLElement {
  return el(
    "span",
    { class: "stack" },
    ...x.parts.map((p) =>
      el("span", {
        title: `${printable(lane.regionLabel(p.region, "")) || nameless}: ${short(p.ticks, lane.clock)}`,
        style: {
          width: `${(100 * Number(p.ticks)) / whole}%`,
          background: lane.colors.css[p.region] ?? app.colors.other,
        },
      }),
    ),
  );
}

/** regionColumns returns the columns with the times of regions and the number of spans. */
function regionColumns(app: App, { lane, window: w }: Scope, rows: readonly Row[]): Column<Row>[] {
  const whole = Number(w.to - w.from) || 1,
    resources = !rows.some(
      (x) => lane.meta.tracks[x.track]?.kind === "location" && lane.meta.tracks[x.track].spans > 0,
    );
  const largest = (x: Row): string => {
    const r = x.parts[0]?.region ?? -1;
    return lane.meta.regions[r] ? lane.regionLabel(r, "") || nameless : "";
  };
  const what = printable(lane.spanWord),
    high = app.store.state.highlight;
  const ofHighlight = (x: Row): bigint => x.parts.find((p) => lane.meta.regions[p.region]?.name === high)?.ticks ?? 0n;
  return [
    {
      title: resources ? "claimed" : "in regions",
      hint: "time in any region; for a resource, the time in which any amount is claimed",
      show: (x) => short(x.time, lane.clock),
      sort: (x) => x.time,
      csv: (x) => x.time,
      unit: "ticks",
    },
    {
      title: "most in",
      hint: `the ${what} with most exclusive time`,
      text: true,
      show: largest,
      sort: largest,
      csv: largest,
    },
    { title: `exclusive by ${what}`, bar: true, show: (x) => regionBar(app, lane, whole, x) },
    ...(high !== null
      ? [
          {
            title: printable(high).slice(0, 24),
            hint: `exclusive time of the highlighted ${what}, if it is among the eight largest`,
            show: (x: Row) => short(ofHighlight(x), lane.clock),
            sort: ofHighlight,
            csv: ofHighlight,
            unit: "ticks",
          },
        ]
      : []),
    {
      title: resources ? "claims" : "spans",
      show: (x) => count(x.spans),
      sort: (x) => x.spans,
      csv: (x) => x.spans,
    },
  ];
}

/** messageColumns holds the columns about messages. */
const messageColumns: readonly Column<Row>[] = [
  {
    title: "sent",
    hint: "messages sent in this time",
    show: (x) => `${count(x.sent)}`,
    sort: (x) => x.sent,
    csv: (x) => x.sent,
  },
  {
    title: "sent bytes",
    show: (x) => bytesText(x.sentBytes),
    sort: (x) => x.sentBytes,
    csv: (x) => x.sentBytes,
  },
  {
    title: "received",
    hint: "messages received in this time",
    show: (x) => `${count(x.received)}`,
    sort: (x) => x.received,
    csv: (x) => x.received,
  },
  {
    title: "received bytes",
    hint: "bytes of messages received in this time, as stated by their sends",
    show: (x) => bytesText(x.receivedBytes),
    sort: (x) => x.receivedBytes,
    csv: (x) => x.receivedBytes,
  },
];

/** locations creates the panel of locations. */
export function locations(): Panel {
  return {
    id: "locations",
    title: "Locations",
    timeScope: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const path = `traces/${encodeURIComponent(lane.meta.id)}/`,
        time = { from: w.from, to: w.to };
      const [r, s] = await Promise.all([
        app.client.json<{ rows: LocationRow[] | null }>(path + "locations", time, tools.signal),
        app.client.json<States>(path + "states", { ...time, ...waitsQuery(tools) }, tools.signal),
      ]);
      const rows = rowsOf(lane, r.rows ?? [], s);
      const t = makeTable<Row>(
        [
          { title: "location", text: true, show: (x) => x.label, sort: (x) => x.label, csv: (x) => x.label },
          ...(rows.some((x) => x.state) ? stateColumns(lane) : []),
          ...regionColumns(app, scope, rows),
          ...(lane.meta.links === 0 ? [] : messageColumns),
        ],
        rows,
        {
          order: 1,
          memory: tools,
          run: tools.run,
          filter: (x) => x.label,
          clickHint: "show this row in the time line",
          click: (x) => {
            const i = lane.rowOf.get(x.track);
            if (i === undefined) app.announce("this row is hidden");
            else
              app.reveal(
                { lane: lane.index, track: x.track, depth: 0, time: w.from + (w.to - w.from) / 2n },
                w.from,
                w.to,
              );
          },
        },
      );
      // the balance is the mean of the busy times divided by the greatest of them
      const times = s.rows.map((x) => Number(x.busy)),
        mean = times.reduce((a, b) => a + b, 0) / Math.max(1, times.length),
        most = times.reduce((a, b) => Math.max(a, b), 0);
      tools.bar.append(
        el(
          "span",
          { title: "load balance: the mean busy time, as a part of the greatest" },
          most > 0 ? `mean/max busy ${percent(mean / most)}` : "",
        ),
        ...(s.missing !== "" && lane.meta.tracks.some((x) => x.kind === "location")
          ? [el("span", { class: "faint" }, `no states: ${printable(s.missing)}`)]
          : []),
        ...(s.processors > 0 ? [waitsSwitch(tools, s.clocks)] : []),
        ...(t.filter ? [t.filter] : []),
      );
      tools.body.append(t.element);
      tools.csv(t.csv);
    },
  };
}
