// The interface window.weft, through which tests in a browser observe the page.
import type { Values } from "./extratypes";
import { runNextTimer, deferred } from "./timers";
import type { Frame, Page } from "./page";
import { rowKey } from "./tiles";

/** Probe is the type of window.weft. */
export interface Probe {
  /** pending returns the names of pending work. It returns none if the page is at rest. */
  pending(): string[];
  /** runNextTimer runs the deferred work that is due first, unless other work is pending. */
  runNextTimer(): void;
  view(): {
    from: string;
    to: string;
    length: string;
    rows: number;
    tracks: number[];
    scroll: number;
    width: number;
    height: number;
    sharp: boolean;
    selection: string | null;
    traces: string[];
  };
  frames(): Frame[];
  /**
   * layout describes where the first time line draws its rows and strips, in pixels of the canvas,
   * and from which tiles. The arrows are in CSS pixels.
   */
  layout(): {
    background: string;
    group: string;
    line: string;
    other: string;
    mark: string;
    curve: string;
    regions: string[];
    rows: {
      track: number;
      members: number[];
      y: number;
      height: number;
      tile: { from: string; to: string; width: number; scale: number; offset: number } | null;
      strips: { track: number; depth: number; kind: number; y: number; height: number }[];
    }[];
    arrows: { x0: number; y0: number; x1: number; y1: number; count: number }[];
  };
  /** extras returns the extras on the time lines. Their times are in ticks of their lane. */
  extras(): {
    lane: number;
    title: string;
    rows: {
      label: string;
      bars: { from: string; to: string; tone: string; text: string }[];
      curve: Pick<Values, "min" | "max"> | null;
    }[];
    marks: { track: number; from: string; to: string; tone: string }[];
  }[];
}

declare global {
  interface Window {
    readonly weft: Probe;
  }
}

/** defineProbe sets window.weft. */
export function defineProbe(page: Page): void {
  Object.defineProperty(window, "weft", {
    value: Object.freeze({
      pending: () => page.pending(),
      runNextTimer: () => {
        if (page.pending().every((what) => deferred().includes(what))) runNextTimer();
      },
      view: () => {
        const s = page.store.state,
          t = page.timelines[0];
        const [a, b] = t ? t.visible() : [0, 0];
        return {
          from: String(s.window.from),
          to: String(s.window.to),
          length: String(page.lanes[0]?.length ?? 0n),
          rows: page.lanes[0]?.rows.length ?? 0,
          tracks: (page.lanes[0]?.rows ?? []).slice(a, b).map((r) => r.track),
          scroll: t?.scrollTop ?? 0,
          width: t?.width ?? 0,
          height: t?.height ?? 0,
          sharp: page.timelines.every((x) => x.sharp),
          selection: s.selection
            ? `${s.selection.lane}.${s.selection.track}.${s.selection.depth}.${s.selection.time}`
            : null,
          traces: s.traces,
        };
      },
      frames: () => page.frames.map((f) => ({ ...f })),
      layout: () => {
        const t = page.timelines[0],
          lane = page.lanes[0],
          c = page.colors,
          dpr = devicePixelRatio,
          [a, b] = t ? t.visible() : [0, 0];
        const rows = (lane?.rows ?? []).slice(a, b).map((r) => {
          const key = rowKey(r),
            y = Math.round((r.y - t.scrollTop) * dpr),
            height = Math.round((r.y + r.height - t.scrollTop) * dpr) - y;
          const l =
            key === null
              ? undefined
              : lane.tiles.layers(key, lane.local(page.store.state.window), Math.round(t.width * dpr)).layers.at(-1);
          const strips = (l?.entry.strips ?? []).map((s) => {
            const { y, h } = t.stripRect(r, s, dpr);
            return { track: s.track, depth: s.depth, kind: s.kind, y, height: h };
          });
          return {
            track: r.track,
            members: r.members,
            y,
            height,
            tile: l
              ? {
                  from: String(l.entry.grid.from),
                  to: String(l.entry.grid.to),
                  width: l.entry.grid.width,
                  scale: l.scale,
                  offset: l.offset,
                }
              : null,
            strips,
          };
        });
        return {
          background: c.background,
          group: c.row,
          line: c.line,
          other: c.other,
          mark: c.mark,
          curve: c.curve,
          regions: lane?.colors.css ?? [],
          rows,
          arrows: (t?.segments ?? []).map(({ x0, y0, x1, y1, count: n }) => ({ x0, y0, x1, y1, count: n })),
        };
      },
      extras: () =>
        page.lanes.flatMap((l) =>
          page.extras.inLane(l.index).map(({ extra: x }) => ({
            lane: x.lane,
            title: x.title,
            rows: x.rows.map((r) => ({
              label: r.label,
              bars: r.bars.map((b) => ({ ...b, from: String(b.from), to: String(b.to) })),
              curve: ((v) => (v ? { min: v.min, max: v.max } : null))(r.curve?.values()),
            })),
            marks: x.marks.map((m) => ({ ...m, from: String(m.from), to: String(m.to) })),
          })),
        ),
    } satisfies Probe),
  });
}
