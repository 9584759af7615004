// The panel that explains the duration of the run. It shows the verdict, the findings with their
// places, and the causes that could not be judged.
import type { Explanation, Finding } from "../api";
import type { App } from "../app";
import { button, el, percent, printable } from "../dom";
import type { Panel, Scope, Tools } from "../dock";
import { short } from "../time";
import { selectLongestCall, regionsOf } from "./calls";
import { chosenRows, programOf, rowsChooser } from "./parts";
import { type Column, makeTable } from "./table";

/** Source names the panel with the numbers behind a finding, and the choices to set in that panel. */
interface Source {
  panel: string;
  title: string;
  choices?: readonly (readonly [key: string, value: string])[];
}

/** sources has an entry for each type of finding. */
const sources: Record<Finding["id"], Source> = {
  late: { panel: "waits", title: "Waits", choices: [["by", "pairs"]] },
  chain: { panel: "waits", title: "Waits", choices: [["by", "pairs"]] },
  lock: { panel: "waits", title: "Waits", choices: [["pattern", "lock-contention"]] },
  device: { panel: "waits", title: "Waits" },
  noise: { panel: "waits", title: "Waits", choices: [["by", "pairs"]] },
  "wrong-order": { panel: "waits", title: "Waits", choices: [["pattern", "late-sender-wrong-order"]] },
  transfer: { panel: "messages", title: "Messages" },
  barriers: { panel: "profile", title: "Profile" },
  slowing: { panel: "profile", title: "Profile" },
  startup: { panel: "profile", title: "Profile" },
  serial: { panel: "efficiency", title: "Efficiency" },
};

/** openSource opens the panel with the numbers behind a finding. The panel shows the same time. */
function openSource(app: App, { axis }: Scope, f: Finding): void {
  const s = sources[f.id],
    choices = new Map(app.store.state.choices);
  for (const [key, value] of s.choices ?? []) choices.set(`${s.panel}.${key}`, value);
  app.keepRange(axis);
  app.store.set({ panel: s.panel, choices });
}

/** selectCallOf selects the longest call of the finding's path at the finding's locations. */
async function selectCallOf(app: App, scope: Scope, f: Finding): Promise<void> {
  const { lane } = scope,
    regions = lane.spanWord === "region" ? regionsOf(lane, f.path.at(-1) ?? "") : "",
    [track] = f.tracks;
  if (regions !== "")
    await selectLongestCall(app, scope, regions, "region", f.tracks.length > 0 ? f.tracks.join(",") : undefined);
  else if (track !== undefined) {
    // if the values of an attribute take the place of regions, only the row is known
    app.keepRange(scope.axis);
    app.uncover(lane.index, track);
    app.reveal({ lane: lane.index, track, depth: 0, time: scope.window.from }, scope.window.from, scope.window.from);
  }
}

/** goToChosen goes once to the place of the finding whose number the address has. weft view --finding sets it. */
function goToChosen(app: App, scope: Scope, tools: Tools, list: readonly Finding[]): void {
  const number = tools.get("go");
  if (number === "") return;
  tools.set("go", "");
  const f = list[Number(number) - 1];
  if (f) void selectCallOf(app, scope, f);
  else app.announce(`there is no finding ${number}`);
}

/** Row is a finding with its number. */
type Row = Finding & { number: number };

/** command returns the command that computes the gain of a finding, or "". A very long one is left out. */
function command({ whatIf }: Finding): string {
  const quoted = whatIf.replaceAll("'", "'\\''");
  return whatIf === "" || whatIf.length > 240 ? "" : `Gain by: weft path --what-if '${quoted}'`;
}

