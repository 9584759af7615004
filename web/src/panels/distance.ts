// The panel of distance. It compares the order of the claims in each trace with their order in the
// first trace, which is the reference.
import type { Distance } from "../answers";
import type { App } from "../app";
import { countWords, count, el, printable, select } from "../dom";
import type { Panel } from "../dock";
import type { Extra, Tone } from "../extratypes";
import { removeChoice, showInterval, type Source } from "../extras";
import type { Lane } from "../lane";
import { barsOf, claimsOf, differenceLists, labelField, marksOf, timesOf } from "./differences";
import { hasClaims } from "./objects";
import { type Column, makeTable } from "./table";
import { keepTime, timeKey, timeOf, timeQuery } from "./times";

/** callsOf reports whether the panel compares calls instead of claims. */
function callsOf(app: App): boolean {
  const of = app.store.state.choices.get("distance.of");
  return of === undefined ? !app.lanes.every(hasClaims) : of === "calls";
}

/** comparedIn returns what the panel compares. */
function comparedIn(app: App): "claim" | "call" {
  return callsOf(app) ? "call" : "claim";
}

/** requestDistance requests the distance of a trace from the first one. */
function requestDistance(app: App, lane: Lane, signal: AbortSignal): Promise<Distance> {
  const time = timeOf(app, "distance"),
    there = timeQuery(app.lanes[0], time);
  return app.client.json<Distance>(
    `traces/${encodeURIComponent(lane.meta.id)}/distance`,
    {
      reference: app.lanes[0].meta.id,
      calls: callsOf(app) ? "1" : undefined,
      label: app.store.state.choices.get("distance.label"),
      referenceFrom: there.from,
      referenceTo: there.to,
      ...timeQuery(lane, time),
    },
    signal,
  );
}

/**
 * distanceSource marks the claims that only one of two traces has, in both traces. The choice in
 * the state is the number of the second trace's lane.
 */
export const distanceSource: Source = {
  id: "distance",
  key(app) {
    const c = app.store.state.choices,
      shown = c.get("distance.trace");
    return shown === undefined
      ? ""
      : JSON.stringify([shown, c.get("distance.of"), c.get("distance.label"), timeKey(app, "distance")]);
  },
  async load(app, signal) {
    const lane = app.lanes[Number(app.store.state.choices.get("distance.trace"))];
    if (!lane || lane.index === 0) return [];
    const { difference: d, distance } = await requestDistance(app, lane, signal);
    const one = (l: Lane, side: typeof d.first, tone: Tone, where: string): Extra => ({
      lane: l.index,
      title:
        `only ${where}: ${countWords(side.nodeCount, comparedIn(app))}, ${side.edgeCount} successions; ` +
        `distance ${distance}`,
      rows: [{ label: `only ${where}`, level: 0, bars: barsOf(side, tone, where) }],
      marks: marksOf(side, tone),
    });
    return [one(app.lanes[0], d.first, "good", "in the reference"), one(lane, d.second, "bad", "here")];
  },
  remove: (app) => removeChoice(app, "distance.trace"),
};

/** Row is the distance of a trace from the reference. */
type Row = Distance & { lane: Lane };

/** numberColumn returns a column with numbers. */
function numberColumn(title: string, f: (r: Row) => number): Column<Row> {
  return { title, show: (r) => count(f(r)), sort: f, csv: f };
}

/** columnsFor returns the columns of the table of traces. */
const columnsFor = (compared: string): readonly Column<Row>[] => [
  {
    title: "trace",
    text: true,
    show: (r) => r.lane.title,
    sort: (r) => r.lane.title,
    csv: (r) => r.lane.title,
  },
  numberColumn(`${compared}s`, (r) => r.claims),
  numberColumn("distance", (r) => r.distance),
  numberColumn(`${compared}s only here`, (r) => r.difference.second.nodeCount),
  numberColumn(`${compared}s only in the reference`, (r) => r.difference.first.nodeCount),
  numberColumn("successions only here", (r) => r.difference.second.edgeCount),
  numberColumn("successions only in the reference", (r) => r.difference.first.edgeCount),
];

/** distance creates the panel of distances. */
export function distance(): Panel {
  return {
    id: "distance",
    title: "Distance",
    timeScope: "trace",
    both: true,
    choosesTime: true,
    whole: "the whole traces, regardless of range and window",
    async render(app, { axis }, tools) {
      tools.csv(null);
      if (app.lanes.length < 2) {
        const how = "Open two traces or more to compare the order of their claims: weft view REFERENCE B.";
        tools.body.append(el("p", { class: "faint" }, how));
        return;
      }
      tools.bar.append(
        select(
          "What is compared",
          [
            ["claims", "claims"],
            ["calls", "calls of regions"],
          ],
          callsOf(app) ? "calls" : "claims",
          (v) => {
            tools.set("of", v);
            tools.refresh();
          },
        ),
        labelField(tools),
      );
      const others = app.lanes.slice(1),
        answers = await Promise.all(others.map((l) => requestDistance(app, l, tools.signal))),
        missing = answers.find((a) => a.missing !== "")?.missing;
      if (missing !== undefined) {
        tools.body.append(el("p", { class: "faint" }, `There is no distance: ${printable(missing)}.`));
        return;
      }
      const compared = comparedIn(app),
        rows = answers.map((a, i): Row => ({ ...a, lane: others[i] })),
        why = el("div", { class: "reasons", aria: { live: "polite" } });
      const explain = (r: Row): void =>
        why.replaceChildren(
          el("h2", {}, printable(`${r.lane.title}: distance ${r.distance}`)),
          differenceLists(
            app,
            r.difference,
            compared,
            { lane: app.lanes[0], name: "reference" },
            { lane: r.lane, name: "here" },
          ),
        );
      const t = makeTable<Row>(columnsFor(compared), rows, {
        order: 2,
        memory: tools,
        run: tools.run,
        click: (r) => {
          explain(r);
          keepTime(app, "distance", axis);
          tools.set("trace", String(r.lane.index));
          const here = timesOf(claimsOf(r.difference.second)),
            there = timesOf(claimsOf(r.difference.first));
          if (here) showInterval(app, r.lane, here.from, here.to);
          else if (there) showInterval(app, app.lanes[0], there.from, there.to);
          app.announce(`${r.lane.title}: distance ${r.distance}`);
        },
        clickHint: "mark what only one of both traces has",
      });
      const held = rows.find((r) => String(r.lane.index) === tools.get("trace"));
      if (held) explain(held);
      tools.body.append(
        el(
          "p",
          {},
          `The reference is ${printable(app.lanes[0].title)}, with ${countWords(rows[0].reference, compared)}.`,
        ),
        t.element,
        why,
      );
      tools.csv(t.csv);
    },
  };
}
