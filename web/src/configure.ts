// The choice of attributes for the view. By default spans and colours show regions, and rows show
// locations and resources. An attribute can take the place of each, and select spans.
import { baseID, errorText, type TraceMeta } from "./api";
import type { App } from "./app";
import type { ColorMode } from "./colors";
import { button, el, printable, select } from "./dom";
import { writeFragment } from "./url";

/** attributePrefix begins those values of the colour menu that are names of attributes. */
export const attributePrefix = "=";

/**
 * Choice is the configuration of the view. color is "region", "group", "track", "name", or
 * attributePrefix and the name of an attribute. "name" gives each name a colour if an attribute names the
 * spans. label and rows are names of attributes, or "". only selects spans by the values of an attribute, as
 * NAME=VALUE,…, or is "".
 */
export interface Choice {
  color: string;
  label: string;
  rows: string;
  only: string;
}

/** nameOf returns the name in NAME=VALUE,…, or "". */
const nameOf = (only: string): string => only.slice(0, Math.max(0, only.indexOf("=")));

/** attributesOf lists the attributes of all traces. */
export function attributesOf(metas: readonly TraceMeta[]): string[] {
  const own = (m: TraceMeta): string[] => [m.color, m.label ?? "", m.rows ?? "", nameOf(m.only ?? ""), ...m.attributes];
  return [...new Set(metas.flatMap(own))].filter((a) => a !== "").sort();
}

/** configuration returns the current configuration of the page. */
export function configuration(app: App): Choice {
  const metas = app.lanes.map((l) => l.meta),
    first = (of: (m: TraceMeta) => string | undefined): string => metas.map(of).find((x) => (x ?? "") !== "") ?? "",
    mode = app.store.state.color,
    color = first((m) => m.color),
    label = first((m) => m.label),
    rows = first((m) => m.rows),
    only = first((m) => m.only);
  const attribute = color !== "" ? attributePrefix + color : "region";
  if (mode === "track") return { color: mode, label, rows, only };
  if (label !== "") return { color: mode === "group" ? attribute : "name", label, rows, only };
  return { color: mode === "group" ? mode : attribute, label, rows, only };
}

/**
 * configure changes the configuration. The server has a separate index for each choice of
 * attributes. Therefore, if the attributes change, configure loads the page again. It calls sync if
 * that fails, and cancelSave before it changes the address.
 */
export async function configure(app: App, c: Choice, sync: () => void, cancelSave: () => void): Promise<void> {
  const s = app.store.state,
    attribute = c.color.startsWith(attributePrefix) ? c.color.slice(attributePrefix.length) : "",
    // if an attribute names spans, the mode "group" stands for colours by the value of another
    // attribute
    color: ColorMode =
      c.color === "track"
        ? "track"
        : c.label !== ""
          ? c.color === "name"
            ? "region"
            : "group"
          : c.color === "group"
            ? "group"
            : "region";
  try {
    const traces = await Promise.all(
      app.lanes.map(async ({ meta }) => {
        const known = (wanted: string, is: string | undefined): string =>
            wanted === "" || attributesOf([meta]).includes(wanted) ? wanted : (is ?? ""),
          wanted = {
            color: known(attribute, meta.color),
            label: known(c.label, meta.label),
            rows: known(c.rows, meta.rows),
            only: known(nameOf(c.only), "") === "" ? "" : c.only,
          };
        return wanted.color === meta.color &&
          wanted.label === (meta.label ?? "") &&
          wanted.rows === (meta.rows ?? "") &&
          wanted.only === (meta.only ?? "")
          ? meta.id
          : (await app.client.json<TraceMeta>("traces/" + encodeURIComponent(baseID(meta.id)), wanted)).id;
      }),
    );
    if (traces.every((id, i) => id === s.traces[i])) {
      app.store.set({ color });
      return;
    }
    cancelSave();
    // with other spans, resources have other lanes, so that a selected span may be at another place
    const otherRows = app.lanes.some((l) => (l.meta.rows ?? "") !== c.rows || (l.meta.only ?? "") !== c.only);
    location.hash = writeFragment({
      ...s,
      traces,
      color,
      highlight: null,
      ...(otherRows
        ? {
            selection: null,
            link: null,
            followed: null,
            collapsed: new Set(),
            hidden: new Set(),
            top: "",
            order: "file",
          }
        : {}),
    });
  } catch (e) {
    sync();
    app.announce("view: " + errorText(e));
  }
}

