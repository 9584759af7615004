// Synthetic traces for the mock server.

export interface Span {
  start: number;
  end: number;
  region: number;
  depth: number;
  height: number;
}
export interface Link {
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
export interface Track {
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
/** Question is a question to the server about a trace: its parameters, and what most answers need of them. */
export interface Question {
  t: MockTrace;
  /** reference is the trace with which t is compared. */
  reference?: MockTrace;
  q: URLSearchParams;
  from: number;
  to: number;
  width: number;
  tracks: number[];
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

/** location makes a process, and returns its track, the times of its messages, and when it ends. */
function location(
  p: number,
  processes: number,
  iterations: number,
  r: () => number,
): { track: Track; sends: number[]; end: number } {
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
  const track = {
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
  };
  return { track, sends: mine, end: t + 10 };
}

/** messages makes the messages from each process to the next one, and one without a receive. */
function messages(tracks: readonly Track[], sends: readonly number[][]): Link[] {
  const links: Link[] = [],
    processes = tracks.length;
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
  // a message without a receive, sent by the second process in its first MPI_Send
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
  return links;
}

/** counter makes the counter of a process. */
function counter(p: number, length: number, r: () => number): Track {
  const values: [number, number][] = [];
  let v = 100;
  for (let t = 0; t < length; t += 20000) {
    v = Math.max(0, v + (r() - 0.48) * 30);
    values.push([t, v]);
  }
  return {
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
  };
}

/** resource makes a resource with three lanes. */
function resource(q: number, length: number, r: () => number): Track {
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
  return {
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
  };
}

/** synthetic creates a trace of nested calls, ring messages, counters and claims. */
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
  const sends: number[][] = [];
  let length = 0;
  for (let p = 0; p < processes; p++) {
    const x = location(p, processes, iterations, r);
    length = Math.max(length, x.end);
    sends.push(x.sends);
    tracks.push(x.track);
  }
  const links = messages(tracks, sends);
  for (let p = 0; p < Math.min(4, processes); p++) tracks.push(counter(p, length, r));
  for (let q = 0; q < 2; q++) tracks.push(resource(q, length, r));
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

/** samples returns the traces that the mock server shows by default. */
export function samples(): MockTrace[] {
  const failed = synthetic("f1", "broken.otf2", 1, 1);
  failed.state = "failed";
  failed.error = "broken.otf2: the file ends at byte 812, expected 4096 more";
  const slow = synthetic("s1", "slow.otf2", 4, 20);
  slow.state = "new";
  slow.progress = 0;
  return [synthetic("a1", "ring.otf2", 64, 60), synthetic("b2", "ring-slow.otf2", 64, 60, 7), failed, slow];
}

/** meta returns the description of a trace. */
export function meta(t: MockTrace): Record<string, unknown> {
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
    // the facts known before the index is ready: names, and the trace's own sums of its first half
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
