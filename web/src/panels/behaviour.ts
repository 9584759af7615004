// The panel of behaviour. It shows the objects, iterations or locations that behave differently from
// the others.
import type { BehaviourClass, Behaviours } from "../answers";
import type { App } from "../app";
import { count, countWords, el, name, printable } from "../dom";
import type { Panel } from "../dock";
import type { Extra } from "../extratypes";
import { removeChoice, showInterval, type Source } from "../extras";
import type { Lane } from "../lane";
import { barsOf, claimsOf, differenceLists, labelField, marksOf, timesOf } from "./differences";
import { chooser, usualChoice } from "./objects";
import { type Column, makeTable } from "./table";
import { keepTime, timeKey, timeOf, timeQuery } from "./times";

/** comparedIn returns what is compared for a choice of objects. */
function comparedIn(choice: string): "claim" | "call" {
  return choice.startsWith("by ") ? "claim" : "call";
}

/** queryOf returns the parameters for a choice of objects, or null if the choice is not complete. */
function queryOf(choice: string, labels: string): Record<string, string | undefined> | null {
  const label = labels === "" ? undefined : labels;
  if (choice === "locations") return { locations: "1", label };
  const m = /^(by|visits) ([\s\S]+)$/.exec(choice);
  return m ? { [m[1] === "by" ? "by" : "iterations"]: m[2], label } : null;
}

/** requestClasses requests the classes of behaviour in a trace. */
function requestClasses(app: App, lane: Lane, signal: AbortSignal): Promise<Behaviours | null> {
  const c = app.store.state.choices,
    q = queryOf(c.get("behaviour.of") ?? usualChoice(lane, true), c.get("behaviour.label") ?? "");
  return q
    ? app.client.json<Behaviours>(
        `traces/${encodeURIComponent(lane.meta.id)}/behaviour`,
        { ...q, ...timeQuery(lane, timeOf(app, "behaviour")) },
        signal,
      )
    : Promise.resolve(null);
}

/** explanationOf returns the rows and marks that compare a class with the usual class. */
function explanationOf(lane: Lane, c: BehaviourClass, usual: BehaviourClass): Extra {
  const shown = (x: BehaviourClass, where: string): Extra["rows"][number] => ({
    label: `${where}: ${x.representative}`,
    level: 0,
    bars: x.shown.map((p) => ({ from: BigInt(p.from), to: BigInt(p.to), tone: "plain", text: p.label })),
  });
  const side = (label: string, bars: ReturnType<typeof barsOf>): Extra["rows"][number] => ({ label, level: 1, bars });
  return {
    lane: lane.index,
    title: `behaviour of ${c.representative}: ${c.usual} from the usual one, ${usual.representative}`,
    rows: [
      shown(usual, "usual"),
      ...(c.usual > 0 ? [side("only usual", barsOf(c.difference.first, "good", "usual"))] : []),
      ...(c === usual ? [] : [shown(c, "here")]),
      ...(c.usual > 0 ? [side("only here", barsOf(c.difference.second, "bad", "here"))] : []),
    ],
    marks: [...marksOf(c.difference.first, "good"), ...marksOf(c.difference.second, "bad")],
  };
}

/**
 * behaviourSource shows the differences between a class and the usual one. The choice in the state
 * holds the number of the lane and the representative of the class.
 */
export const behaviourSource: Source = {
  id: "behaviour",
  key(app) {
    const c = app.store.state.choices,
      shown = c.get("behaviour.class");
    return shown === undefined
      ? ""
      : JSON.stringify([shown, c.get("behaviour.of"), c.get("behaviour.label"), timeKey(app, "behaviour")]);
  },
  async load(app, signal) {
    const m = /^(\d+) ([\s\S]*)$/.exec(app.store.state.choices.get("behaviour.class") ?? ""),
      lane = app.lanes[Number(m?.[1] ?? 0)];
    if (!m || !lane) return [];
    const r = await requestClasses(app, lane, signal),
      c = r?.classes.find((x) => x.representative === m[2]),
      usual = r?.classes[r.usual];
    return c && usual ? [explanationOf(lane, c, usual)] : [];
  },
  remove: (app) => removeChoice(app, "behaviour.class"),
};

