// Finds the spans at the ends of links.
import { type Client, isNoContent, type LinkInfo, type SpanDetails } from "./api";
import type { App } from "./app";
import { atEnd, type SpanCandidate, spanAtEnd } from "./arrows";
import type { Lane } from "./lane";
import { decodeTile, runAt, StripKind } from "./tile";
import type { Window } from "./time";
import { windowAround } from "./view";

/** mostLanes limits how many claims of a resource are requested to find the one at the end of a dependency. */
const mostLanes = 32;

/** LinkEnds requests the spans to which the ends of links belong. */
export class LinkEnds {
  constructor(private client: Client) {}

  /** spansAt requests the spans of a track that are open at a time, or end at it. */
  private async spansAt(
    lane: Lane,
    track: number,
    time: bigint,
    signal?: AbortSignal,
  ): Promise<(SpanCandidate & { name: string })[]> {
    const path = `traces/${encodeURIComponent(lane.meta.id)}/`,
      nested = this.nested(lane, track),
      from = time > 0n ? time - 1n : 0n;
    // a tile of the tick at the time and the tick before shows at which depths there is a span
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
      // for nested spans, the answer about one span includes the spans around it
      for (const depth of depths.slice(0, nested ? 1 : mostLanes)) asked.push({ depth, time: from + BigInt(column) });
    }
    const answers = await Promise.all(
      asked.map((q) =>
        this.client.json<SpanDetails>(path + "span", { track, ...q }, signal).catch((e: unknown) => {
          if (isNoContent(e)) return null;
          throw e;
        }),
      ),
    );
    return answers.flatMap((d) =>
      (d === null ? [] : [d.span, ...(nested ? (d.around ?? []) : [])]).map((s) => ({
        depth: s.depth,
        start: BigInt(s.start),
        end: BigInt(s.end),
        name: lane.regionLabel(s.region, s.name),
      })),
    );
  }

  /**
   * nested reports whether the spans of a track are nested. Visits are nested. Claims and
   * operations are in lanes.
   */
  nested(lane: Lane, track: number): boolean {
    return lane.meta.tracks[track]?.kind === "location";
  }

  /** spanAtEnd requests the span to which an end of a link belongs. It returns null if there is none. */
  async spanAtEnd(
    lane: Lane,
    l: LinkInfo,
    leaves: boolean,
    signal?: AbortSignal,
  ): Promise<(SpanCandidate & { name: string }) | null> {
    const e = leaves ? l.from : l.to,
      time = BigInt(e.time);
    const spans = await this.spansAt(lane, e.track, time, signal);
    return spanAtEnd(spans, time, atEnd(l, leaves), this.nested(lane, e.track));
  }

  /**
   * within returns a time at which s is the span at its depth: t if possible, or else the nearest
   * such time.
   */
  within(s: SpanCandidate, t: bigint): bigint {
    return t >= s.end && s.end > s.start ? s.end - 1n : t >= s.start ? t : s.start;
  }
}

/**
 * zoomLink shows the time of a link. If only one end of the link is known, it shows the time around
 * that end.
 */
export function zoomLink(app: App, s: { lane: number; link: LinkInfo }): void {
  const lane = app.lanes[s.lane],
    l = s.link,
    half = l.alone === true || l.unsent === true,
    a = lane.toAxis(BigInt(l.from.time)),
    b = half ? a : lane.toAxis(BigInt(l.to.time));
  if (half) {
    app.show(windowAround(a, a + lane.length / 1000n + 1n, app.limits()));
    return;
  }
  const both: Window = a < b ? { from: a, to: b } : { from: b, to: a + 1n },
    m = (both.to - both.from) / 5n + 1n;
  app.show({ from: both.from - m, to: both.to + m });
}
