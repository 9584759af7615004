// A small stand-in for the server: synthetic traces, the endpoints of the viewer's API by brute force.
// For looking at the page and for its tests alone; it measures nothing and is never shipped.
import { createServer, type Server, type IncomingMessage, type ServerResponse } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

interface Span {
  start: number;
  end: number;
  region: number;
  depth: number;
  height: number;
}
interface Link {
  id: string;
  kind: string;
  name: string;
  from: { track: number; time: number };
  to: { track: number; time: number };
  bytes: number;
  tag: string;
  communicator: string;
  count: number;
  alone?: boolean;
}
interface Track {
  kind: string;
  name: string;
  sort: string;
  id: string;
  group: number;
  parent: number;
  depth: number;
  spans: Span[][];
  instants: number[];
  unit: string;
  capacity: number;
  low: number;
  high: number;
  style: string;
  values: [number, number][];
}
export interface MockTrace {
  id: string;
  name: string;
  state: string;
  progress: number;
  error: string;
  groups: { name: string; kind: string; parent: number }[];
  tracks: Track[];
  regions: { name: string; group: string; color: number }[];
  links: Link[];
  length: number;
  notes: unknown[];
  origin: string;
}

const light = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#f0e442",
  "#7a5195",
  "#4d7c0f",
  "#8c6d46",
  "#3b7ea1",
  "#b04a5a",
];
const dark = [
  "#3d9bd6",
  "#f0b03c",
  "#2dbd93",
  "#dc93bb",
  "#7cc7ef",
  "#ee7f33",
  "#f3e96b",
  "#a583c4",
  "#86b84a",
  "#b59a74",
  "#6fb1d1",
  "#d97f8d",
];

function random(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 4294967296;
  };
}

/** synthetic makes a trace of nested calls, ring messages, counters and claims. */
export function synthetic(id: string, name: string, processes: number, iterations: number, seed = 1): MockTrace {
  const r = random(seed);
  const regions = [
    "main",
    "solve",
    "compute",
    "kernel_a",
    "kernel_b",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Allreduce",
    "write_output",
    "<img src=x onerror=alert(1)>",
    "\u202Eevil name",
    "job 1",
    "job 2",
    "job 3",
  ].map((n, i) => ({
    name: n,
    group: i > 4 && i < 8 ? "MPI" : i > 10 ? "jobs" : "application",
    color: i % light.length,
  }));
  const groups: MockTrace["groups"] = [{ name: "cluster", kind: "machine", parent: -1 }];
  const nodes = Math.max(1, Math.ceil(processes / 16));
  for (let n = 0; n < nodes; n++) groups.push({ name: `node ${n}`, kind: "node", parent: 0 });
  const tracks: Track[] = [];
  const links: Link[] = [];
  const sends: number[][] = [];
  let length = 0;
  for (let p = 0; p < processes; p++) {
    const d: Span[][] = [[], [], [], []];
    const put = (depth: number, start: number, end: number, region: number): void => {
      d[depth].push({ start, end, region, depth, height: 255 });
    };
    let t = 1000 + p * 10;
    const t0 = t;
    const instants: number[] = [];
    const mine: number[] = [];
    for (let i = 0; i < iterations; i++) {
      const s = t;
      const slow = p === 7 ? 2.2 : 1;
      const c = Math.floor((40000 + r() * 20000) * slow);
      put(2, t, t + c, 2);
      const k = Math.floor(c * (0.3 + r() * 0.3));
      put(3, t + 500, t + k, 3);
      if (r() < 0.8) put(3, t + k + 100, t + c - 300, 4);
      t += c + 200;
      put(2, t, t + 4000, 5);
      mine.push(t + 2000);
      t += 4100;
      const wait = Math.floor(3000 + r() * 9000);
      put(2, t, t + wait, 6);
      t += wait + 100;
      if (i % 5 === 4) {
        const target = Math.max(t + 1000, (i + 1) * 118000);
        put(2, t, target, 7);
        t = target + 50;
        instants.push(t);
      }
      if (i % 20 === 19) {
        put(2, t, t + 30000, i % 40 === 19 ? 9 : 10);
        t += 30100;
      }
      put(1, s, t, 1);
      t += Math.floor(r() * 2000);
    }
    put(1, t, t + 50000, 8);
    t += 50000;
    put(0, t0, t + 10, 0);
    length = Math.max(length, t + 10);
    sends.push(mine);
    tracks.push({
      kind: "location",
      name: processes > 99 ? `rank ${p}` : `process ${p}`,
      sort: "process",
      id: String(p),
      group: 1 + Math.floor(p / 16),
      parent: -1,
      depth: 4,
      spans: d,
      instants,
      unit: "",
      capacity: 0,
      low: 0,
      high: 0,
      style: "",
      values: [],
    });
  }
  for (let p = 0; p < processes; p++) {
    const q = (p + 1) % processes;
    const recvs = tracks[q].spans[2].filter((s) => s.region === 6);
    sends[p].forEach((t, i) => {
      const e = recvs[i];
      if (e)
        links.push({
          id: `${p}.${i}`,
          kind: "message",
          name: "",
          from: { track: p, time: t },
          to: { track: q, time: Math.max(t + 500, e.end - 100) },
          bytes: 1024 << (i % 6),
          tag: String(i % 3),
          communicator: "MPI_COMM_WORLD",
          count: 1,
        });
    });
  }
  // one that nobody received, sent by the second process in its first MPI_Send
  const lost = tracks[1]?.spans[2].find((s) => s.region === 5);
  if (lost)
    links.push({
      id: "lost",
      kind: "message",
      name: "",
      from: { track: 1, time: lost.start + 1500 },
      to: { track: 0, time: lost.start + 1500 },
      bytes: 77,
      tag: "9",
      communicator: "MPI_COMM_WORLD",
      count: 1,
      alone: true,
    });
  const locations = tracks.length;
  for (let p = 0; p < Math.min(4, processes); p++) {
    const values: [number, number][] = [];
    let v = 100;
    for (let t = 0; t < length; t += 20000) {
      v = Math.max(0, v + (r() - 0.48) * 30);
      values.push([t, v]);
    }
    tracks.push({
      kind: "counter",
      name: p === 3 ? "power" : "memory",
      sort: "counter",
      id: `m${p}`,
      group: p === 3 ? -1 : 1,
      parent: p === 3 ? -1 : p,
      depth: 0,
      spans: [],
      instants: [],
      unit: p === 3 ? "W" : "MiB",
      capacity: 0,
      low: 0,
      high: Math.max(...values.map((x) => x[1])),
      style: p % 2 ? "steps" : "smooth",
      values,
    });
  }
  for (let q = 0; q < 2; q++) {
    const lanes: Span[][] = [[], [], []];
    lanes.forEach((lane, l) => {
      let t = l * 30000;
      while (t < length) {
        const n = Math.floor(20000 + r() * 150000);
        lane.push({
          start: t,
          end: Math.min(length, t + n),
          region: 11 + Math.floor(r() * 3),
          depth: l,
          height: 80 + Math.floor(r() * 175),
        });
        t += n + Math.floor(r() * 60000);
      }
    });
    tracks.push({
      kind: "resource",
      name: q ? "memory bus" : "CPU",
      sort: "resource",
      id: `r${q}`,
      group: -1,
      parent: -1,
      depth: 3,
      spans: lanes,
      instants: [],
      unit: q ? "GB/s" : "cores",
      capacity: q ? 100 : 4,
      low: 0,
      high: 0,
      style: "",
      values: [],
    });
  }
  void locations;
  return {
    id,
    name,
    state: "ready",
    progress: 1,
    error: "",
    groups,
    tracks,
    regions,
    links,
    length,
    notes: [],
    origin: "9007199254740993123",
  };
}

