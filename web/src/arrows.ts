// Messages and dependencies as arrows over the rows.
import { type Client, isAbort, type LinkInfo, type LinkSet, ranges, errorText } from "./api";
import { count, countWords } from "./dom";
import { cancel, callLater } from "./timers";
import { type Bitmap, blend } from "./raster";
import type { Row } from "./rows";
import { RunFlag, runAt, type Strip, StripKind, type Tile } from "./tile";
import type { Window } from "./time";

/** Arrow is a link with the times of its ends as bigint. */
export interface Arrow {
  link: LinkInfo;
  start: bigint;
  end: bigint;
}

/** maxAutoLinks is the largest number of links that are drawn without a request by the user. */
export const maxAutoLinks = 300;

/** LinkCache fetches the links of the visible window and rows. */
export class LinkCache {
  /** arrows holds the fetched links. total is the number of links in the window. */
  arrows: Arrow[] = [];
  total = 0;
  bundled = false;
  /** withheld is set if there are more than maxAutoLinks links and the user has not asked to see them. */
  withheld = false;
  error = "";
  private key = "";
  private timer = 0;
  private abort: AbortController | null = null;

  constructor(
    private client: Client,
    private id: string,
    private arrived: () => void,
  ) {}

  /** pending reports whether links are being fetched. */
  get pending(): boolean {
    return this.timer !== 0 || this.abort !== null;
  }

  /** countText is a text for the user with the number of links; if not all are drawn, also with the number of those. */
  get countText(): string {
    if (this.total === 0) return this.key === "" || this.pending ? "" : "no links here";
    if (this.withheld) return `${countWords(this.total, "link")}: L shows ${this.total === 1 ? "it" : "them"}`;
    const held = this.arrows.reduce((n, a) => n + a.link.count, 0);
    return held < this.total
      ? `${count(held)} of ${count(this.total)} links shown: zoom in for all`
      : this.bundled
        ? `${countWords(this.total, "link")} in ${countWords(this.arrows.length, "bundle")}`
        : countWords(this.total, "link");
  }

  /**
   * show sets the window, its width in pixels and the tracks. It fetches the links as soon as these
   * have stopped changing. If `asked` is set, links are drawn even if there are many.
   */
  show(w: Window, width: number, tracks: number[], asked: boolean): void {
    const key = `${asked} ${w.from} ${w.to} ${width} ${ranges(tracks)}`;
    if (key === this.key) return;
    this.key = key;
    if (this.timer) cancel(this.timer);
    this.timer = callLater("links", 120, () => {
      this.timer = 0;
      void this.fetch(w, width, tracks, asked);
    });
  }

  /** clear drops the links and cancels the request for them. */
  clear(): void {
    if (this.timer) cancel(this.timer);
    this.timer = 0;
    this.key = "";
    this.arrows = [];
    this.total = 0;
    this.withheld = false;
    this.error = "";
    this.abort?.abort();
  }

  private async fetch(w: Window, width: number, tracks: number[], asked: boolean): Promise<void> {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    try {
      const s = await this.client.json<LinkSet>(
        `traces/${encodeURIComponent(this.id)}/links`,
        { from: w.from, to: w.to, width, tracks: ranges(tracks), limit: asked ? 2000 : maxAutoLinks },
        abort.signal,
      );
      this.withheld = !asked && s.total > maxAutoLinks;
      this.arrows = (this.withheld ? [] : (s.links ?? [])).map((link) => ({
        link,
        start: BigInt(link.from.time),
        end: BigInt(link.to.time),
      }));
      this.total = s.total;
      this.bundled = s.bundled;
      this.error = "";
      this.arrived();
    } catch (e) {
      if (!isAbort(e)) {
        this.error = errorText(e);
        this.arrived();
      }
    } finally {
      if (this.abort === abort) this.abort = null;
      this.client.onChange();
    }
  }
}

/**
 * departureTime returns a time in the span from which a link starts. A dependency starts at the end of
 * its span. At that time, another span may already be open, so departure returns the tick before.
 */
export function departureTime(l: LinkInfo): bigint {
  const t = BigInt(l.from.time);
  return l.kind === "dependency" && t > 0n ? t - 1n : t;
}

