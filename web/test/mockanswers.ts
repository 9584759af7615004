// The answers of the mock server, computed by brute force.
import { type Cell, encode, spanRuns, type Strip } from "./mocktiles";
import { type Link, type MockTrace, type Span } from "./mocktraces";

export function numbers(text: string | null, count: number): number[] {
  if (text === null) return Array.from({ length: count }, (_, i) => i);
  if (text === "") return [];
  return text.split(",").flatMap((p) => {
    const [a, b] = p.split("-").map(Number);
    return b === undefined ? [a] : Array.from({ length: b - a + 1 }, (_, i) => a + i);
  });
}

export interface Sum {
  region: number;
  count: number;
  inclusive: number;
  exclusive: number;
  min: number;
  max: number;
}
export function profile(t: MockTrace, tracks: number[], from: number, to: number): Map<number, Map<number, Sum>> {
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

export interface Node {
  region: number;
  call: number;
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

export function answer(t: MockTrace, what: string, q: URLSearchParams): unknown {
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
            call: n.region,
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
    case "waits": {
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
        ],
        late: [],
        clocks: { messages: 0, operations: 0, worst: "0" },
        unjudged: [],
      };
    }
    case "efficiency":
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
        sentences: [],
      };
    case "path":
      return {
        missing: "",
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
    case "waits/intervals":
      return { missing: "", left: 0, tracks: [{ track: 1, times: ["0", String(t.length)] }], arrows: [] };
    case "path/line":
      return { missing: "", joined: true, pieces: [{ track: 0, from: "0", to: String(t.length) }] };
    case "explain":
      return {
        missing: "",
        ran: {
          processes: 64,
          threads: 64,
          runtime: String(t.length),
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
            path: ["main", "kernel_a"],
            tracks: [1],
            evidence: ["2 ms in the mean"],
            advice: "Divide its work more evenly.",
            confidence: "high",
          },
        ],
        unjudged: ["instructions and cycles: the trace has no counters"],
      };
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
