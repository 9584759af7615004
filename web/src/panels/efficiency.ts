// The panel of efficiency. It shows POP's factors of efficiency: which share of the time is useful, and
// which effects take the rest.
import type { Efficiency, Factor } from "../api";
import { el, printable } from "../dom";
import type { Panel } from "../dock";
import { short } from "../time";
import { chosenRows, programOf, rowsChooser } from "./parts";
import { lowFactor, phaseChooser, showPhases, toneColor } from "./phases";
import { makeTable } from "./table";

/** efficiency creates the panel of factors. */
export function efficiency(): Panel {
  return {
    id: "efficiency",
    title: "Efficiency",
    timeScope: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope,
        choice = tools.get("of");
      tools.csv(null);
      tools.bar.append(
        ...rowsChooser(lane, tools),
        ...phaseChooser(lane, choice, (v) => {
          tools.set("of", v);
          tools.refresh();
        }),
      );
      if (choice !== "") return showPhases(app, scope, tools, choice);
      const r = await app.client.json<Efficiency>(
        `traces/${encodeURIComponent(lane.meta.id)}/efficiency`,
        { from: w.from, to: w.to, ...chosenRows(lane, tools) },
        tools.signal,
      );
      if (r.missing !== "") {
        tools.body.append(el("p", { class: "faint" }, `There is no efficiency: ${printable(r.missing)}.`));
        return;
      }
      const time = (t: string): string => short(BigInt(t), lane.clock);
      tools.body.append(
        el(
          "p",
          {},
          `${programOf(r)} ran for ${time(r.runtime)}; on a network ` +
            `that takes no time it would be ${time(r.ideal)}. Useful are ${time(r.useful)} of all threads, at most ` +
            `${time(r.usefulMax)} of one.`,
        ),
        ...r.sentences.map((s) => el("p", {}, printable(s))),
      );
      const rows = [...r.factors, ...r.hybrid, ...r.devices].map((f, i) => ({ ...f, i }));
      type Row = Factor & { i: number };
      const t = makeTable<Row>(
        [
          {
            title: "factor",
            text: true,
            show: (f) => el("span", { style: { "padding-left": `${16 * f.level}px` } }, f.name),
            sort: (f) => f.i,
            csv: (f) => f.name,
          },
          {
            title: "value",
            show: (f) => el("span", { class: f.value < lowFactor ? "low" : "" }, f.value.toFixed(3)),
            sort: (f) => f.value,
            csv: (f) => f.value,
          },
          {
            title: "",
            bar: true,
            show: (f) =>
              el("span", {
                class: "bar",
                style: { width: `${100 * Math.max(0, Math.min(1, f.value))}%`, background: toneColor(f.value) },
              }),
          },
        ],
        rows,
        { order: 0, ascending: true, memory: tools, run: tools.run },
      );
      tools.body.append(t.element);
      tools.csv(t.csv);
    },
  };
}