/** SpanCandidate is a span to which an end of a link may belong. */
export interface SpanCandidate {
  depth: number;
  start: bigint;
  end: bigint;
}

/**
 * atEnd reports whether a link begins or arrives at the end of its span. If leaves is set, this is
 * about the begin of the link. Messages arrive at the end of a receive, and dependencies start at
 * the end of a claim.
 */
export function atEnd(l: LinkInfo, leaves: boolean): boolean {
  return l.kind === (leaves ? "dependency" : "message");
}

/**
 * spanAtEnd returns the span to which an end of a link belongs, or null. spans are those that are
 * open at that time, or begin or end at it. nested is set if spans are nested; the spans of a
 * resource are in lanes instead.
 *
 * If `ends` is set, spanAtEnd prefers a span that ends at the time. If not, it takes the innermost
 * span that is open or begins there. In lanes, it prefers the claim in the first lane that ends (or
 * begins) there. Spans without duration come after others of the same depth.
 */
export function spanAtEnd<T extends SpanCandidate>(
  spans: readonly T[],
  time: bigint,
  ends: boolean,
  nested: boolean,
): T | null {
  const long = spans.filter((s) => s.start < s.end),
    inward = (a: T, b: T): number => (nested ? b.depth - a.depth : a.depth - b.depth);
  const edge = long.filter((s) => (ends ? s.end : s.start) === time).sort(inward);
  if (edge.length > 0 && (ends || !nested)) return edge[0];
  const at = spans
    .filter((s) => s.start <= time && (time < s.end || s.start === s.end))
    .sort((a, b) => b.depth - a.depth || (a.end - a.start < b.end - b.start ? 1 : -1));
  return at[0] ?? long.filter((s) => s.end === time).sort(inward)[0] ?? null;
}

/**
 * depthAt returns the depth of the span to which an end of a link belongs, or -1 if the tile does
 * not determine it. column is the position of the end in the tile, and may have a fraction. For
 * nested spans, the result is the innermost span or, if `ends` is set, the innermost one that ends
 * there. For the lanes of a resource, it is the claim that ends (or begins) there, or else the only
 * claim at the column. The function DepthAt in draw/raster does the same in Go.
 */
export function depthAt(t: Tile, strips: readonly Strip[], column: number, nested: boolean, ends: boolean): number {
  let inner = -1,
    edge = -1,
    near = 1.01,
    holds = 0;
  for (const s of strips) {
    if (s.kind !== StripKind.spans) continue;
    const k = runAt(t, s, Math.floor(column), nested && !ends ? 0 : 1);
    if (k < 0) continue;
    const within = t.x[k] <= column && column < t.x[k] + t.n[k];
    if (within) {
      holds++;
      inner = Math.max(inner, s.depth);
    }
    const at = ends ? t.x[k] + t.n[k] : t.x[k],
      own = (t.flags[k] & (ends ? RunFlag.ends : RunFlag.begins)) !== 0,
      far = Math.abs(at - column);
    if (!own) continue;
    if (nested && ends && far < 1.01) edge = Math.max(edge, s.depth);
    else if (!nested && far < near) {
      near = far;
      edge = s.depth;
    }
  }
  if (nested) return edge >= 0 ? edge : inner;
  return edge >= 0 ? edge : holds === 1 ? inner : -1;
}

/** Segment is an arrow on the screen. Its coordinates are CSS pixels. */
export interface Segment {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  count: number;
  kind: string;
  arrow: Arrow;
}

/**
 * End returns the vertical position of an end of a link in its row, in CSS pixels from the top of
 * the row. It returns null if the position is unknown. ends is set if the end of the link is at the
 * end of its span.
 */
export type End = (row: Row, track: number, time: bigint, ends: boolean) => number | null;

/**
 * minSlant is the smallest horizontal extent of a slanted bundle, as a share of the width. Shorter
 * bundles are drawn as vertical lines. The links of a bundle begin within about half of its extent,
 * so the slant of a short bundle would not show the direction of its links.
 */
const minSlant = 1 / 32;

