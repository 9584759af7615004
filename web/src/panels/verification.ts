// The panel of verification. It shows a specification, the verdicts of its checks, and the reasons
// for these verdicts.
import type { Check, Reason, SyntaxProblem, Verification } from "../answers";
import { errorText, isAbort } from "../api";
import type { App } from "../app";
import { button, count, el, printable, replace, select } from "../dom";
import type { Panel, Scope, Tools } from "../dock";
import { saveText } from "../export";
import { type Extra, type Mark, type Tone, tones } from "../extratypes";
import { removeChoice, showInterval, type Source } from "../extras";
import type { Lane } from "../lane";
import { maxChoiceLength } from "../store";
import { exact } from "../time";
import { type Column, makeTable } from "./table";
import { keepTime, timeKey, timeOf, timeQuery } from "./times";

/** properties lists the kinds of properties in plain words, each with an example. */
const properties: readonly (readonly [kind: string, example: string])[] = [
  ["response", "start A -> end G within 60ms"],
  ["precedes", "start A -> start B"],
  ["never", "overflow"],
  ["always", "queue <= 5"],
  ["period", "start A every 10ms ± 1ms"],
  ["latency", "start A..end G p99 < 60ms"],
];

const semantics: readonly (readonly [string, string])[] = [
  ["compatible", "as TRACE4CPS"],
  ["2", "2 values: the trace is complete"],
  ["3", "3 values: the trace may go on"],
  ["4", "4 values: what it is so far"],
];

/** toneOf returns the tone of a verdict. It is "plain" if the check is not decided. */
function toneOf(c: Pick<Check, "violated" | "verdict" | "decided">): Tone {
  return c.violated ? "bad" : c.decided || c.verdict === "good" || c.verdict === "true" ? "good" : "plain";
}

const signs: Readonly<Record<Tone, string>> = { good: "✓", bad: "✗", plain: "?" };

/** longSpecification holds the specification if it is too long for the address of the page. */
let longSpecification = "";

/** specification returns the specification to which the choices in the state refer. */
function specification(app: App): string {
  return app.store.state.choices.get("verification.spec") ?? longSpecification;
}

/** requestVerdicts requests the verdicts for a trace. The server stores them. */
function requestVerdicts(app: App, lane: Lane, text: string, signal: AbortSignal): Promise<Verification> {
  return app.client.ask<Verification>(
    `traces/${encodeURIComponent(lane.meta.id)}/verify`,
    {
      semantics: app.store.state.choices.get("verification.semantics"),
      robust: app.store.state.choices.get("verification.robust"),
      ...timeQuery(lane, timeOf(app, "verification")),
    },
    text,
    signal,
  );
}

/** interval returns the interval of a reason. */
function interval(r: Reason): { from: bigint; to: bigint } {
  return { from: BigInt(r.from), to: BigInt(r.to) };
}

/** reasonsInterval returns the interval that covers all reasons of a check, except for those about the whole trace. */
function reasonsInterval(c: Check, lane: Lane): { from: bigint; to: bigint } | null {
  const all = c.reasons.map(interval),
    list = all.filter((x) => x.to - x.from < lane.length),
    used = list.length > 0 ? list : all;
  return used.length === 0
    ? null
    : used.reduce((a, b) => ({ from: b.from < a.from ? b.from : a.from, to: b.to > a.to ? b.to : a.to }));
}

/** explanationOf returns the rows and marks that explain a check. */
function explanationOf(c: Check, lane: Lane): Extra {
  const tone = (r: Reason): Tone => (r.holds ? "good" : "bad");
  const marks = new Map<string, Mark>();
  for (const r of c.reasons) {
    const { from, to } = interval(r);
    if (to - from < lane.length) marks.set(`${from} ${to}`, { track: -1, from, to, tone: tone(r) });
  }
  return {
    lane: lane.index,
    title: `${c.check}: ${c.verdict}`,
    rows: c.reasons.map((r) => ({
      label: r.formula,
      level: r.depth,
      bars: [{ ...interval(r), tone: tone(r), text: r.text }],
    })),
    marks: [...marks.values()],
  };
}

