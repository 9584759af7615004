// The mock server's answers about single spans, links and tiles, computed by brute force.
import { analyses } from "./mockanalyses";
import { type Cell, encode, spanRuns, type Strip } from "./mocktiles";
import { type Link, type MockTrace, type Question, type Span } from "./mocktraces";

function numbers(text: string | null, count: number): number[] {
  if (text === null) return Array.from({ length: count }, (_, i) => i);
  if (text === "") return [];
  return text.split(",").flatMap((p) => {
    const [a, b] = p.split("-").map(Number);
    return b === undefined ? [a] : Array.from({ length: b - a + 1 }, (_, i) => a + i);
  });
}

function spanJSON(t: MockTrace, track: number, s: Span): unknown {
  return {
    track,
    depth: s.depth,
    region: s.region,
    name: t.regions[s.region].name,
    group: t.regions[s.region].group,
    start: String(s.start),
    end: String(s.end),
    open: false,
  };
}

function linkJSON(l: Link): unknown {
  return {
    ...l,
    from: { track: l.from.track, time: String(l.from.time) },
    to: { track: l.to.track, time: String(l.to.time) },
  };
}

function summary({ t, from, to, width, tracks }: Question): unknown {
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
}

function tiles({ t, q, from, to, width, tracks }: Question): unknown {
  const depths = Number(q.get("depths") ?? 8);
  const strips: Strip[] = [];
  for (const k of tracks) {
    const x = t.tracks[k];
    if (!x) continue;
    x.spans
      .slice(0, depths)
      .forEach((s, depth) => strips.push({ track: k, depth, kind: 0, runs: spanRuns(s, from, to, width), cells: [] }));
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

function span({ t, q }: Question): unknown {
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
    span: spanJSON(t, k, s),
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

function edge({ t, q }: Question): unknown {
  const at = Number(q.get("time")),
    depth = Number(q.get("depth") ?? 0),
    edges = (t.tracks[Number(q.get("track"))]?.spans ?? [])
      .slice(depth, depth + Number(q.get("depths") ?? 256))
      .flatMap((l) => l.flatMap((s) => [s.start, s.end]));
  const b = edges.reduce((m, e) => (Math.abs(e - at) < Math.abs(m - at) ? e : m), Infinity);
  return Math.abs(b - at) <= Number(q.get("within")) ? { time: String(b) } : null;
}

function instant({ t, q }: Question): unknown {
  const x = t.tracks[Number(q.get("track"))],
    at = Number(q.get("time")),
    radius = Number(q.get("radius"));
  const b = x.instants.reduce((m, i) => (Math.abs(i - at) < Math.abs(m - at) ? i : m), Infinity);
  return Math.abs(b - at) <= radius
    ? { time: String(b), name: "marker", kind: "instant", attributes: [], partial: false }
    : null;
}

function find({ t, q }: Question): unknown {
  const x = t.tracks[Number(q.get("track"))],
    at = Number(q.get("time")),
    region = Number(q.get("region"));
  const all = x.spans
    .flat()
    .filter((s) => s.region === region)
    .sort((a, b) => a.start - b.start);
  const s = q.get("direction") === "previous" ? all.filter((u) => u.start < at).pop() : all.find((u) => u.start > at);
  return s ? { span: spanJSON(t, Number(q.get("track")), s) } : null;
}

function calls({ t, q, from, to, tracks }: Question): unknown {
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
    calls: all.slice(0, limit).map(({ k, s }) => spanJSON(t, k, s)),
    more: all.length > limit,
  };
}

function hit({ t, q }: Question): unknown {
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
  return i < 0 ? null : { span: spanJSON(t, all[i].k, all[i].s), number: i + 1, total: all.length };
}

function links({ t, q, from, to, tracks }: Question): unknown {
  const set = new Set(tracks),
    limit = Number(q.get("limit") ?? 2000);
  const all = t.links.filter(
    (l) => !l.alone && l.to.time >= from && l.from.time < to && (set.has(l.from.track) || set.has(l.to.track)),
  );
  if (all.length <= limit) return { total: all.length, shown: all.length, bundled: false, links: all.map(linkJSON) };
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

function link({ t, q }: Question): unknown {
  const l = t.links.find(
    (x) => x.id === q.get("link") && x.from.track === Number(q.get("track")) && x.from.time === Number(q.get("time")),
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

function structure(): unknown {
  return { text: "10x solve (118.0 µs)\n  compute\n    kernel_a\n  MPI_Send\n  MPI_Recv\n1x write_output\n" };
}

function defects(): unknown {
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
}

function info({ t }: Question): unknown {
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

const answers = new Map<string, (x: Question) => unknown>([
  ["tiles", tiles],
  ["summary", summary],
  ["span", span],
  ["edge", edge],
  ["instant", instant],
  ["find", find],
  ["calls", calls],
  ["hit", hit],
  ["links", links],
  ["link", link],
  ["structure", structure],
  ["defects", defects],
  ["info", info],
  ...analyses,
]);

export function answer(traces: readonly MockTrace[], t: MockTrace, what: string, q: URLSearchParams): unknown {
  const x = {
    t,
    reference: traces.find((r) => r.id === q.get("reference")),
    q,
    from: Number(q.get("from") ?? 0),
    to: Number(q.get("to") ?? t.length),
    width: Math.min(8192, Number(q.get("width") ?? 1000)),
    tracks: numbers(q.get("tracks"), t.tracks.length),
  };
  return answers.get(what)?.(x) ?? null;
}