/**
 * segments returns the arrows in the visible part, with their positions on the screen. It leaves
 * out arrows with an end in a hidden row. A bundle goes from the middle of a row to the middle of
 * another.
 */
export function segments(
  arrows: readonly Arrow[],
  rows: readonly Row[],
  rowOf: ReadonlyMap<number, number>,
  x: (t: bigint) => number,
  scroll: number,
  width: number,
  height: number,
  end: End = () => null,
): Segment[] {
  const out: Segment[] = [];
  for (const a of arrows) {
    const i = rowOf.get(a.link.from.track),
      j = rowOf.get(a.link.to.track);
    if (i === undefined || j === undefined) continue;
    const p = rows[i],
      q = rows[j];
    if (Math.max(p.y + p.height, q.y + q.height) < scroll || Math.min(p.y, q.y) > scroll + height) continue;
    let x0 = x(a.start),
      x1 = x(a.end);
    if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > width) continue;
    const one = a.link.count === 1;
    if (!one && Math.abs(x1 - x0) < width * minSlant) x0 = x1 = (x0 + x1) / 2;
    const y0 =
      p.y -
      scroll +
      ((one ? end(p, a.link.from.track, departureTime(a.link), atEnd(a.link, true)) : null) ?? p.height / 2);
    const y1 = q.y - scroll + ((one ? end(q, a.link.to.track, a.end, atEnd(a.link, false)) : null) ?? q.height / 2);
    out.push({ x0, y0, x1, y1, count: a.link.count, kind: a.link.kind, arrow: a });
  }
  return out;
}

/** distanceTo returns the distance of a point from a segment, in CSS pixels. */
function distanceTo(s: Segment, x: number, y: number): number {
  const dx = s.x1 - s.x0,
    dy = s.y1 - s.y0,
    n = dx * dx + dy * dy;
  const f = n === 0 ? 0 : Math.max(0, Math.min(1, ((x - s.x0) * dx + (y - s.y0) * dy) / n));
  return Math.hypot(x - s.x0 - f * dx, y - s.y0 - f * dy);
}

/** nearestSegment returns the segment that is nearest to a point, or null if none is nearer than `reach` pixels. */
export function nearestSegment(list: readonly Segment[], x: number, y: number, reach: number): Segment | null {
  let best: Segment | null = null,
    least = reach;
  for (const s of list) {
    const d = distanceTo(s, x, y);
    if (d < least) {
      least = d;
      best = s;
    }
  }
  return best;
}

/**
 * arrowReach is the largest distance, in pixels, from which the pointer selects an arrow. Over a span,
 * the distance must be less than reachOnSpan or, if no other arrow is near, less than reachIfSingle. A span
 * takes precedence if more than `crowd` arrows pass within `crowded` pixels, or if the span is
 * smaller than `small` pixels, because the arrows would otherwise cover it.
 */
const arrowReach = 5,
  reachOnSpan = 2,
  reachIfSingle = 4,
  crowd = 2,
  crowded = 12,
  small = 10;

/**
 * arrowAt returns the arrow that a click at a point selects, or null. over is the size of the span
 * or instant at that point, or null.
 */
export function arrowAt(
  list: readonly Segment[],
  x: number,
  y: number,
  over: { w: number; h: number } | null,
): Segment | null {
  if (over === null) return nearestSegment(list, x, y, arrowReach);
  if (Math.max(over.w, over.h) < small) return null;
  const best = nearestSegment(list, x, y, reachIfSingle);
  if (best === null) return null;
  let n = 0;
  for (const s of list) if (distanceTo(s, x, y) < crowded && ++n > crowd) return null;
  return n === 1 || distanceTo(best, x, y) < reachOnSpan ? best : null;
}

/**
 * rasterArrows draws segments with arrow heads into a bitmap. The width of a bundle grows with the
 * logarithm of its count. Thousands of long lines take a few milliseconds. Without a graphics card,
 * a canvas would take a tenth of a second for them.
 */
export function rasterArrows(b: Bitmap, list: readonly Segment[], color: number, dpr: number): void {
  arrowRaster(b, list, color, dpr)(Infinity);
}

