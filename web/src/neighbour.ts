// Finds the spans next to a span and below it.
import { type Client, isNoContent, type SpanDetails, type SpanInfo } from "./api";
import type { Lane } from "./lane";
import { decodeTile, StripKind } from "./tile";
import type { Window } from "./time";

/** Neighbour is a span, with a time at which it is open. */
export interface Neighbour {
  depth: number;
  time: bigint;
  start: bigint;
  end: bigint;
}

/**
 * Direction states which neighbour of a span is meant: the one before it, the one after it, or the
 * one that it calls.
 */
export type Direction = "left" | "right" | "down";

/**
 * searchedTimes lists the intervals in which to look for the neighbour of a span. Short ones come
 * first, and the last one is longer than the screen. A callee is looked for in the window first,
 * and then in the whole span.
 */
function searchedTimes(lane: Lane, window: Window, start: bigint, end: bigint, where: Direction): Window[] {
  const screen = window.to - window.from,
    width = end > start ? end - start : 1n,
    limit = lane.length + 1n,
    seen = lane.cut(window);
  const times =
    where === "down"
      ? [
          { from: seen.from > start ? seen.from : start, to: seen.to < end ? seen.to : start + width },
          { from: start, to: start + width },
        ]
      : [width, screen, screen * 16n].map((reach) =>
          where === "left" ? { from: start > reach ? start - reach : 0n, to: start } : { from: end, to: end + reach },
        );
  return times.map(({ from, to }) => ({ from, to: to > limit ? limit : to })).filter(({ from, to }) => to > from);
}

/**
 * neighbour returns the nearest span at the same depth, or the first callee in the window. It
 * returns null if there is none nearby. It asks the server for tiles, because they show where spans
 * are.
 */
export async function neighbour(
  client: Client,
  lane: Lane,
  window: Window,
  at: { track: number; depth: number },
  span: SpanInfo,
  where: Direction,
): Promise<Neighbour | null> {
  const path = `traces/${encodeURIComponent(lane.meta.id)}/`,
    { track } = at,
    start = BigInt(span.start),
    depth = where === "down" ? at.depth + 1 : at.depth;
  for (const { from, to } of searchedTimes(lane, window, start, BigInt(span.end), where)) {
    const d = to - from,
      columns = Number(d < 2048n ? d : 2048n);
    const t = decodeTile(
      await client.binary(path + "tiles", { from, to, width: columns, tracks: track, depths: depth + 1 }),
    );
    const strip = t.strips.find((x) => x.kind === StripKind.spans && x.depth === depth);
    if (!strip || strip.count === 0) continue;
    const i = where === "left" ? strip.first + strip.count - 1 : strip.first;
    // a span that is open at the left edge of the window begins before the window
    const open = where === "down" && t.x[i] === 0 ? await openSpan(client, path, track, depth, from) : null;
    if (open) return { depth, time: from, start: BigInt(open.start), end: BigInt(open.end) };
    const column = from + (BigInt(t.x[i]) * d) / BigInt(columns);
    const { span: found } = await client.json<{ span: SpanInfo }>(
      path + "find",
      where === "left"
        ? { region: t.region[i], track, time: start, direction: "previous" }
        : { region: t.region[i], track, time: column - 1n, direction: "next" },
    );
    const begin = BigInt(found.start);
    return { depth: found.depth, time: begin, start: begin, end: BigInt(found.end) };
  }
  return null;
}

/** openSpan returns the span that is open at a time, or null. */
async function openSpan(
  client: Client,
  path: string,
  track: number,
  depth: number,
  time: bigint,
): Promise<SpanInfo | null> {
  try {
    return (await client.json<SpanDetails>(path + "span", { track, depth, time })).span;
  } catch (e) {
    if (isNoContent(e)) return null;
    throw e;
  }
}
