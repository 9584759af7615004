// Tiles: the server's answers for a window of time, as typed arrays that share a buffer.

/** StripKind maps the kinds of strips to their numbers. */
export const StripKind = { spans: 0, instants: 1, curve: 2, amounts: 3 } as const;
/** RunFlag maps the flags of a run to their bits. */
export const RunFlag = { single: 1, begins: 2, ends: 4 } as const;
/** noRegion is the region number of a run without a region. */
export const noRegion = 0xffffffff;

/** Strip is one line of a track. first and count select its runs or, for curves and amounts, its cells. */
export interface Strip {
  track: number;
  depth: number;
  kind: number;
  first: number;
  count: number;
  uniform: boolean;
  /** offsets is set for a lane of claims that have an offset. */
  offsets: boolean;
}

/** Tile holds a decoded tile. All arrays share the buffer of the answer. */
export interface Tile {
  width: number;
  strips: Strip[];
  bytes: number;
  region: Uint32Array;
  x: Uint16Array;
  n: Uint16Array;
  cover: Uint8Array;
  share: Uint8Array;
  height: Uint8Array;
  offset: Uint8Array;
  flags: Uint8Array;
  cellX: Uint16Array;
  min: Float32Array;
  max: Float32Array;
  start: Float32Array;
  end: Float32Array;
}

/** decodeTile decodes and checks a tile. If the tile is invalid, it throws an Error with the reason. */
export function decodeTile(buffer: ArrayBuffer): Tile {
  const view = new DataView(buffer);
  if (buffer.byteLength < 24) throw new Error(`tile of ${buffer.byteLength} bytes, expected at least 24`);
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, 8));
  if (magic !== "weftile2") throw new Error(`tile begins with ${JSON.stringify(magic)}, expected "weftile2"`);
  const s = view.getUint32(8, true),
    n = view.getUint32(12, true),
    m = view.getUint32(16, true),
    width = view.getUint32(20, true);
  const pad = (v: number): number => Math.ceil(v / 8) * 8;
  const runs = 24 + 16 * s,
    cells = pad(runs + 13 * n),
    values = cells + pad(2 * m),
    size = values + 16 * m;
  if (buffer.byteLength < size) throw new Error(`tile of ${buffer.byteLength} bytes, expected ${size}`);
  const height = new Uint8Array(buffer, runs + 10 * n, n);
  const strips: Strip[] = [];
  for (let i = 0; i < s; i++) {
    const o = 24 + 16 * i;
    const strip: Strip = {
      track: view.getUint32(o, true),
      depth: view.getUint16(o + 4, true),
      kind: view.getUint8(o + 6),
      first: view.getUint32(o + 8, true),
      count: view.getUint32(o + 12, true),
      uniform: true,
      offsets: view.getUint8(o + 7) === 1,
    };
    if (strip.first + strip.count > (strip.kind >= StripKind.curve ? m : n))
      throw new Error(
        `strip ${i} ends at ${strip.first + strip.count}, expected at most ${strip.kind >= StripKind.curve ? m : n}`,
      );
    if (strip.kind === StripKind.spans)
      for (let k = strip.first; k < strip.first + strip.count; k++)
        if (height[k] !== 255) {
          strip.uniform = false;
          break;
        }
    strips.push(strip);
  }
  return {
    width,
    strips,
    bytes: buffer.byteLength,
    region: new Uint32Array(buffer, runs, n),
    x: new Uint16Array(buffer, runs + 4 * n, n),
    n: new Uint16Array(buffer, runs + 6 * n, n),
    cover: new Uint8Array(buffer, runs + 8 * n, n),
    share: new Uint8Array(buffer, runs + 9 * n, n),
    height,
    offset: new Uint8Array(buffer, runs + 11 * n, n),
    flags: new Uint8Array(buffer, runs + 12 * n, n),
    cellX: new Uint16Array(buffer, cells, m),
    min: new Float32Array(buffer, values, m),
    max: new Float32Array(buffer, values + 4 * m, m),
    start: new Float32Array(buffer, values + 8 * m, m),
    end: new Float32Array(buffer, values + 12 * m, m),
  };
}

/**
 * runAt returns the index of the run of a strip that covers a column. If there is none, it returns
 * the nearest run at a distance of up to `reach` columns, or -1.
 */
export function runAt(t: Tile, s: Strip, column: number, reach = 0): number {
  let lo = s.first,
    hi = s.first + s.count;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (t.x[mid] + t.n[mid] <= column) lo = mid + 1;
    else hi = mid;
  }
  const end = s.first + s.count;
  if (lo < end && t.x[lo] <= column) return lo;
  const after = lo < end ? t.x[lo] - column : Infinity,
    before = lo > s.first ? column - (t.x[lo - 1] + t.n[lo - 1]) + 1 : Infinity;
  if (Math.min(after, before) > reach) return -1;
  return after < before ? lo : lo - 1;
}