/**
 * arrowRaster does the work of rasterArrows in pieces. Each call of the function that it returns
 * draws until the given time, and reports whether all arrows are drawn.
 */
export function arrowRaster(
  b: Bitmap,
  list: readonly Segment[],
  color: number,
  dpr: number,
): (until: number) => boolean {
  // the more arrows there are, the more transparent they are, so that spans and other arrows stay
  // visible
  const most = list.length > 600 ? 90 : list.length > 150 ? 130 : 215,
    dense = arrowDensity(list, b.width / dpr, b.height / dpr);
  let next = 0;
  return (until) => {
    for (; next < list.length; next++) {
      if (next % 32 === 0 && performance.now() > until) return false;
      const s = list[next],
        layers = dense(s),
        alpha = Math.min(most, layerOpacity(layers));
      const width = Math.max(
        1,
        Math.round(dpr * (s.count > 1 ? Math.min(list.length > 600 ? 2 : 6, 1.5 + 1.2 * Math.log10(s.count)) : 1)),
      );
      blendLine(b, s.x0 * dpr, s.y0 * dpr, s.x1 * dpr, s.y1 * dpr, color, alpha, width);
      blendHead(
        b,
        s.x0 * dpr,
        s.y0 * dpr,
        s.x1 * dpr,
        s.y1 * dpr,
        color,
        Math.min(255, layers > 1 ? alpha : alpha + 40),
        (layers > 1 ? 4 : 5 + width) * dpr,
      );
    }
    return true;
  };
}

/** densityCell is the side, in CSS pixels, of the squares in which arrowDensity counts arrows. */
const densityCell = 16;

/**
 * arrowDensity returns a function that estimates how many arrows lie on top of each other along a
 * segment. To do so, it counts the arrows in each square of the screen.
 */
export function arrowDensity(list: readonly Segment[], width: number, height: number): (s: Segment) => number {
  const across = Math.max(1, Math.ceil(width / densityCell)),
    down = Math.max(1, Math.ceil(height / densityCell)),
    n = new Float64Array(across * down);
  // count only the visible part of a segment
  const walk = (s: Segment, visit: (at: number, length: number) => void): void => {
    const length = Math.hypot(s.x1 - s.x0, s.y1 - s.y0),
      steps = Math.min(512, Math.max(1, Math.ceil(length / densityCell)));
    for (let k = 0; k < steps; k++) {
      const f = (k + 0.5) / steps,
        x = Math.floor((s.x0 + (s.x1 - s.x0) * f) / densityCell),
        y = Math.floor((s.y0 + (s.y1 - s.y0) * f) / densityCell);
      if (x >= 0 && x < across && y >= 0 && y < down) visit(y * across + x, length / steps);
    }
  };
  for (const s of list)
    walk(s, (at, length) => {
      n[at] += length / (densityCell * densityCell);
    });
  return (s) => {
    let sum = 0,
      cells = 0;
    walk(s, (at) => {
      sum += n[at];
      cells++;
    });
    return cells > 0 ? sum / cells : 0;
  };
}

/**
 * layerOpacity returns the opacity, from 20 to 255, for arrows of which `layers` lie on top of each
 * other. Together, they let half of the background show through.
 */
export function layerOpacity(layers: number): number {
  return Math.max(20, Math.round(255 * (1 - 0.5 ** (1 / Math.max(0.3, layers)))));
}