/** Row is a class with its index. */
type Row = BehaviourClass & { index: number };

/** columnsFor returns the columns of the table of classes. */
const columnsFor = (compared: string): readonly Column<Row>[] => [
  { title: "class", show: (c) => String(c.index + 1), sort: (c) => c.index, csv: (c) => c.index + 1 },
  { title: "objects", show: (c) => count(c.objects), sort: (c) => c.objects, csv: (c) => c.objects },
  { title: `${compared}s each`, show: (c) => count(c.claims), sort: (c) => c.claims, csv: (c) => c.claims },
  {
    title: "from the usual one",
    hint: `${compared}s and successions that only one of both has`,
    show: (c) => count(c.usual),
    sort: (c) => c.usual,
    csv: (c) => c.usual,
  },
  {
    title: "nearest",
    hint: "the class with the least distance, and that distance",
    show: (c) => (c.nearest < 0 ? "" : `${c.nearest + 1} (${count(c.distance)})`),
    sort: (c) => (c.nearest < 0 ? Infinity : c.distance),
    csv: (c) => (c.nearest < 0 ? "" : c.nearest + 1),
  },
  {
    title: "representative",
    text: true,
    show: (c) => c.representative,
    sort: (c) => c.representative,
    csv: (c) => c.representative,
  },
  {
    title: "others",
    text: true,
    show: (c) => name(c.names.slice(1, 6).join(", ") + (c.objects > Math.min(6, c.names.length) ? ", …" : "")),
  },
];

/** behaviour creates the panel of classes. */
export function behaviour(): Panel {
  return {
    id: "behaviour",
    title: "Behaviour",
    timeScope: "trace",
    choosesTime: true,
    whole: "the whole trace, regardless of range and window",
    async render(app, { lane, axis }, tools) {
      const of = tools.get("of") || usualChoice(lane, true),
        objects = chooser(lane, of, true, (v) => {
          tools.set("of", v);
          tools.set("class", "");
          tools.refresh();
        });
      tools.bar.append(objects.select, objects.input, objects.list, labelField(tools));
      tools.csv(null);
      const r = await requestClasses(app, lane, tools.signal);
      if (!r || r.missing !== "") {
        const why = r
          ? `There is no behaviour: ${printable(r.missing)}.`
          : "Choose the region whose visits are compared.";
        tools.body.append(el("p", { class: "faint" }, why));
        return;
      }
      const usual = r.classes[r.usual],
        compared = comparedIn(of),
        why = el("div", { class: "reasons", aria: { live: "polite" } });
      const explain = (c: BehaviourClass): void => {
        why.replaceChildren(
          el("h2", {}, printable(`${c.representative}: ${count(c.usual)} from the usual one, ${usual.representative}`)),
          differenceLists(app, c.difference, compared, { lane, name: "usual" }, { lane, name: "here" }),
        );
      };
      const t = makeTable<Row>(
        columnsFor(compared),
        r.classes.map((c, index) => ({ ...c, index })),
        {
          order: 0,
          ascending: true,
          memory: tools,
          run: tools.run,
          left: r.left > 0 ? `${count(r.left)} more classes are left out` : "",
          filter: (c) => c.names.join(" "),
          click: (c) => {
            explain(c);
            keepTime(app, "behaviour", axis);
            tools.set("class", `${lane.index} ${c.representative}`);
            const at = timesOf(claimsOf(c.difference.second)) ?? timesOf(c.shown);
            if (at) showInterval(app, lane, at.from, at.to);
            app.announce(`${c.representative}: ${count(c.usual)} from the usual one`);
          },
          clickHint: "show on the time line what differs from the usual class",
        },
      );
      const held = r.classes.find((c) => `${lane.index} ${c.representative}` === tools.get("class"));
      if (held) explain(held);
      tools.bar.append(...(t.filter ? [t.filter] : []));
      tools.body.append(
        el(
          "p",
          {},
          `${countWords(r.objects, "object")}, ${countWords(r.claims, compared)}, ` +
            countWords(r.classes.length + r.left, "class", "classes"),
        ),
        t.element,
        why,
      );
      tools.csv(t.csv);
    },
  };
}