/**
 * verificationSource shows the explanation of a check. The choice in the state holds the number of
 * the lane and the name of the check.
 */
export const verificationSource: Source = {
  id: "verification",
  key(app) {
    const s = app.store.state,
      check = s.choices.get("verification.check");
    return check === undefined
      ? ""
      : JSON.stringify([
          check,
          specification(app),
          s.choices.get("verification.semantics") ?? "",
          timeKey(app, "verification"),
        ]);
  },
  async load(app, signal) {
    const m = /^(\d+) ([\s\S]*)$/.exec(app.store.state.choices.get("verification.check") ?? ""),
      lane = app.lanes[Number(m?.[1] ?? 0)];
    if (!m || !lane) return [];
    const c = (await requestVerdicts(app, lane, specification(app), signal)).checks.find((x) => x.check === m[2]);
    return c ? [explanationOf(c, lane)] : [];
  },
  remove: (app) => removeChoice(app, "verification.check"),
};

/** offsetOf returns the offset in a text for a line and column. */
function offsetOf(text: string, p: SyntaxProblem): number {
  const lines = text.split("\n"),
    before = lines.slice(0, p.line - 1).reduce((n, l) => n + l.length + 1, 0);
  return before + [...(lines[p.line - 1] ?? "")].slice(0, p.column - 1).join("").length;
}

/**
 * syntaxErrorElement returns an element that describes a syntax error, and selects the place of the
 * error in the text.
 */
function syntaxErrorElement(area: HTMLTextAreaElement, p: SyntaxProblem): HTMLElement {
  const go = (): void => {
    const at = offsetOf(area.value, p);
    area.focus();
    area.setSelectionRange(at, Math.min(area.value.length, at + 1));
  };
  area.setAttribute("aria-invalid", "true");
  return el(
    "p",
    { class: "error", role: "alert" },
    button(`line ${p.line}, column ${p.column}`, "Go to this place in the specification", go, "link"),
    `: ${printable(p.message)}`,
  );
}

/** reasonList lists the reasons for a verdict. A click on a reason goes to its time. */
function reasonList(app: App, lane: Lane, c: Check): HTMLElement {
  return el(
    "div",
    { class: "reasons" },
    el("h2", {}, printable(`${c.check}: ${c.verdict}`)),
    c.reasons.length === 0 ? el("p", { class: "faint" }, "Nothing more is known.") : null,
    el(
      "ul",
      {},
      ...c.reasons.map((r) => {
        const { from, to } = interval(r),
          tone = tones[r.holds ? "good" : "bad"];
        return el(
          "li",
          { style: { "margin-left": `${14 * Math.min(r.depth, 10)}px` } },
          el("span", { class: "swatch", style: { background: tone.color } }),
          `${tone.word} `,
          button(
            exact(from, lane.clock) + (to > from ? ` to ${exact(to, lane.clock)}` : ""),
            "Go to this time",
            () => showInterval(app, lane, from, to),
            "link",
          ),
          ` ${printable(r.text)}`,
        );
      }),
    ),
  );
}

/** robustness is the column of the table with the robustness of checks. */
const robustness: Column<Check> = {
  title: "robustness",
  hint: "how far the signals are from the bounds that decide the check",
  show: (c) => c.robustness,
  sort: (c) => Number(c.robustness.replace("inf", "Infinity")),
  csv: (c) => c.robustness,
};

/** mostWarnings is the number of warnings that are shown above the checks. More of them are folded. */
const mostWarnings = 2;

/** warningList returns elements with warnings. */
function warningList(warnings: readonly string[]): HTMLElement[] {
  const list = warnings.map((w) => el("p", {}, printable(w)));
  return list.length > mostWarnings
    ? [el("details", {}, el("summary", {}, `${count(list.length)} warnings`), ...list)]
    : list;
}