/** blendLine blends a line of some width into a bitmap, with smooth edges. */
function blendLine(
  b: Bitmap,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  color: number,
  alpha: number,
  width: number,
): void {
  const steep = Math.abs(y1 - y0) > Math.abs(x1 - x0);
  // go one pixel at a time along u, the longer axis; v changes by less than one pixel
  let u0 = steep ? y0 : x0,
    v0 = steep ? x0 : y0,
    u1 = steep ? y1 : x1,
    v1 = steep ? x1 : y1;
  if (u0 > u1) {
    [u0, u1] = [u1, u0];
    [v0, v1] = [v1, v0];
  }
  const slope = u1 > u0 ? (v1 - v0) / (u1 - u0) : 0;
  const most = steep ? b.height : b.width,
    across = steep ? b.width : b.height;
  const begin = Math.max(0, Math.round(u0)),
    end = Math.min(most - 1, Math.round(u1));
  const du = steep ? b.width : 1,
    dv = steep ? 1 : b.width;
  const p = b.pixels,
    c0 = color & 255,
    c1 = (color >>> 8) & 255,
    c2 = (color >>> 16) & 255;
  for (let u = begin; u <= end; u++) {
    const v = v0 + (u - u0) * slope - (width - 1) / 2,
      i = Math.floor(v),
      f = v - i;
    for (let k = 0; k <= width; k++) {
      const y = i + k;
      if (y < 0 || y >= across) continue;
      const a = k === 0 ? alpha * (1 - f) : k === width ? alpha * f : alpha;
      if (a < 4) continue;
      // for values below 2^16, this has the same result as blend, without a division
      const o = u * du + y * dv,
        q = p[o],
        m = a | 0,
        n = 255 - m;
      p[o] =
        (0xff000000 |
          ((Math.imul(c2 * m + ((q >>> 16) & 255) * n + 127, 32897) >>> 23) << 16) |
          ((Math.imul(c1 * m + ((q >>> 8) & 255) * n + 127, 32897) >>> 23) << 8) |
          (Math.imul(c0 * m + (q & 255) * n + 127, 32897) >>> 23)) >>>
        0;
    }
  }
}

/** blendHead blends the triangle at the tip of an arrow into a bitmap. */
function blendHead(
  b: Bitmap,
  x0: number,
  y0: number,
  x1: number,
  y1: number,
  color: number,
  alpha: number,
  size: number,
): void {
  const n = Math.hypot(x1 - x0, y1 - y0);
  if (n < 1) return;
  const dx = (x1 - x0) / n,
    dy = (y1 - y0) / n;
  for (let y = Math.max(0, Math.floor(y1 - size)); y <= Math.min(b.height - 1, Math.ceil(y1 + size)); y++) {
    for (let x = Math.max(0, Math.floor(x1 - size)); x <= Math.min(b.width - 1, Math.ceil(x1 + size)); x++) {
      const along = (x1 - x) * dx + (y1 - y) * dy,
        beside = Math.abs((x1 - x) * dy - (y1 - y) * dx);
      if (along < 0 || along > size || beside > along * 0.42) continue;
      const o = y * b.width + x;
      b.pixels[o] = blend(color, b.pixels[o], alpha);
    }
  }
}

/** drawSingleEnd marks the place of a message of which only one end was recorded. */
export function drawSingleEnd(g: CanvasRenderingContext2D, x: number, y: number, color: string): void {
  g.save();
  g.strokeStyle = color;
  g.fillStyle = color;
  g.lineWidth = 2.5;
  g.beginPath();
  g.arc(x, y, 4, 0, 2 * Math.PI);
  g.fill();
  g.setLineDash([4, 3]);
  g.beginPath();
  g.moveTo(x, y);
  g.lineTo(x + 26, y);
  g.stroke();
  g.setLineDash([]);
  g.beginPath();
  g.moveTo(x + 28, y - 5);
  g.lineTo(x + 38, y + 5);
  g.moveTo(x + 38, y - 5);
  g.lineTo(x + 28, y + 5);
  g.stroke();
  g.restore();
}

/** drawArrow draws a thick arrow. It marks the link under the pointer, or a selected link. */
export function drawArrow(g: CanvasRenderingContext2D, s: Segment, color: string): void {
  const a = Math.atan2(s.y1 - s.y0, s.x1 - s.x0),
    size = 10;
  g.save();
  g.strokeStyle = color;
  g.fillStyle = color;
  g.lineWidth = 2.5;
  g.beginPath();
  g.moveTo(s.x0, s.y0);
  g.lineTo(s.x1, s.y1);
  g.stroke();
  g.beginPath();
  g.moveTo(s.x1, s.y1);
  g.lineTo(s.x1 - size * Math.cos(a - 0.4), s.y1 - size * Math.sin(a - 0.4));
  g.lineTo(s.x1 - size * Math.cos(a + 0.4), s.y1 - size * Math.sin(a + 0.4));
  g.closePath();
  g.fill();
  g.restore();
}