/** columns returns the columns of the table of findings. */
function columns(app: App, scope: Scope): Column<Row>[] {
  const { lane } = scope;
  const where = (f: Finding): string =>
    f.path.length === 0 ? "" : [f.path.join(" > "), ...f.tracks.map((t) => lane.fullName(t))].join(", ");
  return [
    { title: "#", show: (f) => String(f.number), sort: (f) => f.number, csv: (f) => f.number },
    {
      title: "finding",
      text: true,
      wrap: true,
      show: (f) =>
        el(
          "div",
          {},
          el("b", {}, printable(f.title)),
          ...[where(f), f.evidence.join("; "), f.advice, command(f)]
            .filter((x) => x !== "")
            .map((x) => el("div", {}, printable(x))),
        ),
      sort: (f) => f.title,
      csv: (f) => f.title,
    },
    {
      title: "loss",
      hint: "of the time of all threads",
      show: (f) => percent(f.lossShare),
      sort: (f) => f.lossShare,
      csv: (f) => f.lossShare,
    },
    {
      title: "gain",
      hint: "upper bound of the time by which the run would be shorter without the loss",
      show: (f) => `${percent(f.gainShare)} (${short(BigInt(f.gain), lane.clock)})`,
      sort: (f) => BigInt(f.gain),
      csv: (f) => f.gain,
      unit: "ticks",
    },
    {
      title: "confidence",
      text: true,
      show: (f) => f.confidence,
      sort: (f) => f.confidence,
      csv: (f) => f.confidence,
    },
    {
      title: "figures",
      text: true,
      show: (f) => {
        const b = button(
          sources[f.id].title,
          `open the panel ${sources[f.id].title}, which has the figures`,
          () => openSource(app, scope, f),
          "link",
        );
        b.addEventListener("click", (x) => x.stopPropagation());
        return b;
      },
    },
  ];
}

/** timesOf states the share of waits, and the regions with the most time. */
function timesOf(r: NonNullable<Explanation["ran"]>): string {
  const waits = r.waitingShare > 0,
    regions = r.regions.map((x) => `${printable(x.region)} ${percent(x.share)}`).join(", ");
  return (
    (waits ? `Waits take ${percent(r.waitingShare)} of the time. ` : "") +
    (regions === "" ? "No region has any time." : `Most time${waits ? " without waits" : ""}: ${regions}.`)
  );
}

/** findings creates the panel of findings. */
export function findings(): Panel {
  return {
    id: "findings",
    title: "Findings",
    timeScope: "range",
    async render(app, scope, tools) {
      const { lane, window: w } = scope;
      const r = await app.client.json<Explanation>(
        `traces/${encodeURIComponent(lane.meta.id)}/explain`,
        { from: w.from, to: w.to, ...chosenRows(lane, tools) },
        tools.signal,
      );
      tools.csv(null);
      tools.bar.append(...rowsChooser(lane, tools));
      if (r.missing !== "" || !r.ran || !r.factors) {
        tools.body.append(el("p", { class: "faint" }, `Nothing can be explained: ${printable(r.missing)}.`));
        goToChosen(app, scope, tools, []);
        return;
      }
      const e = r.factors,
        factor = (x: number): string => x.toFixed(2);
      tools.body.append(
        el("p", { class: "verdict" }, printable(r.verdict)),
        el(
          "p",
          {},
          `Parallel efficiency ${factor(e.parallel)}: load balance ${factor(e["load-balance"])}, ` +
            `serialisation ${factor(e.serialisation)}, transfer ${factor(e.transfer)}.`,
        ),
        el(
          "p",
          { class: "faint" },
          `${programOf(r.ran)} ran for ${short(BigInt(r.ran.runtime), lane.clock)}. ` +
            timesOf(r.ran),
        ),
      );
      if (r.findings.length > 0) {
        const t = makeTable<Row>(
          columns(app, scope),
          r.findings.map((f, i) => ({ ...f, number: i + 1 })),
          {
            order: 0,
            ascending: true,
            memory: tools,
            run: tools.run,
            click: (f) => void selectCallOf(app, scope, f),
            clickHint: "go to the longest of these calls",
            idle: (f) =>
              f.path.length > 0 || f.tracks.length > 0
                ? ""
                : "This finding concerns the whole run; its panel shows the figures.",
          },
        );
        tools.body.append(t.element);
        tools.csv(t.csv);
      }
      goToChosen(app, scope, tools, r.findings);
      if (r.unjudged.length > 0)
        tools.body.append(
          el("h2", {}, "Not judged"),
          el("ul", {}, ...r.unjudged.map((u) => el("li", {}, printable(u)))),
        );
    },
  };
}