function meta(t: MockTrace): Record<string, unknown> {
  const head = {
    id: t.id,
    name: t.name,
    path: "runs/" + t.name,
    format: "otf2",
    bytes: 1234567,
    state: t.state,
    progress: t.progress,
    error: t.error,
  };
  if (t.state === "indexing") {
    // what the server knows before the index is ready: names, and the trace's own sums of its first half
    const sums = new Map<number, { count: number; inclusive: number }>(),
      part = <T>(list: T[]): T[] => list.slice(0, Math.ceil(list.length / 2));
    for (const x of t.tracks)
      if (x.kind === "location")
        for (const strip of x.spans)
          for (const s of part(strip)) {
            const o = sums.get(s.region) ?? { count: 0, inclusive: 0 };
            o.count++;
            o.inclusive += s.end - s.start;
            sums.set(s.region, o);
          }
    const locations = t.tracks
      .filter((x) => x.kind === "location")
      .map((x) => ({ name: x.name, events: 2 * part(x.spans.flat()).length }));
    const tracks = t.tracks.map((x) => ({
      kind: x.kind,
      name: x.name,
      sort: x.sort,
      id: x.id,
      group: x.group,
      parent: x.parent,
    }));
    const overview = {
      regions: [...sums].map(([r, o]) => ({
        name: t.regions[r].name,
        count: o.count,
        inclusive: String(o.inclusive),
        exclusive: String(Math.round(o.inclusive / 2)),
      })),
      locations,
      events: locations.reduce((n, l) => n + l.events, 0),
      missing: "0",
      to: String(BigInt(t.origin) + BigInt(Math.floor(t.length / 2))),
    };
    return {
      ...head,
      clock: { num: 1000000000, den: 1 },
      groups: t.groups,
      tracks,
      ...(t.progress > 0.3 ? { overview } : {}),
    };
  }
  if (t.state !== "ready") return head;
  return {
    ...head,
    etag: "x",
    clock: { num: 1000000000, den: 1 },
    origin: t.origin,
    epoch: "1700000000000000000",
    length: String(t.length),
    events: t.tracks.reduce((n, x) => n + 2 * x.spans.reduce((m, s) => m + s.length, 0), 0),
    spans: t.tracks.reduce((n, x) => n + x.spans.reduce((m, s) => m + s.length, 0), 0),
    links: t.links.length,
    groups: t.groups,
    regions: t.regions,
    palettes: { light, dark },
    color: "",
    attributes: [],
    defects: 2,
    tracks: t.tracks.map((x) => ({
      kind: x.kind,
      name: x.name,
      sort: x.sort,
      id: x.id,
      group: x.group,
      parent: x.parent,
      depth: x.depth,
      spans: x.spans.reduce((m, s) => m + s.length, 0),
      events: 2 * x.spans.reduce((m, s) => m + s.length, 0),
      instants: x.instants.length,
      first: "0",
      last: String(t.length),
      unit: x.unit,
      capacity: x.capacity,
      low: x.low,
      high: x.high,
      style: x.style,
    })),
  };
}

