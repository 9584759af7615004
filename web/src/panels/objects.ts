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

/** chooser returns the control. Its value is "by NAME", "visits NAME", "locations", or "" for no choice. */
export function chooser(
  lane: Lane,
  value: string,
  locations: boolean,
  change: (v: string) => void,
): { select: HTMLSelectElement; input: HTMLInputElement; list: HTMLDataListElement } {
  const visits = value.startsWith("visits "),
    list = el("datalist", { id: `regions-${locations ? "behaviour" : "flow"}` }),
    input = el("input", {
      type: "search",
      placeholder: "region",
      value: visits ? value.slice("visits ".length) : "",
      hidden: !visits,
      aria: { label: "Region whose visits are the objects" },
    });
  input.setAttribute("list", list.id);
  for (const name of [...new Set(lane.meta.regions.map((r) => r.name))].slice(0, mostRegions))
    list.append(el("option", { value: name }));
  input.addEventListener("change", () => change(`visits ${input.value}`));
  const options: (readonly [string, string])[] = [
    ...attributesOf(lane).map((a) => [`by ${a}`, `objects by ${printable(a)}`] as const),
    ...(locations ? [["locations", "objects are locations"] as const] : []),
    ["visits", "objects are visits of"],
  ];
  const s = select("What the objects are", options, visits ? "visits" : value, (v) => {
    input.hidden = v !== "visits";
    if (v === "visits") input.focus();
    else change(v);
  });
  return { select: s, input, list };
}

/** usualChoice returns the choice of objects for a user who has not chosen any. */
export function usualChoice(lane: Lane, locations: boolean): string {
  const all = attributesOf(lane),
    claims = hasClaims(lane);
  if (claims && all.includes("id")) return "by id";
  if (claims && all.length > 0) return `by ${all[0]}`;
  return locations ? "locations" : "visits ";
}