/** verdicts fills an element with the checks in an answer. */
function verdicts(app: App, { lane, axis }: Scope, tools: Tools, v: Verification, box: HTMLElement): void {
  const why = el("div", { class: "why", aria: { live: "polite" } });
  const explain = (c: Check): void => {
    why.replaceChildren(reasonList(app, lane, c));
    keepTime(app, "verification", axis);
    tools.set("check", `${lane.index} ${c.check}`);
    const t = reasonsInterval(c, lane);
    if (t) showInterval(app, lane, t.from, t.to);
    app.announce(`${c.check}: ${c.verdict}`);
  };
  const t = makeTable<Check>(
    [
      {
        title: "verdict",
        text: true,
        show: (c) => {
          const tone = toneOf(c);
          return el(
            "span",
            { class: `verdict-${tone}` },
            el("span", { aria: { hidden: true } }, `${signs[tone]} `),
            c.verdict,
          );
        },
        sort: (c) => ["bad", "plain", "good"].indexOf(toneOf(c)),
        csv: (c) => c.verdict,
      },
      { title: "check", text: true, show: (c) => c.check, sort: (c) => c.check, csv: (c) => c.check },
      ...(v.checks.some((c) => c.robustness !== "") ? [robustness] : []),
      {
        title: "formula",
        text: true,
        wrap: true,
        show: (c) => c.formula,
        sort: (c) => c.formula,
        csv: (c) => c.formula,
      },
    ],
    v.checks,
    {
      order: 0,
      ascending: true,
      memory: tools,
      run: tools.run,
      filter: (c) => `${c.verdict} ${c.check} ${c.formula}`,
      click: explain,
      clickHint: "show on the time line what decides this check",
    },
  );
  const held = v.checks.find((c) => `${lane.index} ${c.check}` === tools.get("check"));
  if (held) why.append(reasonList(app, lane, held));
  const summary =
    v.checks.length === 0
      ? "The specification has no checks."
      : `${count(v.violated)} of ${count(v.checks.length)} checks violated; ${count(v.states)} events.`;
  box.append(
    el(
      "div",
      { class: "controls" },
      el("p", { class: "verdict", role: "status" }, summary),
      v.checks.length > 8 ? t.filter : null,
    ),
    ...warningList(v.warnings),
    v.checks.length === 0 ? "" : el("div", { class: "side" }, t.element),
    why,
  );
  tools.csv(t.csv);
}

/** textArea returns the field for the specification. changed is called when the user changes the text. */
function textArea(text: string, changed: (text: string) => void): HTMLTextAreaElement {
  const area = el("textarea", {
    class: "spec",
    placeholder: "check NAME : globally if start {'name' = 'A'} then finally by 60 ms end {'name' = 'G'}",
    aria: { label: "Specification" },
  });
  area.spellcheck = false;
  area.value = text;
  area.addEventListener("input", () => {
    changed(area.value);
    area.removeAttribute("aria-invalid");
  });
  return area;
}

/** filePicker returns the hidden input element that selects a file with a specification. */
function filePicker(opened: (text: string) => void): HTMLInputElement {
  const file = el("input", { type: "file", class: "visuallyhidden", tabindex: -1, aria: { label: "Open a file" } });
  file.accept = ".etl,text/plain";
  file.addEventListener("change", () => {
    const f = file.files?.[0];
    void f?.text().then(opened);
  });
  return file;
}

/** propertyMenu returns the menu of properties in plain words. A choice adds an example to the text. */
function propertyMenu(area: HTMLTextAreaElement, put: (text: string) => void): HTMLElement {
  const add = (kind: string): void => {
    const example = properties.find(([k]) => k === kind)?.[1] ?? "",
      before = area.value === "" || area.value.endsWith("\n") ? area.value : area.value + "\n",
      from = before.length + `--${kind} `.length;
    put(`${before}--${kind} ${example}`);
    area.focus();
    area.setSelectionRange(from, area.value.length);
  };
  const adder = select(
    "Add a property in plain words",
    [["", "add a property…"], ...properties.map(([k, x]) => [k, `${k}: ${x}`] as const)],
    "",
    (kind) => {
      adder.value = "";
      add(kind);
    },
  );
  return adder;
}

