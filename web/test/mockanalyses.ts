// The mock server's answers about all events of a window: sums by brute force, and fixed results of the analyses.
import { type MockTrace, type Question, type Span } from "./mocktraces";

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
  regionKey: number;
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

function profileRows({ t, q, from, to, tracks }: Question): unknown {
  const by = q.get("by") ?? "region";
  const acc = new Map<string, Sum & { track: number; group: number }>();
  for (const [k, m] of profile(t, tracks, from, to))
    for (const s of m.values()) {
      const key =
        by === "location" ? `${k}.${s.region}` : by === "group" ? `${t.tracks[k].group}.${s.region}` : String(s.region);
      const a = acc.get(key);
      if (!a) acc.set(key, { ...s, track: by === "location" ? k : -1, group: by === "group" ? t.tracks[k].group : -1 });
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
    sum = (kind: string): string => String(left.reduce((n, x) => (x.kind === kind ? n + Number(x.exclusive) : n), 0));
  return {
    from: String(from),
    to: String(to),
    rows: rows.slice(0, limit),
    left: { rows: left.length, exclusive: sum("region"), held: sum("claim") },
  };
}

function callTree({ t, q, from, to, tracks }: Question): unknown {
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
        regionKey: n.region,
        name: t.regions[n.region].name,
        count: n.count,
        inclusive: String(n.inc),
        exclusive: String(n.exc),
        min: String(n.min),
        max: String(n.max),
        longest: n.longest,
        children: json(n.kids),
      }));
  // the heaviest paths; the mock lists fewer than the server
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

interface Change {
  a: number;
  b: number;
  difference: number;
  ratio: number | null;
}

interface Entry {
  kind: string;
  region: string;
  name: string;
  exclusive: Change;
  inclusive: Change;
  visits: Change;
  reported: boolean;
}

/** diff compares call paths by their names, without tests. Regions of the mock do not call themselves. */
function diff({ t, reference = t, q, from, to }: Question): unknown {
  const change = (a: number, b: number): Change => ({ a, b, difference: b - a, ratio: a === 0 ? null : b / a });
  const tree = (trace: MockTrace, from: number, to: number): Node[] =>
    (
      callTree({
        t: trace,
        q: new URLSearchParams({ limit: "1000000" }),
        from,
        to,
        width: 1,
        tracks: trace.tracks.map((_, k) => k),
      }) as { roots: Node[] }
    ).roots;
  const entry = (name: string, exclusive: Change, inclusive: Change, visits: Change): Entry => ({
    kind:
      visits.a === 0
        ? "added"
        : visits.b === 0
          ? "removed"
          : exclusive.difference > 0
            ? "regression"
            : exclusive.difference < 0
              ? "improvement"
              : "equal",
    region: name,
    name,
    exclusive,
    inclusive,
    visits,
    reported: exclusive.ratio === null || Math.abs(exclusive.ratio - 1) >= 0.02,
  });
  const paths: (Entry & { parent: number; subtree: Change })[] = [],
    regions = new Map<string, Entry>();
  const walk = (as: Node[], bs: Node[], parent: number): void => {
    for (const name of new Set([...as, ...bs].map((n) => n.name))) {
      const a = as.find((n) => n.name === name),
        b = bs.find((n) => n.name === name),
        of = (f: (n: Node) => string | number): Change => change(a ? Number(f(a)) : 0, b ? Number(f(b)) : 0),
        [exclusive, inclusive, visits] = [of((n) => n.exclusive), of((n) => n.inclusive), of((n) => n.count)],
        sum = (x: Change, y?: Change): Change => change(x.a + (y?.a ?? 0), x.b + (y?.b ?? 0)),
        r = regions.get(name);
      regions.set(
        name,
        entry(name, sum(exclusive, r?.exclusive), sum(inclusive, r?.inclusive), sum(visits, r?.visits)),
      );
      const i = paths.push({ ...entry(name, exclusive, inclusive, visits), parent, subtree: inclusive }) - 1;
      walk(a?.children ?? [], b?.children ?? [], i);
    }
  };
  const referenceFrom = Number(q.get("referenceFrom") ?? 0),
    referenceTo = Number(q.get("referenceTo") ?? reference.length);
  walk(tree(reference, referenceFrom, referenceTo), tree(t, from, to), -1);
  const time = paths
    .filter((p) => p.parent < 0)
    .reduce((s, p) => change(s.a + p.inclusive.a, s.b + p.inclusive.b), change(0, 0));
  return {
    missing: "",
    metric: q.get("metric"),
    least: 0,
    change: 0.02,
    unit: "locations",
    samples: [64, 64],
    runtime: change(referenceTo - referenceFrom, to - from),
    time,
    comparedRegions: regions.size,
    comparedPaths: paths.length,
    regions: [...regions.values()],
    paths,
    left: { regions: 0, reportedRegions: 0, paths: 0, reportedPaths: 0, time: change(0, 0) },
  };
}

