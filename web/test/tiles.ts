// Writes tiles byte by byte, as the contract of the API lays them out, for the tests.

/** StripSpec is a strip: runs are [region, x, n, cover, share, height, flags], cells [x, min, max, first, last]. */
export interface StripSpec {
  track: number;
  depth: number;
  kind: number;
  runs?: number[][];
  offsets?: boolean;
  cells?: number[][];
}

/** makeTile lays out a tile. */
export function makeTile(width: number, strips: StripSpec[]): ArrayBuffer {
  const runs = strips.flatMap((s) => s.runs ?? []),
    cells = strips.flatMap((s) => s.cells ?? []);
  const out: number[] = [..."weftile2"].map((c) => c.charCodeAt(0));
  const u32 = (v: number): void => {
    out.push(v & 255, (v >>> 8) & 255, (v >>> 16) & 255, v >>> 24);
  };
  const u16 = (v: number): void => {
    out.push(v & 255, v >>> 8);
  };
  const pad = (): void => {
    while (out.length % 8 !== 0) out.push(0);
  };
  const f32 = (v: number): void => {
    out.push(...new Uint8Array(new Float32Array([v]).buffer));
  };
  u32(strips.length);
  u32(runs.length);
  u32(cells.length);
  u32(width);
  let r = 0,
    c = 0;
  for (const s of strips) {
    u32(s.track);
    u16(s.depth);
    out.push(s.kind, s.offsets ? 1 : 0);
    if (s.kind >= 2) {
      u32(c);
      u32(s.cells?.length ?? 0);
      c += s.cells?.length ?? 0;
    } else {
      u32(r);
      u32(s.runs?.length ?? 0);
      r += s.runs?.length ?? 0;
    }
  }
  runs.forEach((x) => u32(x[0]));
  runs.forEach((x) => u16(x[1]));
  runs.forEach((x) => u16(x[2]));
  // the offset, which tests seldom need, comes last
  for (const k of [3, 4, 5, 7, 6]) runs.forEach((x) => out.push(x[k] ?? 0));
  pad();
  cells.forEach((x) => u16(x[0]));
  pad();
  for (const k of [1, 2, 3, 4]) cells.forEach((x) => f32(x[k]));
  return new Uint8Array(out).buffer;
}
