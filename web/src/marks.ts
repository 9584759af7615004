// Draws the range, notes, the measured time, the selection, links, and the highlight under the pointer
// over the spans.
import type { App } from "./app";
import { type Arrow, drawSingleEnd, drawArrow, type Segment } from "./arrows";
import { drawExtraMarks } from "./extrarows";
import { type Hit, hitRect } from "./hit";
import { drawPath } from "./pathwaits";
import type { RowView } from "./rowview";
import type { Window } from "./time";

/** Marks holds the state of a time line that drawMarks draws. */
export interface Marks {
  /** hover is the hit under the pointer, or null. */
  hover: Hit | null;
  hoverLink: Segment | null;
  /** pointer is the position of the pointer in CSS pixels. */
  pointer: { x: number; y: number } | null;
  /** selectedSpan is the exact time of the selection in ticks of the axis, once the server has sent it. */
  selectedSpan: Window | null;
  /** segments holds the arrows of the last frame. */
  readonly segments: readonly Segment[];
  /** place returns the positions of links on the screen. */
  place(arrows: readonly Arrow[]): Segment[];
}

/**
 * drawMarks draws the range, notes, measured time, selection, arrows and the highlight under the
 * pointer.
 */
export function drawMarks(app: App, view: RowView, o: Marks, g: CanvasRenderingContext2D, dpr: number): void {
  const s = app.store.state,
    c = app.colors,
    lane = view.lane;
  const band = (w: Window, color: string): void => {
    const a = view.x(w.from),
      b = view.x(w.to);
    g.fillStyle = color;
    g.fillRect(a, 0, Math.max(1, b - a), view.height);
  };
  const line = (x: number, color: string, dash: number[] = [], width = 1): void => {
    g.strokeStyle = color;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(Math.round(x) + 0.5, 0);
    g.lineTo(Math.round(x) + 0.5, view.height);
    g.stroke();
    g.setLineDash([]);
  };
  if (s.showPath && lane.overlays.path.data) drawPath(view, lane.overlays.path.data, g, c.path, c.background);
  if (s.range) {
    band(s.range, c.range);
    line(view.x(s.range.from), c.accent);
    line(view.x(s.range.to), c.accent);
  }
  drawExtraMarks(app, view, g);
  for (const n of app.notes.inLane(lane.index)) {
    const x = view.x(lane.toAxis(BigInt(n.from)));
    if (x >= -1 && x <= view.width) line(x, c.note, [2, 3]);
  }
  if (o.hoverLink && s.arrows !== "off") {
    const same = o.segments.find((x) => x.arrow === o.hoverLink?.arrow);
    if (same) drawArrow(g, same, c.mark);
  }
  const link = s.link ?? s.followed;
  if (link && link.lane === lane.index) {
    // a message without a receive has no second end
    const l = link.link,
      start = BigInt(l.from.time),
      alone = l.alone === true || l.unsent === true;
    for (const x of o.place([
      {
        link: l.unsent ? { ...l, from: l.to } : alone ? { ...l, to: l.from } : l,
        start,
        end: alone ? start : BigInt(l.to.time),
      },
    ]))
      if (alone) drawSingleEnd(g, x.x0, x.y0, c.accent);
      else drawArrow(g, x, c.accent);
  }
  const sel = s.selection;
  if (sel && sel.lane === lane.index) outlineSelection(app, view, o.selectedSpan, g, sel.track, sel.depth, dpr);
  if (o.hover?.around) trace(g, o.hover.around, c.select, 1);
  else if (o.hover && o.hover.kind === "span" && o.hover.x1 - o.hover.x0 > 2) {
    const { y, h } = hitRect(view, o.hover);
    g.strokeStyle = c.select;
    g.globalAlpha = 0.6;
    g.lineWidth = 1;
    g.strokeRect(
      Math.max(-2, o.hover.x0) + 0.5,
      y + 0.5,
      Math.min(view.width + 2, o.hover.x1) - Math.max(-2, o.hover.x0) - 1,
      h - 1,
    );
    g.globalAlpha = 1;
  }
  if (s.place !== null) line(view.x(s.place), c.accent, [6, 3], 2);
  s.marks.forEach((m, i) => {
    if (m !== null)
      line(view.x(m), i === 0 ? "#d55e00" : "#009e73", s.loose.includes(String(i + 1)) ? [4, 4] : [], 1.5);
  });
  if (o.pointer) line(o.pointer.x, c.faint, [1, 3]);
}

/** trace draws the outline of a claim in a stack. around holds its corners. */
function trace(g: CanvasRenderingContext2D, around: readonly [number, number][], color: string, width: number): void {
  g.strokeStyle = color;
  g.lineWidth = width;
  g.lineJoin = "round";
  g.beginPath();
  around.forEach(([x, y], i) => {
    if (i === 0) g.moveTo(x, y);
    else g.lineTo(x, y);
  });
  g.closePath();
  g.stroke();
}

function outlineSelection(
  app: App,
  view: RowView,
  selectedSpan: Window | null,
  g: CanvasRenderingContext2D,
  track: number,
  depth: number,
  dpr: number,
): void {
  const i = view.lane.rowOf.get(track),
    c = app.colors;
  const r = i === undefined ? undefined : view.lane.rows[i];
  if (!r || !app.store.state.selection) return;
  const top = r.y - view.scrollTop,
    pad = r.stripHeight >= 8 ? 2 : 1;
  const w = selectedSpan;
  const t = view.lane.toAxis(app.store.state.selection.time);
  const x0 = w ? view.x(w.from) : view.x(t),
    x1 = w ? view.x(w.to) : x0;
  const l = r.stacked && r.track === track ? view.sharpest(r) : undefined,
    p = l ? view.pieces(r, l, dpr) : null,
    at = Math.max(0, Math.min(view.width - 1, (x0 + x1) / 2)) * dpr;
  const piece = p?.pieces.find((q) => q.depth === depth && q.x <= at && at < q.x + q.n);
  if (p && piece) {
    const a = view.around(p, piece.run, dpr);
    trace(g, a, c.background, 4);
    trace(g, a, c.select, 2);
    return;
  }
  const own = !r.stacked && r.track === track && depth >= 0 && depth < r.strips;
  const y = own ? top + pad + depth * r.stripHeight : top + 1,
    h = own ? r.stripHeight : r.height - 2;
  const a = Math.max(-3, x0),
    b = Math.min(view.width + 3, Math.max(x1, x0 + 1.5));
  if (b < 0 || a > view.width) return;
  g.lineWidth = 4;
  g.strokeStyle = c.background;
  g.strokeRect(a - 1, y - 1, b - a + 2, h + 1);
  g.lineWidth = 2;
  g.strokeStyle = c.select;
  g.strokeRect(a - 1, y - 1, b - a + 2, h + 1);
}