/**
 * specificationForm returns the field for the specification with its buttons. put changes the text. start begins
 * the verification.
 */
function specificationForm(area: HTMLTextAreaElement, put: (text: string) => void, start: () => void): HTMLElement {
  const file = filePicker((text) => {
    put(text);
    start();
  });
  return el(
    "div",
    { class: "side form" },
    el(
      "div",
      { class: "crumbs" },
      button("Verify", "Check whether the properties hold (Ctrl and Enter)", start),
      " ",
      button("Open…", "Open a specification, a file NAME.etl", () => file.click()),
      file,
      " ",
      button("Save", "Save the specification as a file", () => saveText(area.value, "spec.etl", "text/plain")),
      " ",
      propertyMenu(area, put),
    ),
    area,
  );
}

/** robustnessSwitch returns the box with which the user asks for the robustness of checks. */
function robustnessSwitch(tools: Tools, start: () => void): HTMLElement {
  const box = el("input", { type: "checkbox" });
  box.checked = tools.get("robust") === "1";
  box.addEventListener("change", () => {
    tools.set("robust", box.checked ? "1" : "");
    start();
  });
  return el(
    "label",
    { title: "How far the signals are from the bounds that decide a check. This takes much longer." },
    box,
    " robustness",
  );
}

/** verification creates the panel of specifications. */
export function verification(): Panel {
  let draft = "",
    drafted: string | null = null; // the specification that draft began with
  return {
    id: "verification",
    title: "Verification",
    timeScope: "trace",
    choosesTime: true,
    whole: "the whole trace, regardless of range and window",
    async render(app, scope, tools) {
      const spec = specification(app);
      if (spec !== drafted) draft = drafted = spec;
      const area = textArea(draft, (text) => (draft = text));
      const result = el("div", { class: "result" });
      const evaluate = async (): Promise<void> => {
        const box = el("div", { class: "parts" });
        tools.csv(null);
        if (area.value.trim() === "")
          box.append(
            el(
              "p",
              { class: "faint" },
              "Type a specification, open an .etl file, or add a property in plain words; then verify it.",
            ),
          );
        else {
          const v = await requestVerdicts(app, scope.lane, area.value, tools.signal);
          if (v.syntax) box.append(syntaxErrorElement(area, v.syntax));
          else verdicts(app, scope, tools, v, box);
        }
        replace(result, box);
      };
      const start = (): void => {
        const text = area.value,
          fits = text.length <= maxChoiceLength;
        draft = drafted = text;
        longSpecification = fits ? "" : text;
        if (tools.get("spec") !== text) tools.set("check", "");
        tools.set("spec", fits ? text : "");
        if (!fits) app.announce("the specification is too long for the address: a link will not contain it");
        evaluate().catch((e: unknown) => {
          if (!isAbort(e)) replace(result, el("p", { class: "error" }, errorText(e)));
        });
      };
      area.addEventListener("keydown", (e) => {
        if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
          start();
          e.preventDefault();
        }
      });
      tools.bar.append(
        select(
          "What a verdict takes from the end of the trace",
          semantics,
          tools.get("semantics") || "compatible",
          (v) => {
            tools.set("semantics", v === "compatible" ? "" : v);
            start();
          },
        ),
        robustnessSwitch(tools, start),
      );
      tools.body.classList.add("parts");
      tools.body.append(
        el(
          "div",
          { class: "split verification" },
          specificationForm(area, (text) => (area.value = draft = text), start),
          result,
        ),
      );
      await evaluate();
    },
  };
}