interface Run {
  region: number;
  x: number;
  n: number;
  cover: number;
  share: number;
  height: number;
  flags: number;
}
interface Cell {
  x: number;
  min: number;
  max: number;
  first: number;
  last: number;
}
interface Strip {
  track: number;
  depth: number;
  kind: number;
  runs: Run[];
  cells: Cell[];
}

function encode(strips: Strip[], width: number): Buffer {
  const n = strips.reduce((a, s) => a + s.runs.length, 0),
    m = strips.reduce((a, s) => a + s.cells.length, 0);
  const pad = (x: number): number => (x + 7) & ~7;
  const o0 = 24 + 16 * strips.length,
    oc = pad(o0 + 4 * n + 2 * n + 2 * n + 4 * n),
    of = oc + pad(2 * m);
  const b = Buffer.alloc(of + 16 * m);
  b.write("weftile1", 0, "latin1");
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
      b[o0 + 11 * n + i] = r.flags;
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

function spanRuns(spans: Span[], from: number, to: number, width: number): Run[] {
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

function numbers(text: string | null, count: number): number[] {
  if (text === null) return Array.from({ length: count }, (_, i) => i);
  if (text === "") return [];
  return text.split(",").flatMap((p) => {
    const [a, b] = p.split("-").map(Number);
    return b === undefined ? [a] : Array.from({ length: b - a + 1 }, (_, i) => a + i);
  });
}

interface Sum {
  region: number;
  count: number;
  inclusive: number;
  exclusive: number;
  min: number;
  max: number;
}
function profile(t: MockTrace, tracks: number[], from: number, to: number): Map<number, Map<number, Sum>> {
  const all = new Map<number, Map<number, Sum>>();
  for (const k of tracks) {
    const x = t.tracks[k];
    if (!x || x.kind !== "location") continue;
    const m = new Map<number, Sum>();
    all.set(k, m);
    x.spans.forEach((strip, depth) => {
      const next = x.spans[depth + 1] ?? [];
      let j = 0;
      for (const s of strip) {
        if (s.end <= from || s.start >= to) continue;
        const cut = (u: Span): number => Math.min(u.end, to) - Math.max(u.start, from);
        let inner = 0;
        while (j < next.length && next[j].end <= s.start) j++;
        for (let i = j; i < next.length && next[i].start < s.end; i++) inner += Math.max(0, cut(next[i]));
        const c = m.get(s.region) ?? { region: s.region, count: 0, inclusive: 0, exclusive: 0, min: Infinity, max: 0 };
        c.count++;
        c.inclusive += cut(s);
        c.exclusive += cut(s) - inner;
        c.min = Math.min(c.min, s.end - s.start);
        c.max = Math.max(c.max, s.end - s.start);
        m.set(s.region, c);
      }
    });
  }
  return all;
}

interface Node {
  region: number;
  name: string;
  count: number;
  inclusive: string;
  exclusive: string;
  min: string;
  max: string;
  longest: { track: number; time: string };
  children: Node[];
  left?: { paths: number; exclusive: string };
}

function answer(t: MockTrace, what: string, q: URLSearchParams): unknown {
  const from = Number(q.get("from") ?? 0),
    to = Number(q.get("to") ?? t.length),
    width = Math.min(8192, Number(q.get("width") ?? 1000));
  const tracks = numbers(q.get("tracks"), t.tracks.length);
  const spanJSON = (track: number, s: Span): unknown => ({
    track,
    depth: s.depth,
    region: s.region,
    name: t.regions[s.region].name,
    group: t.regions[s.region].group,
    start: String(s.start),
    end: String(s.end),
    open: false,
  });
  const linkJSON = (l: Link): unknown => ({
    ...l,
    from: { track: l.from.track, time: String(l.from.time) },
    to: { track: l.to.track, time: String(l.to.time) },
  });
  switch (what) {
    case "tiles":
    case "summary": {
      const depths = Number(q.get("depths") ?? 8);
      const strips: Strip[] = [];
      if (what === "summary")
        return encode(
          [
            {
              track: tracks[0],
              depth: 0,
              kind: 0,
              runs: spanRuns(t.tracks[tracks[0]].spans[2] ?? t.tracks[tracks[0]].spans[0] ?? [], from, to, width).map(
                (r) => ({ ...r, flags: 0, cover: Math.round(r.cover * 0.8) }),
              ),
              cells: [],
            },
          ],
          width,
        );
      for (const k of tracks) {
        const x = t.tracks[k];
        if (!x) continue;
        x.spans
          .slice(0, depths)
          .forEach((s, depth) =>
            strips.push({ track: k, depth, kind: 0, runs: spanRuns(s, from, to, width), cells: [] }),
          );
        if (x.instants.length) {
          const m = new Map<number, number>();
          for (const i of x.instants) {
            const c = Math.floor(((i - from) * width) / (to - from));
            if (c >= 0 && c < width) m.set(c, (m.get(c) ?? 0) + 1);
          }
          strips.push({
            track: k,
            depth: 0,
            kind: 1,
            runs: [...m].map(([c, n]) => ({
              region: 0xffffffff,
              x: c,
              n: 1,
              cover: 255,
              share: Math.min(255, n),
              height: 255,
              flags: 0,
            })),
            cells: [],
          });
        }
        if (x.values.length) {
          const cells: Cell[] = [];
          let i = 0;
          let last = NaN;
          for (let c = 0; c < width; c++) {
            const end = from + ((c + 1) * (to - from)) / width;
            const vs = Number.isNaN(last) ? [] : [last];
            while (i < x.values.length && x.values[i][0] < end) {
              last = x.values[i][1];
              if (x.values[i][0] >= from) vs.push(last);
              i++;
            }
            if (vs.length === 0 && !Number.isNaN(last)) vs.push(last);
            if (vs.length)
              cells.push({ x: c, min: Math.min(...vs), max: Math.max(...vs), first: vs[0], last: vs[vs.length - 1] });
          }
          strips.push({ track: k, depth: 0, kind: 2, runs: [], cells });
        }
        if (x.kind === "resource") {
          const cells: Cell[] = [];
          for (let c = 0; c < width; c++) {
            const at = from + ((c + 0.5) * (to - from)) / width;
            const v = x.spans.reduce(
              (n, l) => n + (((l.find((s) => s.start <= at && at < s.end)?.height ?? 0) / 255) * x.capacity) / 3,
              0,
            );
            cells.push({ x: c, min: v, max: v, first: v, last: v });
          }
          strips.push({ track: k, depth: 0, kind: 3, runs: [], cells });
        }
      }
      return encode(strips, width);
    }
    case "span": {
      const k = Number(q.get("track")),
        at = Number(q.get("time")),
        depth = Number(q.get("depth")),
        x = t.tracks[k];
      const s = x?.spans[depth]?.find((u) => u.start <= at && at < u.end);
      if (!s) return null;
      const around =
        x.kind !== "location"
          ? []
          : x.spans
              .slice(0, depth)
              .flatMap((l) => l.filter((u) => u.start <= at && at < u.end))
              .map((u) => ({
                region: u.region,
                name: t.regions[u.region].name,
                start: String(u.start),
                end: String(u.end),
                depth: u.depth,
              }));
      return {
        span: spanJSON(k, s),
        partial: false,
        attributes: [
          { name: "file", value: "solver.c" },
          { name: "line", value: String(100 + s.region) },
          { name: "note", value: "<b>not bold</b>" },
        ],
        around,
        links: t.links
          .filter(
            (l) =>
              (l.from.track === k && l.from.time >= s.start && l.from.time < s.end) ||
              (l.to.track === k && l.to.time >= s.start && l.to.time < s.end),
          )
          .slice(0, 100)
          .map(linkJSON),
      };
    }
    case "edge": {
      const at = Number(q.get("time")),
        depth = Number(q.get("depth") ?? 0),
        edges = (t.tracks[Number(q.get("track"))]?.spans ?? [])
          .slice(depth, depth + Number(q.get("depths") ?? 256))
          .flatMap((l) => l.flatMap((s) => [s.start, s.end]));
      const b = edges.reduce((m, e) => (Math.abs(e - at) < Math.abs(m - at) ? e : m), Infinity);
      return Math.abs(b - at) <= Number(q.get("within")) ? { time: String(b) } : null;
    }
    case "instant": {
      const x = t.tracks[Number(q.get("track"))],
        at = Number(q.get("time")),
        radius = Number(q.get("radius"));
      const b = x.instants.reduce((m, i) => (Math.abs(i - at) < Math.abs(m - at) ? i : m), Infinity);
      return Math.abs(b - at) <= radius
        ? { time: String(b), name: "marker", kind: "instant", attributes: [], partial: false }
        : null;
    }
    case "find": {
      const x = t.tracks[Number(q.get("track"))],
        at = Number(q.get("time")),
        region = Number(q.get("region"));
      const all = x.spans
        .flat()
        .filter((s) => s.region === region)
        .sort((a, b) => a.start - b.start);
      const s =
        q.get("direction") === "previous" ? all.filter((u) => u.start < at).pop() : all.find((u) => u.start > at);
      return s ? { span: spanJSON(Number(q.get("track")), s) } : null;
    }
    case "calls": {
      const regions = new Set(numbers(q.get("regions"), 0)),
        kind = q.get("kind") === "claim" ? "resource" : "location",
        least = Number(q.get("least") ?? 0),
        limit = Number(q.get("limit") ?? 1000);
      const part = (s: Span): number =>
        q.get("by") === "part" ? Math.min(s.end, to) - Math.max(s.start, from) : s.end - s.start;
      const all = tracks
        .filter((k) => t.tracks[k]?.kind === kind)
        .flatMap((k) =>
          t.tracks[k].spans
            .flat()
            .filter((s) => regions.has(s.region) && s.end > from && s.start < to && part(s) >= least)
            .map((s) => ({ k, s })),
        )
        .sort((a, b) => part(b.s) - part(a.s) || a.s.start - b.s.start || a.k - b.k);
      return {
        from: String(from),
        to: String(to),
        calls: all.slice(0, limit).map(({ k, s }) => spanJSON(k, s)),
        more: all.length > limit,
      };
    }
    case "hit": {
      const regions = new Set(numbers(q.get("regions"), 0)),
        at = Number(q.get("time")),
        back = q.get("direction") === "previous",
        track = Number(q.get("track") ?? (back ? -1 : Infinity));
      const all = t.tracks
        .flatMap((x, k) =>
          x.kind === "location"
            ? x.spans
                .flat()
                .filter((s) => regions.has(s.region))
                .map((s) => ({ k, s }))
            : [],
        )
        .sort((a, b) => a.s.start - b.s.start || a.k - b.k);
      const i = back
        ? all.findLastIndex(({ k, s }) => s.start < at || (s.start === at && k < track))
        : all.findIndex(({ k, s }) => s.start > at || (s.start === at && k > track));
      return i < 0 ? null : { span: spanJSON(all[i].k, all[i].s), number: i + 1, total: all.length };
    }
    case "links": {
      const set = new Set(tracks),
        limit = Number(q.get("limit") ?? 2000);
      const all = t.links.filter(
        (l) => !l.alone && l.to.time >= from && l.from.time < to && (set.has(l.from.track) || set.has(l.to.track)),
      );
      if (all.length <= limit)
        return { total: all.length, shown: all.length, bundled: false, links: all.map(linkJSON) };
      const m = new Map<string, Link>();
      const w = (to - from) / Math.max(8, limit / 32);
      for (const l of all) {
        const key = `${l.from.track}.${l.to.track}.${Math.floor(l.from.time / w)}`;
        const o = m.get(key);
        if (!o) m.set(key, { ...l, id: key });
        else {
          o.count++;
          o.bytes += l.bytes;
          o.to = { ...o.to, time: Math.max(o.to.time, l.to.time) };
        }
      }
      const links = [...m.values()].slice(0, limit);
      return { total: all.length, shown: links.length, bundled: true, links: links.map(linkJSON) };
    }
    case "link": {
      const l = t.links.find(
        (x) =>
          x.id === q.get("link") && x.from.track === Number(q.get("track")) && x.from.time === Number(q.get("time")),
      );
      if (!l) return null;
      const note = (what: string): unknown[] => [{ name: "note", value: `<i>${what}</i> ${l.id}` }];
      return {
        link: { ...(linkJSON(l) as object), attributes: note("the message") },
        from: { kind: "send", name: "", attributes: note("sent") },
        to: { kind: "recv", name: "", attributes: note("received") },
        partial: false,
      };
    }
    case "profile": {
      const by = q.get("by") ?? "region";
      const acc = new Map<string, Sum & { track: number; group: number }>();
      for (const [k, m] of profile(t, tracks, from, to))
        for (const s of m.values()) {
          const key =
            by === "location"
              ? `${k}.${s.region}`
              : by === "group"
                ? `${t.tracks[k].group}.${s.region}`
                : String(s.region);
          const a = acc.get(key);
          if (!a)
            acc.set(key, { ...s, track: by === "location" ? k : -1, group: by === "group" ? t.tracks[k].group : -1 });
          else {
            a.count += s.count;
            a.inclusive += s.inclusive;
            a.exclusive += s.exclusive;
            a.min = Math.min(a.min, s.min);
            a.max = Math.max(a.max, s.max);
          }
        }
      const claims = new Map<number, { count: number; held: number; min: number; max: number }>();
      for (const k of tracks)
        if (t.tracks[k]?.kind === "resource")
          for (const c of t.tracks[k].spans.flat()) {
            const d = Math.min(c.end, to) - Math.max(c.start, from);
            if (d <= 0) continue;
            const o = claims.get(c.region) ?? { count: 0, held: 0, min: Infinity, max: 0 };
            o.count++;
            o.held += d;
            o.min = Math.min(o.min, c.end - c.start);
            o.max = Math.max(o.max, c.end - c.start);
            claims.set(c.region, o);
          }
      const held = [...claims].map(([r, c]) => ({
        kind: "claim",
        track: -1,
        group: -1,
        region: r,
        name: t.regions[r].name,
        count: c.count,
        inclusive: String(c.held),
        exclusive: String(c.held),
        min: String(c.min),
        max: String(c.max),
        mean: String(Math.round(c.held / c.count)),
        sum: String(c.held),
      }));
      const rows = [
        ...[...acc.values()]
          .sort((a, b) => b.exclusive - a.exclusive)
          .map((s) => ({
            kind: "region",
            track: s.track,
            group: s.group,
            region: s.region,
            name: t.regions[s.region].name,
            count: s.count,
            inclusive: String(s.inclusive),
            exclusive: String(s.exclusive),
            min: String(s.min),
            max: String(s.max),
            mean: String(Math.round(s.inclusive / s.count)),
            sum: String(s.inclusive),
          })),
        ...held,
      ];
      const limit = Number(q.get("limit") ?? 600),
        left = rows.slice(limit),
        sum = (kind: string): string =>
          String(left.reduce((n, x) => (x.kind === kind ? n + Number(x.exclusive) : n), 0));
      return {
        from: String(from),
        to: String(to),
        rows: rows.slice(0, limit),
        left: { rows: left.length, exclusive: sum("region"), held: sum("claim") },
      };
    }
    case "calltree": {
      interface N {
        region: number;
        count: number;
        inc: number;
        exc: number;
        min: number;
        max: number;
        longest: { track: number; time: string };
        kids: Map<number, N>;
      }
      const root: Map<number, N> = new Map();
      for (const k of tracks) {
        const x = t.tracks[k];
        if (!x || x.kind !== "location") continue;
        const walk = (depth: number, a: number, b: number, into: Map<number, N>): number => {
          let sum = 0;
          for (const s of x.spans[depth] ?? []) {
            if (s.start >= b) break;
            if (s.end <= a) continue;
            const d = Math.min(s.end, to) - Math.max(s.start, from);
            if (d <= 0) continue;
            let n = into.get(s.region);
            if (!n)
              into.set(
                s.region,
                (n = {
                  region: s.region,
                  count: 0,
                  inc: 0,
                  exc: 0,
                  min: Infinity,
                  max: 0,
                  longest: { track: k, time: String(s.start) },
                  kids: new Map(),
                }),
              );
            if (d > n.max) n.longest = { track: k, time: String(s.start) };
            n.count++;
            n.inc += d;
            n.min = Math.min(n.min, d);
            n.max = Math.max(n.max, d);
            sum += d;
            n.exc += d - walk(depth + 1, Math.max(a, s.start), Math.min(b, s.end), n.kids);
          }
          return sum;
        };
        walk(0, from, to, root);
      }
      const json = (m: Map<number, N>): Node[] =>
        [...m.values()]
          .sort((a, b) => b.inc - a.inc)
          .map((n) => ({
            region: n.region,
            name: t.regions[n.region].name,
            count: n.count,
            inclusive: String(n.inc),
            exclusive: String(n.exc),
            min: String(n.min),
            max: String(n.max),
            longest: n.longest,
            children: json(n.kids),
          }));
      // of all paths the heaviest; the mock lists fewer than the server
      const all: { n: Node; above: Node | null }[] = [],
        list = (l: Node[], above: Node | null): void => {
          for (const n of l) {
            all.push({ n, above });
            list(n.children, n);
          }
        };
      const roots = json(root);
      list(roots, null);
      const limit = Number(q.get("limit") ?? 8),
        least = all.map((x) => Number(x.n.inclusive)).sort((a, b) => b - a)[Math.min(limit, all.length) - 1] ?? 0,
        left = { paths: 0, exclusive: "0" };
      const add = (to: { paths: number; exclusive: string }, n: Node): void => {
        to.paths++;
        to.exclusive = String(Number(to.exclusive) + Number(n.exclusive));
      };
      const drop = (n: Node, above: Node | null): void => {
        add(left, n);
        if (above) add((above.left ??= { paths: 0, exclusive: "0" }), n);
        n.children.forEach((c) => drop(c, above));
      };
      const prune = (l: Node[], above: Node | null): Node[] =>
        l.filter((n) => {
          if (Number(n.inclusive) < least) {
            drop(n, above);
            return false;
          }
          n.children = prune(n.children, n);
          return true;
        });
      return { roots: prune(roots, null), paths: all.length, left };
    }
    case "matrix": {
      const m = new Map<
        string,
        { source: number; destination: number; count: number; bytes: number; min: number; max: number; sum: number }
      >();
      for (const l of t.links) {
        if (l.from.time < from || l.from.time >= to) continue;
        const key = `${l.from.track}.${l.to.track}`;
        const d = l.to.time - l.from.time;
        const c = m.get(key);
        if (!c)
          m.set(key, {
            source: l.from.track,
            destination: l.to.track,
            count: 1,
            bytes: l.bytes,
            min: d,
            max: d,
            sum: d,
          });
        else {
          c.count++;
          c.bytes += l.bytes;
          c.min = Math.min(c.min, d);
          c.max = Math.max(c.max, d);
          c.sum += d;
        }
      }
      const rows = [...m.values()];
      const seen = new Set(rows.flatMap((x) => [x.source, x.destination]));
      return {
        rows: rows.map((x) => ({
          source: x.source,
          destination: x.destination,
          count: x.count,
          bytes: x.bytes,
          min: String(x.min),
          max: String(x.max),
          matched: x.count,
          sum: String(x.sum),
          mean: String(Math.round(x.sum / x.count)),
        })),
        tracks: [...seen].sort((a, b) => a - b),
      };
    }
    case "locations": {
      const rows = [];
      for (const [k, m] of profile(t, tracks, from, to)) {
        const busy = t.tracks[k].spans[0].reduce(
          (n, s) => n + Math.max(0, Math.min(s.end, to) - Math.max(s.start, from)),
          0,
        );
        const sent = t.links.filter((l) => l.from.track === k && l.from.time >= from && l.from.time < to),
          received = t.links.filter((l) => l.to.track === k && l.to.time >= from && l.to.time < to);
        rows.push({
          track: k,
          events: 0,
          spans: [...m.values()].reduce((n, s) => n + s.count, 0),
          busy: String(busy),
          exclusive: [...m.values()]
            .sort((a, b) => b.exclusive - a.exclusive)
            .slice(0, 8)
            .map((s) => ({ region: s.region, ticks: String(s.exclusive) })),
          sent: sent.length,
          received: received.length,
          sentBytes: sent.reduce((n, l) => n + l.bytes, 0),
          receivedBytes: received.reduce((n, l) => n + l.bytes, 0),
        });
      }
      return { rows };
    }
    case "states": {
      // MPI is overhead, what is outside of the first level idle
      const rows = t.tracks.flatMap((x, k) => {
        if (x.kind !== "location") return [];
        const inside = (l: Span[]): number =>
          l.reduce((n, s) => n + Math.max(0, Math.min(s.end, to) - Math.max(s.start, from)), 0);
        const alive = inside(x.spans[0]),
          overhead = inside((x.spans[2] ?? []).filter((s) => t.regions[s.region].group === "MPI"));
        return [{ track: k, busy: alive - overhead, overhead, idle: Math.min(to, t.length) - from - alive }];
      });
      const sum = (f: (r: (typeof rows)[number]) => number): string => String(rows.reduce((n, r) => n + f(r), 0));
      return {
        processors: rows.length,
        busy: sum((r) => r.busy),
        overhead: sum((r) => r.overhead),
        idle: sum((r) => r.idle),
        rows: rows.map((r) => ({
          track: r.track,
          busy: String(r.busy),
          overhead: String(r.overhead),
          idle: String(r.idle),
        })),
      };
    }
    case "counters": {
      return {
        from: String(from),
        to: String(to),
        rows: t.tracks.flatMap((x, k) => {
          if (x.kind !== "counter") return [];
          const v = x.values.filter(([at]) => at >= from && at < to).map(([, y]) => y);
          return [
            v.length > 0
              ? {
                  track: k,
                  samples: v.length,
                  first: v[0],
                  last: v[v.length - 1],
                  min: Math.min(...v),
                  max: Math.max(...v),
                  mean: v.reduce((a, b) => a + b, 0) / v.length,
                  holding: "next",
                  ...(k % 2 ? { increase: v[v.length - 1] - v[0], rate: 12.5 } : {}),
                }
              : { track: k, samples: 0, holding: "next" },
          ];
        }),
      };
    }
    case "utilisation": {
      const a = Array.from({ length: width }, (_, i) => 0.6 + 0.3 * Math.sin(i / 20)),
        o = a.map((x) => (1 - x) * 0.6);
      return { width, busy: a, overhead: o, idle: a.map((x, i) => 1 - x - o[i]) };
    }
    case "structure":
      return { text: "10x solve (118.0 µs)\n  compute\n    kernel_a\n  MPI_Send\n  MPI_Recv\n1x write_output\n" };
    case "defects":
      return {
        defects: [
          {
            rule: "late-receive",
            severity: "warning",
            message: "receive before its send",
            file: "traces.otf2",
            position: "event 17",
            time: "250000",
            track: 3,
          },
          {
            rule: "unknown-region",
            severity: "error",
            message: "region 99 has no definition",
            file: "traces.def",
            position: "byte 1234",
            time: "",
            track: -1,
          },
        ],
        more: 0,
      };
    case "info":
      return {
        path: t.name,
        format: "otf2",
        files: [
          { path: t.name, size: 1000 },
          { path: "0.evt", size: 1233567 },
        ],
        clock: { ticksPerSecond: "1000000000", resolution: "1 ns", epoch: null },
        events: 12,
        derived: 0,
        unclosed: 0,
        orphans: 2,
        errors: 1,
        warnings: 1,
        properties: { creator: "mock", "a<b>": "1" },
        kinds: [
          { kind: 1, name: "enter", events: 6, derived: 0 },
          { kind: 9, name: "send-begin", events: 6, derived: 0 },
        ],
        locations: t.tracks
          .filter((x) => x.kind === "location")
          .map((x) => ({ id: x.id, name: x.name, kind: "process", events: 4 })),
        regions: t.regions.map((r) => ({ name: r.name, count: 1 })),
        signals: [{ id: "m0", name: "memory", unit: "MiB", kind: "counter", events: 5, min: 0, max: 7.25, last: 3 }],
        attributes: [{ name: "note", uses: 3 }],
        definitionRecords: [{ type: "Region", count: 14 }],
      };
  }
  return null;
}

/** serve answers the page's files and the API on a port of 127.0.0.1; 0 lets the system choose. */
export function serve(
  traces: MockTrace[],
  port = 0,
  delay = 0,
): Promise<{ server: Server; port: number; close: () => Promise<void> }> {
  const dist = path.join(
    path.dirname(fileURLToPath(import.meta.url)),
    import.meta.url.includes(".mock") ? "../../dist" : "../dist",
  );
  const types: Record<string, string> = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
  };
  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    const url = new URL(req.url ?? "/", "http://x");
    const json = (status: number, v: unknown): void => {
      res.writeHead(status, { "Content-Type": "application/json" });
      res.end(JSON.stringify(v));
    };
    if (!url.pathname.startsWith("/api/")) {
      const f = path.join(dist, url.pathname === "/" ? "index.html" : url.pathname);
      if (!f.startsWith(dist) || !existsSync(f)) {
        json(404, { error: "no such file" });
        return;
      }
      res.writeHead(200, {
        "Content-Type": types[path.extname(f)] ?? "application/octet-stream",
        "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:",
        "Cache-Control": "no-store",
      });
      res.end(readFileSync(f));
      return;
    }
    const p = url.pathname.split("/").slice(2);
    if (p[0] === "traces" && p.length === 1 && req.method === "POST") {
      let body = "";
      req.on("data", (d) => (body += String(d)));
      req.on("end", () => {
        const names = [...body.matchAll(/name="([^"]+)"; filename/g)].map((m) => m[1]);
        if (names.some((n) => n.endsWith(".otf2"))) json(200, { traces: ["b2"] });
        else json(400, { error: `files: found ${names.length}, none of which is a trace` });
      });
      return;
    }
    if (p[0] === "traces" && p.length === 1) {
      json(200, {
        version: "mock",
        readOnly: false,
        traces: traces.map((t) => {
          const m = meta(t);
          return {
            id: m.id,
            name: m.name,
            path: m.path,
            format: m.format,
            bytes: m.bytes,
            state: m.state,
            progress: m.progress,
            error: m.error,
          };
        }),
      });
      return;
    }
    if (p[0] === "secret") {
      json(200, { token: "open-sesame" });
      return;
    }
    const t = traces.find((x) => x.id === p[1]);
    if (!t) {
      json(404, { error: `no trace ${p[1]}` });
      return;
    }
    if (p.length === 2) {
      if (t.state === "indexing" || t.state === "new") {
        t.state = "indexing";
        t.progress = Math.min(1, t.progress + 0.1);
        if (t.progress >= 1) t.state = "ready";
      }
      json(200, meta(t));
      return;
    }
    if (p[2] === "notes") {
      if (req.method === "PUT") {
        let body = "";
        req.on("data", (d) => (body += String(d)));
        req.on("end", () => {
          t.notes = (JSON.parse(body) as { notes: unknown[] }).notes;
          json(200, { notes: t.notes });
        });
        return;
      }
      json(200, { notes: t.notes });
      return;
    }
    const v = answer(t, p[2], url.searchParams);
    const send = (): void => {
      if (v === null && ["span", "instant", "find", "hit", "edge"].includes(p[2])) {
        res.writeHead(204);
        res.end();
      } else if (v === null) json(404, { error: "nothing there" });
      else if (Buffer.isBuffer(v)) {
        res.writeHead(200, { "Content-Type": "application/octet-stream" });
        res.end(v);
      } else json(200, v);
    };
    if (delay > 0) setTimeout(send, delay);
    else send();
  };
  return new Promise((resolve) => {
    const server = createServer(handle);
    server.listen(port, "127.0.0.1", () => {
      const a = server.address();
      resolve({
        server,
        port: typeof a === "object" && a ? a.port : 0,
        close: () =>
          new Promise((done) => {
            server.closeAllConnections();
            server.close(() => done());
          }),
      });
    });
  });
}

/** samples are the traces the mock shows by itself. */
export function samples(): MockTrace[] {
  const failed = synthetic("f1", "broken.otf2", 1, 1);
  failed.state = "failed";
  failed.error = "broken.otf2: the file ends at byte 812, expected 4096 more";
  const slow = synthetic("s1", "slow.otf2", 4, 20);
  slow.state = "new";
  slow.progress = 0;
  return [synthetic("a1", "ring.otf2", 64, 60), synthetic("b2", "ring-slow.otf2", 64, 60, 7), failed, slow];
}

if (process.argv[2] === "serve") {
  const n = Number(process.argv[4] ?? 0);
  const s = await serve(
    n > 0 ? [synthetic("a1", "big.otf2", n, Number(process.argv[5] ?? 20))] : samples(),
    Number(process.argv[3] ?? 8099),
  );
  console.log(`http://127.0.0.1:${s.port}/`);
}
