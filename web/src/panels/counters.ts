// The panel of counters. It shows statistics of counters and signals for a time.
import type { CounterRow } from "../api";
import { count, el } from "../dom";
import type { Panel } from "../dock";
import { type Column, makeTable } from "./table";

/** meanWords explains the mean of a counter. It depends on how long each value applies. */
const meanWords: Record<CounterRow["holding"], string> = {
  next: "over time: a value holds until the next one",
  last: "over time: a value is for the time since the one before",
  point: "of the values: they are for single times",
  path: "over time, along the signal",
};

/**
 * formatValue formats a value with six digits, or with all digits if it is an integer below 10^15.
 * It formats a missing value as "–".
 */
export function formatValue(x: number | undefined): string {
  if (x === undefined) return "–";
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return (x < 0 ? "−" : "") + count(Math.abs(x));
  const v = Number(x.toPrecision(6));
  return (v < 0 ? "−" : "") + String(Math.abs(v)).replace(/^\d+(?=\.|$)/, (n) => count(Number(n)));
}

/** withoutRounding rounds a computed value to 15 digits. That removes rounding errors. */
export function withoutRounding(x: number | undefined): number | undefined {
  return x === undefined || Number.isInteger(x) ? x : Number(x.toPrecision(15));
}

/** counters creates the panel of counters and signals. */
export function counters(): Panel {
  return {
    id: "counters",
    title: "Counters",
    timeScope: "range",
    async render(app, { lane, window: w }, tools) {
      if (!lane.meta.tracks.some((t) => t.kind === "counter")) {
        tools.body.append(el("p", { class: "faint" }, "This trace has no counters or signals."));
        tools.csv(null);
        return;
      }
      const r = await app.client.json<{ rows: CounterRow[] | null }>(
        `traces/${encodeURIComponent(lane.meta.id)}/counters`,
        { from: w.from, to: w.to },
        tools.signal,
      );
      const rows = (r.rows ?? []).map((x) => ({
        ...x,
        label: lane.fullName(x.track),
        unit: lane.meta.tracks[x.track]?.unit ?? "",
      }));
      type Row = (typeof rows)[number];
      const value = (title: string, hint: string, f: (x: Row) => number | undefined): Column<Row> => ({
        title,
        hint,
        show: (x) => formatValue(f(x)),
        sort: (x) => f(x) ?? -Infinity,
        csv: (x) => f(x) ?? "",
      });
      const computed = (title: string, hint: string, f: (x: Row) => number | undefined): Column<Row> =>
        value(title, hint, (x) => withoutRounding(f(x)));
      const meanOf = (x: Row): string => (x.holding === "point" ? "values" : "time"),
        grow = rows.some((x) => x.increase !== undefined);
      const t = makeTable<Row>(
        [
          { title: "counter", text: true, show: (x) => x.label, sort: (x) => x.label, csv: (x) => x.label },
          { title: "unit", text: true, show: (x) => x.unit, sort: (x) => x.unit, csv: (x) => x.unit },
          {
            title: "values",
            hint: "values in this time; for signals, the fragments that overlap this time",
            show: (x) => count(x.samples),
            sort: (x) => x.samples,
            csv: (x) => x.samples,
          },
          value("first", "the value at the begin, which may have begun before; else the first one", (x) => x.first),
          value("last", "the value at the end", (x) => x.last),
          value("min", "the least value", (x) => x.min),
          {
            ...computed("mean", "mean over time where values stand for a time, else of the values", (x) => x.mean),
            show: (x) => el("span", { title: meanWords[x.holding] }, formatValue(x.mean)),
          },
          value("max", "the greatest value", (x) => x.max),
          ...(grow
            ? [
                computed("increase", "last less first, of counters that accumulate", (x) => x.increase),
                computed("per second", "increase by the time between first and last", (x) => x.rate),
              ]
            : []),
          ...(rows.some((x) => x.holding === "point")
            ? [
                {
                  title: "mean of",
                  text: true,
                  show: (x: Row) => el("span", { title: meanWords[x.holding] }, meanOf(x)),
                  sort: meanOf,
                  csv: meanOf,
                },
              ]
            : []),
        ],
        rows,
        {
          order: 0,
          ascending: true,
          memory: tools,
          run: tools.run,
          filter: (x) => x.label,
          clickHint: "show this row in the time line",
          click: (x) => {
            if (lane.rowOf.has(x.track))
              app.reveal(
                { lane: lane.index, track: x.track, depth: 0, time: w.from + (w.to - w.from) / 2n },
                w.from,
                w.to,
              );
            else app.announce("this row is hidden");
          },
        },
      );
      tools.bar.append(...(t.filter ? [t.filter] : []));
      tools.body.append(t.element);
      tools.csv(t.csv);
    },
  };
}
