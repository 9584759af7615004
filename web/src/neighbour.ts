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
          where === "left"
            ? { from: start > reach ? start - reach : 0n, to: start }
            : { from: start + width, to: start + width + reach },
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
  const { track } = at,
    path = `traces/${encodeURIComponent(lane.meta.id)}/`,
    depth = where === "down" ? at.depth + 1 : at.depth;
  for (const times of searchedTimes(lane, window, BigInt(span.start), BigInt(span.end), where)) {
    const time = await outermostTick(client, path, { track, depth }, times, where === "left");
    if (time === null) continue;
    try {
      const { span: found } = await client.json<SpanDetails>(path + "span", { track, depth, time });
      const start = BigInt(found.start);
      // of a span that begins before the window, the part in the window is shown
      return { depth, time: where === "down" ? time : start, start, end: BigInt(found.end) };
    } catch (e) {
      if (!isNoContent(e)) throw e;
    }
  }
  return null;
}

/** tileColumns is the largest number of columns of a tile. */
const tileColumns = 2048n;

/**
 * outermostTick returns the first or the last tick of an interval in which a span of a strip is open, or null. The
 * columns of a tile are rounded, so it asks for narrower tiles until a column is a tick.
 */
async function outermostTick(
  client: Client,
  path: string,
  strip: { track: number; depth: number },
  times: Window,
  last: boolean,
): Promise<bigint | null> {
  for (let { from, to } = times; ; ) {
    const d = to - from,
      columns = d < tileColumns ? d : tileColumns;
    const t = decodeTile(
      await client.binary(path + "tiles", { from, to, width: columns, tracks: strip.track, depths: strip.depth + 1 }),
    );
    const s = t.strips.find((x) => x.kind === StripKind.spans && x.depth === strip.depth);
    if (!s || s.count === 0) return null;
    const i = last ? s.first + s.count - 1 : s.first,
      column = BigInt(last ? t.x[i] + t.n[i] - 1 : t.x[i]);
    if (d === columns) return from + column;
    // the edge lies in this column or in a column next to it
    const begin = from + ((column - 1n) * d) / columns,
      end = from + ((column + 2n) * d) / columns + 1n;
    [from, to] = [begin > from ? begin : from, end < to ? end : to];
  }
}
