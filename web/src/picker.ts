// Turns clicks into selections: of spans, links, ranges and the ends of a measurement.
import { errorText, type SpanDetails } from "./api";
import type { App } from "./app";
import type { Hit } from "./hit";
import type { Details } from "./details";
import { exact, type Window } from "./time";
import type { Timeline } from "./timeline";
import { sameWindow, scaleTicks } from "./view";

/**
 * edgeReach is the largest distance, in CSS pixels, at which a click while measuring snaps to the
 * edge of a span.
 */
export const edgeReach = 14;

/** Picker turns clicks on a time line into selections. */
export class Picker {
  constructor(
    private app: App,
    private details: Details,
  ) {}

  pick(t: Timeline, h: Hit | null): void {
    if (h && h.kind === "curve" && t.lane.meta.tracks[h.track]?.kind === "counter") {
      this.app.store.set({ selection: null, link: null });
      void this.details.value(t.lane, h.track, h.time);
      return;
    }
    if (!h || h.kind === "empty" || h.kind === "curve" || h.track < 0) {
      this.app.store.set({ selection: null, link: null });
      return;
    }
    if (h.kind === "instant") {
      this.app.store.set({ selection: { lane: t.lane.index, track: h.track, depth: -1, time: h.middle } });
      return;
    }
    if (h.single) {
      this.app.store.set({ selection: { lane: t.lane.index, track: h.track, depth: h.depth, time: h.middle } });
      return;
    }
    // several spans share these pixels: select the first span of the region that fills most of them
    void (async () => {
      const left = t.lane.toLocal(t.tickAt(h.x0));
      try {
        const r = await this.app.client.json<SpanDetails>(`traces/${encodeURIComponent(t.lane.meta.id)}/find`, {
          region: h.region,
          track: h.track,
          time: left - 1n,
          direction: "next",
        });
        this.app.store.set({
          selection: { lane: t.lane.index, track: r.span.track, depth: r.span.depth, time: BigInt(r.span.start) },
        });
        this.app.announce("several spans lie here: this is the first of " + r.span.name + "; zoom in to see each");
      } catch {
        this.app.store.set({ selection: { lane: t.lane.index, track: h.track, depth: h.depth, time: h.middle } });
      }
    })();
  }

  /**
   * pickMiddle selects the span in the middle of the first row that has a span there. It is for
   * users who have no mouse.
   */
  pickMiddle(t: Timeline): void {
    const [a, b] = t.visible();
    for (let i = a; i < b; i++) {
      const r = t.lane.rows[i];
      if (r.track < 0 || r.strips === 0) continue;
      const h = t.hit(t.width / 2, r.y - t.scrollTop + 2 + r.stripHeight / 2);
      if (h && h.kind === "span") {
        this.pick(t, h);
        return;
      }
    }
    this.app.announce("there is no span in the middle of the window");
  }

  pickLink(t: Timeline): void {
    const l = t.hoverLink?.arrow.link;
    if (!l) return;
    this.app.store.set({ selection: null, link: { lane: t.lane.index, link: l } });
  }

  /**
   * mark sets one end of the measured time. The end snaps to the edge of a span within edgeReach,
   * if there is one.
   */
  async mark(t: Timeline, h: Hit | null, time: bigint, second: boolean): Promise<void> {
    const edge = await this.edgeNear(t, h, time);
    const [a, b] = this.app.store.state.marks,
      at = edge ?? time,
      first = a === null || (b !== null && !second);
    this.app.store.set({
      marks: first ? [at, null] : [a, at],
      loose: (first ? "" : this.app.store.state.loose.replace("2", "")) + (edge === null ? (first ? "1" : "2") : ""),
    });
  }

  /**
   * edgeNear returns the exact time of the nearest edge of a span in the strip or, if the strip has
   * none, in the row. It returns null if no edge is within edgeReach.
   */
  private async edgeNear(t: Timeline, h: Hit | null, time: bigint): Promise<bigint | null> {
    if (!h || h.track < 0) return null;
    const w = this.app.store.state.window,
      { lane } = t,
      at = lane.toLocal(time),
      within = lane.toLocal(time + scaleTicks(w.to - w.from, edgeReach / Math.max(1, t.width))) - at;
    try {
      const strip =
        h.depth >= 0 ? { depth: h.depth, depths: 1 } : h.row.stacked ? {} : { depths: Math.max(1, h.row.strips) };
      const e = await this.app.client.json<{ time: string }>(`traces/${encodeURIComponent(lane.meta.id)}/edge`, {
        track: h.track,
        time: at,
        within,
        ...strip,
      });
      return lane.toAxis(BigInt(e.time));
    } catch {
      return null;
    }
  }

  /** snap makes a window the range. An end with a point snaps to an edge of a span near the point. */
  async snap(t: Timeline, w: Window, points: readonly ({ x: number; y: number } | null)[]): Promise<void> {
    this.app.store.set({ range: w });
    const [from, to] = await Promise.all(
      [w.from, w.to].map(async (time, i) => {
        const p = points[i];
        return p ? ((await this.edgeNear(t, t.hit(p.x, p.y), time)) ?? time) : time;
      }),
    );
    // the user may have selected another range in the meantime
    const now = this.app.store.state.range;
    if (now && sameWindow(now, w) && from < to) this.app.store.set({ range: { from, to } });
  }

  /**
   * rangeTo makes the time of two spans the range: from the earlier begin to the later end. The
   * spans are the selected one and the one at h.
   */
  async rangeTo(t: Timeline, h: Hit | null): Promise<void> {
    const d = this.details.span,
      s = this.app.store.state.selection,
      lane = s ? this.app.lanes[s.lane] : undefined;
    if (!d || !lane || !h || h.kind !== "span" || h.track < 0) {
      this.app.announce("select a span, then click on another one with Shift, to select the time between them");
      return;
    }
    try {
      const o = await this.app.client.json<SpanDetails>(`traces/${encodeURIComponent(t.lane.meta.id)}/span`, {
        track: h.track,
        depth: h.depth,
        time: h.middle,
      });
      const ends = [
        lane.toAxis(BigInt(d.span.start)),
        t.lane.toAxis(BigInt(o.span.start)),
        lane.toAxis(BigInt(d.span.end)),
        t.lane.toAxis(BigInt(o.span.end)),
      ];
      const from = ends[0] < ends[1] ? ends[0] : ends[1],
        to = ends[2] > ends[3] ? ends[2] : ends[3];
      this.app.store.set({ range: { from, to: to > from ? to : from + 1n } });
      this.app.announce(`range from ${d.span.name} to ${o.span.name}: ${exact(to - from, this.app.axis)}`);
    } catch (e) {
      this.app.announce(errorText(e));
    }
  }
}
