// The rasteriser turns the runs and cells of a tile into pixels. Its functions change nothing but the
// bitmap. The Go package draw/raster computes the same pixels, and a test compares both.
import { type Strip, type Tile, noRegion, RunFlag } from "./tile";

/** Bitmap is an image. A pixel is 0xAABBGGRR, as in ImageData on a little-endian machine. */
export interface Bitmap {
  width: number;
  height: number;
  pixels: Uint32Array;
}
/** Rect is a rectangle of whole pixels. */
export interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}
/** Mapping maps column c of a tile to the pixel floor(c*scale+offset) of a rectangle. */
export interface Mapping {
  scale: number;
  offset: number;
}
/** oneToOne maps column c to pixel c. */
export const oneToOne: Mapping = { scale: 1, offset: 0 };

/** pack converts "#rrggbb" to an opaque pixel. */
export function pack(hex: string): number {
  const v = parseInt(hex.slice(1), 16);
  return (0xff000000 | ((v & 0xff) << 16) | (v & 0xff00) | (v >> 16)) >>> 0;
}

/**
 * blend returns the colour that results if colour f is drawn over colour b with the opacity a, from
 * 0 to 255. It rounds each channel to the nearest integer.
 */
export function blend(f: number, b: number, a: number): number {
  const i = 255 - a;
  const r = (((f & 255) * a + (b & 255) * i + 127) / 255) | 0;
  const g = ((((f >>> 8) & 255) * a + ((b >>> 8) & 255) * i + 127) / 255) | 0;
  const c = ((((f >>> 16) & 255) * a + ((b >>> 16) & 255) * i + 127) / 255) | 0;
  return (0xff000000 | (c << 16) | (g << 8) | r) >>> 0;
}

/** fill fills a rectangle, clipped to the bitmap. */
export function fill(b: Bitmap, r: Rect, pixel: number): void {
  const x0 = Math.max(0, r.x),
    x1 = Math.min(b.width, r.x + r.w),
    y1 = Math.min(b.height, r.y + r.h);
  if (x0 >= x1) return;
  for (let y = Math.max(0, r.y); y < y1; y++) b.pixels.fill(pixel, y * b.width + x0, y * b.width + x1);
}

/**
 * block fills a rectangle that lies inside the bitmap. It fills narrow rectangles pixel by pixel,
 * because a call of fill for each line would cost more.
 */
export function block(b: Bitmap, x0: number, x1: number, y0: number, y1: number, pixel: number): void {
  const p = b.pixels;
  if (x1 - x0 > 8) {
    for (let y = y0; y < y1; y++) p.fill(pixel, y * b.width + x0, y * b.width + x1);
    return;
  }
  for (let y = y0, o = y0 * b.width; y < y1; y++, o += b.width) for (let x = x0; x < x1; x++) p[o + x] = pixel;
}