/** heightsOf returns the present choice of the heights of claims. */
function heightsOf(app: App): string {
  const s = app.store.state;
  if (!s.scaled) return "";
  return s.offsets && app.lanes.some((l) => l.meta.tracks.some((t) => t.offsets)) ? "offset" : "amount";
}

/** onlyField returns the inputs for the values of an attribute that spans must have, and their present value. */
function onlyField(attributes: readonly string[], now: string): { inputs: HTMLElement; value(): string } {
  const choices = attributes.map((a) => [a, printable(a)] as const),
    names = select("Only spans with", [["", "all spans"], ...choices], nameOf(now), () => {
      values.hidden = names.value === "";
    }),
    values = el("input", {
      type: "search",
      value: now.slice(nameOf(now).length + 1),
      placeholder: "3,4 or A*",
      title: "Values, with commas between them. * stands for any text, ? for any character.",
      aria: { label: "Values of the attribute" },
    });
  values.hidden = names.value === "";
  return {
    inputs: el("span", {}, names, " ", values),
    value: () => (names.value === "" || values.value.trim() === "" ? "" : `${names.value}=${values.value.trim()}`),
  };
}

/** showConfiguration opens the dialog of the configuration. */
export function showConfiguration(app: App, sync: () => void, cancelSave: () => void): void {
  const now = configuration(app),
    names = attributesOf(app.lanes.map((l) => l.meta)),
    attributes = names.map((a) => [a, `by ${printable(a)}`] as const);
  const choice: Choice = { ...now },
    height = heightsOf(app);
  const colors = select(
      "Colours of spans",
      [
        ["region", "by region"],
        ["group", "by group of regions"],
        ["name", "by name"],
        ["track", "by row"],
        // an attribute may be called "name"
        ...names.map((a) => [attributePrefix + a, `by attribute ${printable(a)}`] as const),
      ],
      now.color,
      (v) => (choice.color = v),
    ),
    labels = select("Names in spans", [["", "region"], ...attributes], now.label, (v) => (choice.label = v)),
    rows = select("Rows", [["", "as recorded"], ...attributes], now.rows, (v) => (choice.rows = v)),
    heights = select(
      "Heights of claims",
      [
        ...(app.lanes.some((l) => l.meta.tracks.some((t) => t.offsets))
          ? ([["offset", "by amount, at their offsets"]] as const)
          : []),
        ["amount", "by amount, on each other"],
        ["", "all the same"],
      ],
      height,
      () => undefined,
    ),
    filter = el("input", {
      type: "search",
      value: app.store.state.rowFilter,
      aria: { label: "Only rows whose name contains" },
    });
  const only = onlyField(names, now.only);
  const d = el("dialog", { aria: { label: "View" } });
  const field = (text: string, input: HTMLElement): HTMLElement =>
    el("p", { class: "field" }, el("span", {}, text), input);
  const apply = (): void => {
    d.close();
    choice.only = only.value();
    app.store.set({
      rowFilter: filter.value,
      // a choice that was not offered stays
      ...(heights.value === height ? {} : { scaled: heights.value !== "", offsets: heights.value !== "amount" }),
    });
    void configure(app, choice, sync, cancelSave);
  };
  d.append(
    el("h1", {}, "View"),
    field("Colours of spans", colors),
    field("Names in spans", labels),
    field("Rows", rows),
    ...(app.lanes.some((l) => l.meta.tracks.some((t) => t.kind === "resource"))
      ? [field("Heights of claims", heights)]
      : []),
    ...(attributes.length > 0 ? [field("Only spans with", only.inputs)] : []),
    field("Only rows whose name contains", filter),
    el(
      "p",
      { class: "faint" },
      attributes.length === 0
        ? "Visits and claims of this trace have no attributes."
        : "The trace is read once more for each new choice of attributes.",
    ),
    el(
      "p",
      {},
      button("Apply", "Show the trace in this way", apply),
      " ",
      button("Cancel", "Leave the view as it is", () => d.close()),
    ),
  );
  d.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && e.target === filter) apply();
  });
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => {
    if (e.target === d) d.close();
  });
  document.body.append(d);
  d.showModal();
}
