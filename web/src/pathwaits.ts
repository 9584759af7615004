// Drawing of the critical path and of waiting times over the rows of a lane.
import type { PathLine, WaitIntervals } from "./answers";
import { depthAt } from "./arrows";
import { el } from "./dom";
import type { Row } from "./rows";
import type { RowView } from "./rowview";
import { StripKind } from "./tile";

/**
 * lineWidth is the width of the line of the critical path. above is its distance from the lower
 * edge of a row.
 */
const lineWidth = 3,
  above = 4;

/**
 * drawPath draws the critical path: a line along the row of each piece, and a vertical line from
 * each piece to the next.
 */
export function drawPath(
  view: RowView,
  line: PathLine,
  g: CanvasRenderingContext2D,
  color: string,
  halo: string,
): void {
  const { lane } = view;
  g.lineJoin = "round";
  g.beginPath();
  let joined = false;
  for (const p of line.pieces) {
    const i = lane.rowOf.get(p.track);
    if (i === undefined) {
      joined = false;
      continue;
    }
    const r = lane.rows[i],
      y = r.y + r.height - view.scrollTop - above,
      // a canvas is not precise for positions far outside of it
      x = (t: string): number => Math.max(-10, Math.min(view.width + 10, view.x(lane.toAxis(BigInt(t)))));
    if (joined && line.joined) g.lineTo(x(p.from), y);
    else g.moveTo(x(p.from), y);
    g.lineTo(Math.max(x(p.to), x(p.from) + 0.5), y);
    joined = true;
  }
  g.strokeStyle = halo;
  g.lineWidth = lineWidth + 2;
  g.stroke();
  g.strokeStyle = color;
  g.lineWidth = lineWidth;
  g.stroke();
}

/** hatching is the distance between the lines of the hatching, in pixels. */
const hatching = 10;

/** hatch returns a pattern of oblique lines. */
function hatch(g: CanvasRenderingContext2D, color: string, halo: string): CanvasPattern | null {
  const cv = el("canvas");
  cv.width = cv.height = hatching;
  const p = cv.getContext("2d");
  if (!p) return null;
  for (const [style, width] of [
    [halo, 2.5],
    [color, 1],
  ] as const) {
    p.strokeStyle = style;
    p.lineWidth = width;
    p.beginPath();
    // also draw the parts of lines that cross a corner of the pattern
    for (const x of [-hatching, 0, hatching]) {
      p.moveTo(x - 1, hatching + 1);
      p.lineTo(x + hatching + 1, -1);
    }
    p.stroke();
  }
  return g.createPattern(cv, "repeat");
}

/**
 * callAt returns the vertical position and height of the innermost call in a row at a horizontal
 * position, in CSS pixels. It returns null if no call is drawn there.
 */
function callAt(view: RowView, r: Row, x: number, dpr: number): { y: number; h: number } | null {
  const l = view.sharpest(r),
    strips = (l?.entry.strips ?? []).filter((s) => s.kind === StripKind.spans && s.depth < r.strips),
    depth = l ? depthAt(l.entry.tile, strips, (x * dpr - l.offset) / l.scale, true, false) : -1,
    strip = strips.find((s) => s.depth === depth);
  if (!strip) return null;
  const { y, h } = view.stripRect(r, strip, dpr);
  return { y: y / dpr, h: h / dpr };
}

/** headLength is the length of an arrow head, in pixels. */
const headLength = 7;

/** drawCauses draws an arrow from the call that ends a wait to the end of the wait. */
export function drawCauses(
  view: RowView,
  waits: WaitIntervals,
  g: CanvasRenderingContext2D,
  dpr: number,
  color: string,
  halo: string,
): void {
  const { lane } = view;
  // end returns the point at a time in the innermost call of a track. offset selects the call that
  // is open just after the time (1) or just before it (-1).
  const end = (track: number, t: string, offset: number): [x: number, y: number] | null => {
    const i = lane.rowOf.get(track);
    if (i === undefined || lane.rows[i].track !== track) return null;
    const r = lane.rows[i],
      x = Math.max(-1000, Math.min(view.width + 1000, view.x(lane.toAxis(BigInt(t))))),
      { y, h } = callAt(view, r, x + offset, dpr) ?? { y: r.y - view.scrollTop, h: r.height };
    return [x, y + h / 2];
  };
  const lines = new Path2D(),
    heads = new Path2D();
  for (const a of waits.arrows) {
    const from = end(a.cause, a.from, 1),
      to = end(a.track, a.to, -1);
    if (!from || !to || from[1] === to[1]) continue;
    lines.moveTo(...from);
    lines.lineTo(...to);
    const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
    heads.moveTo(...to);
    for (const side of [-0.45, 0.45]) {
      heads.lineTo(to[0] - headLength * Math.cos(angle + side), to[1] - headLength * Math.sin(angle + side));
    }
    heads.closePath();
  }
  g.setLineDash([5, 3]);
  for (const [style, width] of [
    [halo, 4],
    [color, 1.5],
  ] as const) {
    g.strokeStyle = style;
    g.lineWidth = width;
    g.stroke(lines);
  }
  g.setLineDash([]);
  g.fillStyle = color;
  g.fill(heads);
}

/**
 * drawWaits hatches the calls in which locations wait, for as long as they wait. It does not hatch
 * the rows of groups.
 */
export function drawWaits(
  view: RowView,
  waits: WaitIntervals,
  g: CanvasRenderingContext2D,
  dpr: number,
  color: string,
  halo: string,
): void {
  const { lane } = view,
    style = hatch(g, color, halo);
  if (!style) return;
  g.fillStyle = style;
  for (const t of waits.tracks) {
    const i = lane.rowOf.get(t.track),
      r = i === undefined ? undefined : lane.rows[i];
    if (!r || r.track !== t.track || r.strips === 0) continue;
    if (r.y + r.height < view.scrollTop || r.y > view.scrollTop + view.height) continue;
    for (let k = 0; k + 1 < t.times.length; k += 2) {
      const a = Math.max(0, view.x(lane.toAxis(BigInt(t.times[k])))),
        b = Math.min(view.width, Math.max(view.x(lane.toAxis(BigInt(t.times[k + 1]))), a + 1));
      if (b <= a) continue;
      // the innermost call in the middle of the wait is the call that waits
      const { y, h } = callAt(view, r, (a + b) / 2, dpr) ?? { y: r.y - view.scrollTop + 1, h: r.height - 2 };
      g.fillRect(a, y, b - a, h);
    }
  }
}
