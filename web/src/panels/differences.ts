// The differences between two lists of claims, as text and as marks on the time line.
import type { ClaimPlace, Difference, Side } from "../answers";
import type { App } from "../app";
import { count, el, printable } from "../dom";
import type { Tools } from "../dock";
import type { Bar, Mark, Tone } from "../extratypes";
import { showInterval } from "../extras";
import type { Lane } from "../lane";
import { linkButton } from "./parts";

/** Times is an interval in a lane. */
type Times = { from: bigint; to: bigint };

/**
 * timesOf returns the interval from the first begin to the last end of some claims, or null if
 * there are none.
 */
export function timesOf(claims: readonly ClaimPlace[]): Times | null {
  return claims.reduce<Times | null>((all, c) => {
    const from = BigInt(c.from),
      to = BigInt(c.to);
    return all ? { from: from < all.from ? from : all.from, to: to > all.to ? to : all.to } : { from, to };
  }, null);
}

/** claimsOf lists each claim of a side once. */
export function claimsOf(s: Side): ClaimPlace[] {
  const all = new Map<string, ClaimPlace>();
  for (const c of [...s.nodes, ...s.edges.flatMap((e) => [e.from, e.to])])
    all.set(`${c.label} ${c.from} ${c.track}`, c);
  return [...all.values()];
}

/** marksOf returns a mark for each claim of a side. */
export function marksOf(s: Side, tone: Tone): Mark[] {
  return claimsOf(s).map((c) => ({ track: c.track, from: BigInt(c.from), to: BigInt(c.to), tone }));
}

/** barsOf returns a bar for each claim of a side. where is the name of the side in the texts of the bars. */
export function barsOf(s: Side, tone: Tone, where: string): Bar[] {
  const bar = (from: ClaimPlace, to: ClaimPlace, text: string): Bar => ({
    from: BigInt(from.from),
    to: BigInt(to.to),
    tone,
    text: `only ${where}: ${text}`,
  });
  return [
    ...s.edges.map((e) => bar(e.from, e.to, `${e.from.label} -> ${e.to.label}`)),
    ...s.nodes.map((c) => bar(c, c, c.label)),
  ];
}

/**
 * differenceLists describes a difference in the words of the command line. A click on a claim or
 * call, or on a pair of successive ones, moves the time line there.
 */
export function differenceLists(
  app: App,
  d: Difference,
  compared: "claim" | "call",
  first: { lane: Lane; name: string },
  second: { lane: Lane; name: string },
): HTMLElement {
  const line = (
    side: { lane: Lane; name: string },
    what: string,
    all: number,
    list: readonly { text: string; of: readonly ClaimPlace[] }[],
  ): HTMLElement | null =>
    all === 0
      ? null
      : el(
          "li",
          {},
          `only ${side.name}, ${what}: `,
          ...list.flatMap(({ text, of }, i) => {
            const t = timesOf(of),
              b = linkButton(printable(text), "Go there", () => {
                if (t) showInterval(app, side.lane, t.from, t.to);
              });
            b.tabIndex = 0;
            return i > 0 ? ["; ", b] : [b];
          }),
          all > list.length ? ` and ${count(all - list.length)} more` : "",
        );
  const lines = (side: { lane: Lane; name: string }, s: Side): (HTMLElement | null)[] => [
    line(
      side,
      `${compared}s`,
      s.nodeCount,
      s.nodes.map((c) => ({ text: c.label, of: [c] })),
    ),
    line(
      side,
      "successions",
      s.edgeCount,
      s.edges.map((e) => ({ text: `${e.from.label} -> ${e.to.label}`, of: [e.from, e.to] })),
    ),
  ];
  return el("ul", {}, ...lines(first, d.first), ...lines(second, d.second));
}

/** labelField returns the field for the attributes that two claims must have in common to count as the same. */
export function labelField(tools: Tools): HTMLElement {
  const labels = el("input", {
    type: "search",
    placeholder: "all attributes",
    value: tools.get("label"),
    title: "Attributes, separated by commas, by which claims are the same",
    aria: { label: "Claims are the same by" },
  });
  labels.addEventListener("change", () => {
    tools.set("label", labels.value.replace(/\s*,\s*/g, ",").trim());
    tools.refresh();
  });
  return labels;
}
