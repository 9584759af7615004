// Encodes tiles of synthetic traces.
import type { Span } from "./mocktraces";

export interface Run {
  region: number;
  x: number;
  n: number;
  cover: number;
  share: number;
  height: number;
  flags: number;
}
export interface Cell {
  x: number;
  min: number;
  max: number;
  first: number;
  last: number;
}
export interface Strip {
  track: number;
  depth: number;
  kind: number;
  runs: Run[];
  cells: Cell[];
}

export function encode(strips: Strip[], width: number): Buffer {
  const n = strips.reduce((a, s) => a + s.runs.length, 0),
    m = strips.reduce((a, s) => a + s.cells.length, 0);
  const pad = (x: number): number => (x + 7) & ~7;
  const o0 = 24 + 16 * strips.length,
    oc = pad(o0 + 4 * n + 2 * n + 2 * n + 5 * n),
    of = oc + pad(2 * m);
  const b = Buffer.alloc(of + 16 * m);
  b.write("weftile2", 0, "latin1");
  b.writeUInt32LE(strips.length, 8);
  b.writeUInt32LE(n, 12);
  b.writeUInt32LE(m, 16);
  b.writeUInt32LE(width, 20);
  let i = 0,
    c = 0;
  strips.forEach((s, k) => {
    const o = 24 + 16 * k,
      curve = s.kind > 1;
    b.writeUInt32LE(s.track, o);
    b.writeUInt16LE(s.depth, o + 4);
    b.writeUInt8(s.kind, o + 6);
    b.writeUInt32LE(curve ? c : i, o + 8);
    b.writeUInt32LE(curve ? s.cells.length : s.runs.length, o + 12);
    for (const r of s.runs) {
      b.writeUInt32LE(r.region >>> 0, o0 + 4 * i);
      b.writeUInt16LE(r.x, o0 + 4 * n + 2 * i);
      b.writeUInt16LE(r.n, o0 + 6 * n + 2 * i);
      b[o0 + 8 * n + i] = r.cover;
      b[o0 + 9 * n + i] = r.share;
      b[o0 + 10 * n + i] = r.height;
      b[o0 + 12 * n + i] = r.flags;
      i++;
    }
    for (const x of s.cells) {
      b.writeUInt16LE(x.x, oc + 2 * c);
      b.writeFloatLE(x.min, of + 4 * c);
      b.writeFloatLE(x.max, of + 4 * m + 4 * c);
      b.writeFloatLE(x.first, of + 8 * m + 4 * c);
      b.writeFloatLE(x.last, of + 12 * m + 4 * c);
      c++;
    }
  });
  return b;
}

export function spanRuns(spans: Span[], from: number, to: number, width: number): Run[] {
  const d = (to - from) / width;
  const cover = new Float64Array(width);
  const best = new Float64Array(width);
  const region = new Int32Array(width).fill(-1);
  const single: (Run & { c0: number })[] = [];
  const out: Run[] = [];
  let lo = 0,
    hi = spans.length;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (spans[m].end <= from) lo = m + 1;
    else hi = m;
  }
  for (let i = lo; i < spans.length && spans[i].start < to; i++) {
    const s = spans[i];
    const a = Math.max(0, (s.start - from) / d),
      z = Math.min(width, (s.end - from) / d);
    const c0 = Math.floor(a),
      c1 = Math.max(c0 + 1, Math.ceil(z));
    if (z - a >= 2) {
      const i0 = Math.ceil(a),
        i1 = Math.max(i0 + 1, Math.floor(z));
      single.push({
        region: s.region,
        x: i0,
        n: Math.min(width, i1) - i0,
        cover: 255,
        share: 255,
        height: s.height,
        flags: 1 | (s.start >= from ? 2 : 0) | (s.end <= to ? 4 : 0),
        c0,
      });
      if (i0 > c0) {
        const f = i0 - a;
        cover[c0] += f;
        if (f > best[c0]) {
          best[c0] = f;
          region[c0] = s.region;
        }
      }
      if (i1 < c1 && i1 < width) {
        const f = z - i1;
        cover[i1] += f;
        if (f > best[i1]) {
          best[i1] = f;
          region[i1] = s.region;
        }
      }
    } else
      for (let c = c0; c < Math.min(width, c1); c++) {
        const f = Math.max(0.004, Math.min(z, c + 1) - Math.max(a, c));
        cover[c] += f;
        if (f > best[c]) {
          best[c] = f;
          region[c] = s.region;
        }
      }
  }
  let k = 0;
  for (let c = 0; c < width;) {
    if (k < single.length && single[k].x === c) {
      const s = single[k++];
      out.push(s);
      c += Math.max(1, s.n);
      continue;
    }
    if (region[c] >= 0)
      out.push({
        region: region[c],
        x: c,
        n: 1,
        cover: Math.min(255, Math.round(255 * cover[c])),
        share: Math.min(255, Math.round(255 * best[c])),
        height: 255,
        flags: 0,
      });
    c++;
  }
  return out;
}