/** firstVisible returns the first run of a strip whose pixels extend beyond the left edge of the rectangle. */
function firstVisible(x: Uint16Array, n: Uint16Array | null, s: Strip, m: Mapping): number {
  let lo = s.first,
    hi = s.first + s.count;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (Math.floor((x[mid] + (n ? n[mid] : 1)) * m.scale + m.offset) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/**
 * drawSpans draws the runs of a strip into a rectangle that already has the background. colors
 * holds a pixel for each region, and other is the pixel for runs without a region. A run that is
 * lower than the strip is at least `least` pixels high.
 */
export function drawSpans(
  b: Bitmap,
  t: Tile,
  s: Strip,
  r: Rect,
  colors: Uint32Array,
  other: number,
  background: number,
  m: Mapping = oneToOne,
  least = 1,
): void {
  const top = Math.max(0, r.y),
    bottom = Math.min(b.height, r.y + r.h),
    left = Math.max(0, r.x),
    right = Math.min(b.width, r.x + r.w);
  if (top >= bottom || left >= right) return;
  const end = s.first + s.count;
  for (let i = firstVisible(t.x, t.n, s, m); i < end; i++) {
    const px = Math.floor(t.x[i] * m.scale + m.offset);
    if (px >= r.w) break;
    let pn = Math.max(1, Math.floor((t.x[i] + t.n[i]) * m.scale + m.offset) - px);
    const flags = t.flags[i];
    if ((flags & RunFlag.ends) !== 0 && pn >= 4) pn--;
    const region = t.region[i];
    const f = region === noRegion || region >= colors.length ? other : colors[region];
    const a = (flags & RunFlag.single) !== 0 ? 255 : 128 + (t.cover[i] >> 1);
    const pixel = a === 255 ? f : blend(f, background, a);
    const x0 = Math.max(left, r.x + px),
      x1 = Math.min(right, r.x + px + pn);
    if (x0 >= x1) continue;
    if (s.uniform) {
      const o = top * b.width;
      if (x1 - x0 === 1) b.pixels[o + x0] = pixel;
      else b.pixels.fill(pixel, o + x0, o + x1);
      continue;
    }
    const hh = Math.min(r.h, Math.max(least, Math.floor((r.h * t.height[i] + 127) / 255)));
    block(b, x0, x1, Math.max(top, r.y + r.h - hh), bottom, pixel);
  }
  // if all runs have the same height, all lines are the same and can be copied from the first
  if (s.uniform)
    for (let y = top + 1; y < bottom; y++)
      b.pixels.copyWithin(y * b.width + left, top * b.width + left, top * b.width + right);
}

/** markAlpha is the opacity of instants, from 0 to 255. */
export const markAlpha = 200;

/** drawInstants draws a line of full height for each run of a strip of instants. */
export function drawInstants(b: Bitmap, t: Tile, s: Strip, r: Rect, mark: number, m: Mapping = oneToOne): void {
  const top = Math.max(0, r.y),
    bottom = Math.min(b.height, r.y + r.h);
  const end = s.first + s.count;
  for (let i = firstVisible(t.x, t.n, s, m); i < end; i++) {
    const px = Math.floor(t.x[i] * m.scale + m.offset);
    if (px >= r.w) break;
    const x = r.x + px;
    if (px < 0 || x < 0 || x >= b.width) continue;
    for (let y = top; y < bottom; y++) {
      const o = y * b.width + x;
      b.pixels[o] = blend(mark, b.pixels[o], markAlpha);
    }
  }
}

/** Scale holds the values at the lower and the upper edge of the rectangle of a curve. */
export interface Scale {
  low: number;
  high: number;
}

/**
 * rowOf returns the row of pixels for a value. The value low is at the bottom, and high at the top.
 * If both are equal, the result is the top.
 */
export function rowOf(v: number, r: Rect, s: Scale): number {
  if (s.high === s.low) return r.y;
  const y = r.y + r.h - 1 - Math.floor(((v - s.low) / (s.high - s.low)) * (r.h - 1) + 0.5);
  return Math.max(r.y, Math.min(r.y + r.h - 1, y));
}

/**
 * drawCurve draws the pixels from the smallest to the largest value of each cell, and joins them to
 * the next cell. If the curve is filled, the pixels extend to the bottom.
 */
export function drawCurve(
  b: Bitmap,
  t: Tile,
  s: Strip,
  r: Rect,
  color: number,
  scale: Scale,
  filled: boolean,
  m: Mapping = oneToOne,
): void {
  const end = s.first + s.count;
  for (let i = firstVisible(t.cellX, null, s, m); i < end; i++) {
    const px = Math.floor(t.cellX[i] * m.scale + m.offset);
    if (px >= r.w) break;
    const pn = Math.max(1, Math.floor((t.cellX[i] + 1) * m.scale + m.offset) - px);
    let ya = rowOf(t.max[i], r, scale),
      yb = filled ? r.y + r.h - 1 : rowOf(t.min[i], r, scale);
    if (!filled && i + 1 < end && t.cellX[i + 1] === t.cellX[i] + 1) {
      const y = rowOf(t.start[i + 1], r, scale);
      ya = Math.min(ya, y);
      yb = Math.max(yb, y);
    }
    const x0 = Math.max(0, r.x, r.x + px),
      x1 = Math.min(b.width, r.x + r.w, r.x + px + pn);
    if (x0 >= x1) continue;
    block(b, x0, x1, Math.max(0, ya), Math.min(b.height, yb + 1), color);
  }
}
