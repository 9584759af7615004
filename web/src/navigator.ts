// Brings spans, links, rows and times into view.
import { isNoContent, type LinkInfo, errorText, type SpanInfo } from "./api";
import type { App } from "./app";
import { count, nameless, printable } from "./dom";
import { regionsOf } from "./panels/calls";
import { pathTo } from "./rows";
import type { Selection, State } from "./store";
import { exact, type Window } from "./time";
import type { Timeline } from "./timeline";
import { windowAround, centredWindow, windowShowing } from "./view";

/** Navigator moves the window and scrolls the rows to a place in the trace. */
export class Navigator {
  /** showSearchText shows a text next to the search field. */
  constructor(
    private app: App,
    private timelines: () => readonly Timeline[],
    private showSearchText: (text: string) => void,
  ) {}

  reveal(s: Selection, start: bigint, end: bigint, followed: State["followed"] = null): void {
    const lane = this.app.lanes[s.lane];
    if (!lane) return;
    const a = lane.toAxis(start),
      b = lane.toAxis(end),
      w = this.app.store.state.window,
      limits = this.app.limits();
    const i = lane.rowOf.get(s.track);
    if (i !== undefined) this.timelines()[s.lane].scrollTo(i);
    let n = w;
    // keep the zoom, unless the span would be too narrow to see or is too far away
    if (b - a > 0n && (b - a) * 400n < w.to - w.from) n = windowAround(a, b, limits, 0.02);
    if (a < n.from || b > n.to) {
      // if the span is longer than the window, show the selected time, which may be far from the middle
      // of the span
      const t = lane.toAxis(s.time),
        long = b - a >= n.to - n.from;
      if (!long || t < n.from || t >= n.to) n = windowShowing(n, long ? t : (a + b) / 2n, limits);
    }
    // show both ends of a link that was followed
    if (followed) {
      n = this.around(followed, n);
      this.bothRows(followed);
    }
    // a row without spans has no selection
    const empty = s.depth >= (lane.meta.tracks[s.track]?.depth ?? 0);
    if (empty) this.app.announce(lane.fullName(s.track));
    this.app.store.set(empty ? { window: n } : { selection: s, window: n, followed });
  }

  /**
   * around returns w if both ends of a link are well inside of it. Otherwise it returns a window
   * that contains both.
   */
  around(l: { lane: number; link: LinkInfo }, w: Window): Window {
    const lane = this.app.lanes[l.lane],
      times = [l.link.from, l.link.to].map((e) => lane.toAxis(BigInt(e.time))),
      [a, b] = times[0] <= times[1] ? times : [times[1], times[0]],
      room = (w.to - w.from) / 50n;
    if (a >= w.from + room && b <= w.to - room && (b - a) * 100n >= w.to - w.from) return w;
    return windowAround(a, b > a ? b : a + 1n, this.app.limits(), 0.6);
  }

  /**
   * bothRows scrolls until the rows of both ends of a link are visible. If the rows are too far
   * apart, it scrolls to the row of the link's end.
   */
  bothRows(l: { lane: number; link: LinkInfo }): void {
    const lane = this.app.lanes[l.lane],
      t = this.timelines()[l.lane],
      rows = [l.link.from, l.link.to]
        .map((e) => lane.rowOf.get(e.track))
        .filter((i) => i !== undefined)
        .sort((a, b) => a - b);
    const high = rows.length < 2 ? Infinity : lane.rows[rows[1]].y + lane.rows[rows[1]].height - lane.rows[rows[0]].y;
    if (high < t.height) for (const i of rows) t.scrollTo(i);
  }

  /** showLink selects a link and shows both of its ends. */
  showLink(l: { lane: number; link: LinkInfo }): void {
    this.app.store.set({ selection: null, link: l, window: this.around(l, this.app.store.state.window) });
    this.bothRows(l);
  }

  /** goTime moves the middle of the window to a time, and marks the time. */
  goTime(t: bigint): void {
    this.app.store.set({ window: centredWindow(this.app.store.state.window, t, this.app.limits()), place: t });
    this.app.announce(`at ${exact(t, this.app.axis)}; Esc takes the mark away`);
  }

  uncover(lane: number, track: number): void {
    this.unhide(lane, `t${track}`);
  }

  /** unhide makes a row visible. */
  unhide(lane: number, key: string): void {
    const l = this.app.lanes[lane];
    if (!l.rows.some((r) => r.key === key)) {
      const way = pathTo(l.tree, key).map((n) => `${lane}/${n.key}`),
        above = way.slice(0, -1),
        s = this.app.store.state;
      this.app.store.set({
        collapsed: new Set([...s.collapsed].filter((k) => !above.includes(k))),
        hidden: new Set([...s.hidden].filter((k) => !way.includes(k))),
        rowFilter: "",
      });
    }
  }

  /** goRow makes a row visible and scrolls to it. */
  goRow(lane: number, key: string): void {
    const l = this.app.lanes[lane];
    this.unhide(lane, key);
    const i = l.rows.findIndex((r) => r.key === key);
    if (i >= 0) this.timelines()[lane].focusLabel(i);
  }

  /**
   * goRegion highlights the regions with a label. It then goes to their next or previous call in
   * any row, counted from the selection or, if there is none, from the begin of the window.
   */
  async goRegion(laneIndex: number, region: number, direction: "next" | "previous"): Promise<void> {
    const lane = this.app.lanes[laneIndex],
      s = this.app.store.state,
      name = lane.regionLabel(region, ""),
      k = s.selection;
    this.app.store.set({ highlight: lane.meta.regions[region].name });
    // start after or before the selected call, so that the search does not find it again, whether or not the
    // search led to it
    const from =
      this.hit && this.hit.name === name && k === this.hit.selection && k.lane === laneIndex
        ? { time: k.time, track: k.track, depth: k.depth }
        : k && k.lane === laneIndex
          ? { time: k.time }
          : { time: direction === "next" ? lane.cut(s.window).from - 1n : lane.cut(s.window).to };
    try {
      const r = await this.app.client.json<{ span: SpanInfo; number: number; total: number }>(
        `traces/${encodeURIComponent(lane.meta.id)}/hit`,
        { regions: regionsOf(lane, name), ...from, direction },
      );
      const selection = { lane: laneIndex, track: r.span.track, depth: r.span.depth, time: BigInt(r.span.start) };
      this.hit = { name, selection };
      this.uncover(laneIndex, r.span.track);
      this.reveal(selection, BigInt(r.span.start), BigInt(r.span.end));
      this.showSearchText(`${count(r.number)} of ${count(r.total)}`);
    } catch (e) {
      this.app.announce(
        isNoContent(e)
          ? `no ${printable(name) || nameless} ${direction === "next" ? "after" : "before"} this`
          : errorText(e),
      );
    }
  }
  /** hit is the last call to which the search led. */
  hit: { name: string; selection: Selection } | null = null;
}
