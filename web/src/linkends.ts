// The spans at the ends of links.
import { type Client, isNothing, type LinkInfo, type SpanDetails } from "./api";
import { atEnd, type Held, holder } from "./arrows";
import type { Lane } from "./lane";
import { decodeTile, runAt, StripKind } from "./tile";

/** mostLanes is how many claims of a resource are asked for to find that of a dependency. */
const mostLanes = 32;

/** LinkEnds asks the server which spans the ends of links belong to. */
export class LinkEnds {
  constructor(private client: Client) {}

  /** spansAt asks for the spans of a track that hold a time, or end there. */
  private async spansAt(
    lane: Lane,
    track: number,
    time: bigint,
    signal?: AbortSignal,
  ): Promise<(Held & { name: string })[]> {
    const path = `traces/${encodeURIComponent(lane.meta.id)}/`,
      nested = this.nested(lane, track),
      from = time > 0n ? time - 1n : 0n;
    // a tile of two ticks tells which depths have something there
    const t = decodeTile(
      await this.client.binary(
        path + "tiles",
        { from, to: time + 1n, width: Number(time - from) + 1, tracks: track, depths: 255 },
        signal,
      ),
    );
    const strips = t.strips.filter((x) => x.kind === StripKind.spans).sort((a, b) => b.depth - a.depth);
    const asked: { depth: number; time: bigint }[] = [];
    for (let column = 0; column <= Number(time - from); column++) {
      const depths = strips.filter((x) => runAt(t, x, column) >= 0).map((x) => x.depth);
      // what is nested comes with the innermost
      for (const depth of depths.slice(0, nested ? 1 : mostLanes)) asked.push({ depth, time: from + BigInt(column) });
    }
    const answers = await Promise.all(
      asked.map((q) =>
        this.client.json<SpanDetails>(path + "span", { track, ...q }, signal).catch((e: unknown) => {
          if (isNothing(e)) return null;
          throw e;
        }),
      ),
    );
    return answers.flatMap((d) =>
      (d === null ? [] : [d.span, ...(nested ? (d.around ?? []) : [])]).map((s) => ({
        depth: s.depth,
        start: BigInt(s.start),
        end: BigInt(s.end),
        name: s.name,
      })),
    );
  }

  /** nested tells whether the spans of a row are in each other: visits are, claims and operations lie in lanes. */
  nested(lane: Lane, track: number): boolean {
    return lane.meta.tracks[track]?.kind === "location";
  }

  /** holder asks for the span at an end of a link; null when nothing is there. */
  async holder(
    lane: Lane,
    l: LinkInfo,
    leaves: boolean,
    signal?: AbortSignal,
  ): Promise<(Held & { name: string }) | null> {
    const e = leaves ? l.from : l.to,
      time = BigInt(e.time);
    return holder(await this.spansAt(lane, e.track, time, signal), time, atEnd(l, leaves), this.nested(lane, e.track));
  }

  /** within is a time at which nothing but the span is open at its depth, the given one if it can be. */
  within(s: Held, t: bigint): bigint {
    return t >= s.end && s.end > s.start ? s.end - 1n : t >= s.start ? t : s.start;
  }
}