function matrix({ t, from, to }: Question): unknown {
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

function locations({ t, from, to, tracks }: Question): unknown {
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

function states({ t, from, to }: Question): unknown {
  // MPI is overhead, and time outside of the first level is idle
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
    missing: "",
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

function counters({ t, from, to }: Question): unknown {
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

function utilisation({ width }: Question): unknown {
  const a = Array.from({ length: width }, (_, i) => 0.6 + 0.3 * Math.sin(i / 20)),
    o = a.map((x) => (1 - x) * 0.6);
  return { width, busy: a, overhead: o, idle: a.map((x, i) => 1 - x - o[i]) };
}

function waits({ t }: Question): unknown {
  // the second location waits for the first one in its second call
  const w = t.tracks[1].spans[1]?.[1] ?? t.tracks[1].spans[0][0],
    time = String(w.end - w.start),
    share = { count: 1, time },
    shares = (row: object): unknown => ({ rows: [{ ...row, ...share }], left: { rows: 0, count: 0, time: "0" } });
  return {
    missing: "",
    locations: 2,
    time: String(2 * t.length),
    judged: 2,
    waiting: time,
    patterns: [
      {
        pattern: "late-sender",
        partOf: "",
        ...share,
        median: time,
        max: time,
        regions: shares({ name: t.regions[w.region].name }),
        paths: shares({ path: [t.regions[w.region].name] }),
        locations: shares({ track: 1 }),
        communicators: shares({ name: "world" }),
        pairs: shares({ track: 1, cause: 0 }),
        worst: [
          {
            track: 1,
            depth: w.depth,
            path: [t.regions[w.region].name],
            begin: String(w.start),
            time,
            cause: 0,
            causeDepth: 0,
            causeTime: String(w.end),
          },
        ],
      },
      {
        // outside of all regions
        pattern: "wait-for-launch",
        partOf: "",
        ...share,
        median: time,
        max: time,
        regions: shares({ name: "(outside of all regions)" }),
        paths: shares({}),
        locations: shares({ track: 1 }),
        communicators: { rows: [], left: { rows: 0, count: 0, time: "0" } },
        pairs: shares({ track: 1, cause: 0 }),
        worst: [
          {
            track: 1,
            depth: -1,
            path: [],
            begin: String(w.start),
            time,
            cause: 0,
            causeDepth: 0,
            causeTime: String(w.end),
          },
        ],
      },
    ],
    late: [],
    unjudged: [
      { what: "calls of MPI_Probe", count: 3, time: "90", reason: "no events are recorded inside" },
      { what: "sends", count: 2, reason: "the trace has no matching receive" },
    ],
  };
}

function efficiency({ t }: Question): unknown {
  return {
    missing: "",
    processes: 64,
    threads: 64,
    runtime: String(t.length),
    ideal: String(t.length),
    useful: String(38 * t.length),
    usefulMax: String(t.length),
    factors: [
      { name: "parallel efficiency", level: 0, value: 0.6 },
      { name: "load balance", level: 1, value: 0.8 },
    ],
    hybrid: [],
    devices: [],
    streams: 0,
    sentences: [],
  };
}

function phases({ t }: Question): unknown {
  const half = String(BigInt(t.length) / 2n);
  return {
    missing: "",
    steps: [],
    factors: [
      { name: "parallel efficiency", level: 0 },
      { name: "load balance", level: 1 },
    ],
    phases: [
      { number: 1, from: "0", to: half, values: [0.75, 1] },
      { number: 2, from: half, to: String(t.length), values: [0.5, 0.6] },
    ],
    left: 0,
  };
}

function criticalPath({ t }: Question): unknown {
  return {
    missing: "",
    sentence: "Calls whose waits are unknown take 5 % of the time.",
    begin: "0",
    end: String(t.length),
    length: String(t.length),
    runtime: String(t.length),
    count: 2,
    regions: [{ name: "main", time: String(t.length), imbalance: 12.5, claims: 0 }],
    locations: [{ track: 0, time: String(t.length) }],
    gains: [],
    factors: [0.9, 0.5],
    pieces: [{ track: 0, from: "0", to: String(t.length), by: "" }],
  };
}

function waitIntervals({ t }: Question): unknown {
  return { missing: "", left: 0, tracks: [{ track: 1, times: ["0", String(t.length)] }], arrows: [] };
}

function pathLine({ t }: Question): unknown {
  return { missing: "", joined: true, pieces: [{ track: 0, from: "0", to: String(t.length) }] };
}

function explain({ t }: Question): unknown {
  return {
    missing: "",
    ran: {
      processes: 64,
      threads: 64,
      runtime: String(t.length),
      waitingShare: 0.25,
      regions: [{ region: "main", time: "9", share: 0.6 }],
    },
    verdict: "60 % of the time is useful.",
    factors: {
      parallel: 0.6,
      "load-balance": 0.8,
      communication: 0.75,
      serialisation: 0.9,
      transfer: 0.833,
    },
    findings: [
      {
        id: "late",
        title: "kernel_a takes longer at some locations than at others, and they wait for each other",
        lossShare: 0.2,
        gain: "1000000",
        gainShare: 0.1,
        whatIf: "kernel_a=mean",
        path: ["main", "kernel_a"],
        tracks: [1],
        evidence: ["2 ms in the mean"],
        advice: "Divide its work more evenly.",
        confidence: "high",
      },
    ],
    unjudged: ["instructions and cycles: the trace has no counters"],
  };
}

export const analyses: [string, (x: Question) => unknown][] = [
  ["profile", profileRows],
  ["calltree", callTree],
  ["diff", diff],
  ["matrix", matrix],
  ["locations", locations],
  ["states", states],
  ["counters", counters],
  ["utilisation", utilisation],
  ["waits", waits],
  ["efficiency", efficiency],
  ["efficiency/phases", phases],
  ["path", criticalPath],
  ["waits/intervals", waitIntervals],
  ["path/line", pathLine],
  ["explain", explain],
];
