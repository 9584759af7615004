// The control for choosing the objects of a trace: values of an attribute, visits of a region, or
// locations.
import { el, printable, select } from "../dom";
import type { Lane } from "../lane";

/** mostRegions is the largest number of regions in a list of suggestions. */
const mostRegions = 500;

/** attributesOf lists the attributes of a trace. */
export function attributesOf(lane: Lane): string[] {
  return [...new Set([...(lane.meta.color === "" ? [] : [lane.meta.color]), ...lane.meta.attributes])].sort();
}

/** hasClaims reports whether a trace has claims. */
export function hasClaims(lane: Lane): boolean {
  return lane.meta.tracks.some((t) => t.kind === "resource");
}

/**
 * visitsField returns the field for the region whose visits are chosen, with its suggestions. It is hidden unless
 * value is "visits NAME". change is called with such a value, or with "" if the field is empty.
 */
export function visitsField(
  lane: Lane,
  what: { id: string; label: string },
  value: string,
  change: (v: string) => void,
): { input: HTMLInputElement; list: HTMLDataListElement } {
  const visits = value.startsWith("visits "),
    list = el("datalist", { id: what.id }),
    input = el("input", {
      type: "search",
      placeholder: "region",
      value: visits ? value.slice("visits ".length) : "",
      hidden: !visits,
      aria: { label: what.label },
    });
  input.setAttribute("list", list.id);
  for (const name of [...new Set(lane.meta.regions.map((r) => r.name))].slice(0, mostRegions))
    list.append(el("option", { value: name }));
  input.addEventListener("change", () => change(input.value === "" ? "" : `visits ${input.value}`));
  return { input, list };
}

/** visitsSelect returns the list of choices of which one is "visits". That one shows the field instead of changing. */
export function visitsSelect(
  label: string,
  options: readonly (readonly [string, string])[],
  value: string,
  input: HTMLInputElement,
  change: (v: string) => void,
): HTMLSelectElement {
  return select(label, options, value.startsWith("visits ") ? "visits" : value, (v) => {
    input.hidden = v !== "visits";
    if (v === "visits") input.focus();
    else change(v);
  });
}

/**
 * chooser returns the control. Its value is "by NAME", "visits NAME", or "" for no choice; with locations set also
 * "locations", and otherwise "messages".
 */
export function chooser(
  lane: Lane,
  value: string,
  locations: boolean,
  change: (v: string) => void,
): { select: HTMLSelectElement; input: HTMLInputElement; list: HTMLDataListElement } {
  const { input, list } = visitsField(
    lane,
    { id: `regions-${locations ? "behaviour" : "flow"}`, label: "Region whose visits are the objects" },
    value,
    (v) => change(v === "" ? "visits " : v),
  );
  const options: (readonly [string, string])[] = [
    ...attributesOf(lane).map((a) => [`by ${a}`, `objects by ${printable(a)}`] as const),
    ...(locations ? [["locations", "objects are locations"] as const] : []),
    ["visits", "objects are visits of"],
    ...(locations || lane.meta.links === 0 ? [] : [["messages", "objects are messages"] as const]),
  ];
  return { select: visitsSelect("What the objects are", options, value, input, change), input, list };
}

/** usualChoice returns the choice of objects for a user who has not chosen any. */
export function usualChoice(lane: Lane, locations: boolean): string {
  const all = attributesOf(lane),
    claims = hasClaims(lane);
  if (claims && all.includes("id")) return "by id";
  if (claims && all.length > 0) return `by ${all[0]}`;
  return locations ? "locations" : "visits ";
}
