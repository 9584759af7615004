import { expect, test } from "vitest";
import type { GroupInfo, TrackInfo } from "../src/api";
import {
  buildTree,
  hiddenBelow,
  layout,
  moreMark,
  moreWords,
  type Node,
  type Options,
  type Row,
  rowAt,
  rowNames,
  rowOfTrack,
} from "../src/rows";
import { compact } from "../src/rowview";

function track(name: string, more: Partial<TrackInfo> = {}): TrackInfo {
  return {
    kind: "location",
    name,
    sort: "thread",
    id: name,
    group: -1,
    parent: -1,
    depth: 2,
    spans: 1,
    events: 2,
    instants: 0,
    first: "0",
    last: "1",
    unit: "",
    capacity: 0,
    low: 0,
    high: 0,
    style: "",
    ...more,
  };
}
const groups: GroupInfo[] = [
  { name: "node 1", kind: "node", parent: -1 },
  { name: "rank 0", kind: "process", parent: 0 },
  { name: "rank 1", kind: "process", parent: 0 },
  { name: "empty", kind: "node", parent: -1 },
];
const meta = {
  groups,
  tracks: [
    track("main", { group: 1 }),
    track("worker", { group: 1 }),
    track("main", { group: 2 }),
    track("memory", { kind: "counter", parent: 0, depth: 0 }),
    track("CPU", { kind: "resource", capacity: 4 }),
  ],
};
test("rows with the same label get the full names of their tracks, and groups those of the groups above", () => {
  const all = { groups: [...groups, { name: "rank 0", kind: "process", parent: 3 }], tracks: [...meta.tracks] };
  all.tracks.push(track("main", { group: 4 }), track("worker", { group: 4 }));
  const names = rowNames(buildTree(all), (t) => `track ${t}`);
  // rank 1 has one row, as it has one track
  expect([...names]).toEqual([
    ["g0", "node 1"],
    ["g1", "node 1 · rank 0"],
    ["t0", "track 0"],
    ["t3", "memory"],
    ["t1", "track 1"],
    ["t2", "rank 1 · main"],
    ["g3", "empty"],
    ["g4", "empty · rank 0"],
    ["t5", "track 5"],
    ["t6", "track 6"],
    ["resources", "Resources"],
    ["t4", "CPU"],
  ]);
});

test("neighbouring rows with the same name get their ids", () => {
  const t = (id: string, group: number): TrackInfo => track("Master thread", { id, group });
  const labels = (nodes: readonly Node[]): string[] => nodes.flatMap((n) => [n.label, ...labels(n.children)]);
  expect(labels(buildTree({ groups, tracks: [t("1", -1), t("2", -1), t("3", 1), t("4", 1), t("5", 2)] }))).toEqual([
    "Master thread (1)",
    "Master thread (2)",
    "node 1",
    "rank 0",
    "Master thread (3)",
    "Master thread (4)",
    "rank 1 · Master thread",
  ]);
});

const plain: Options = {
  collapsed: new Set(),
  hidden: new Set(),
  order: "file",
  levels: 8,
  scaled: true,
  offsets: true,
  filter: "",
  busy: new Map(),
  stripHeight: 10,
  available: 500,
};
const labels = (o: Partial<Options>): string[] =>
  layout(buildTree(meta), meta, { ...plain, ...o }).rows.map((r) => "  ".repeat(r.level) + r.label);

test(
  "the tree has groups, counters below their location, and resources; a process with one thread is one row; empty " +
    "groups are left out",
  () => {
    expect(labels({})).toEqual([
      "node 1",
      "  rank 0",
      "    main",
      "      memory",
      "    worker",
      "  rank 1 · main",
      "Resources",
      "  CPU",
    ]);
  },
);

test("a process with one thread is one row, even if the thread has counters", () => {
  const one = {
    groups: [groups[1]],
    tracks: [track("main", { group: 0 }), track("memory", { kind: "counter", parent: 0, depth: 0 })],
  };
  const { rows } = layout(buildTree(one), one, plain);
  expect(rows.map((r) => [r.label, r.level, r.expandable])).toEqual([
    ["rank 0 · main", 0, true],
    ["memory", 1, false],
  ]);
});

test("a collapsed group keeps the tracks below it for its summary", () => {
  const { rows } = layout(buildTree(meta), meta, { ...plain, collapsed: new Set(["g0"]) });
  expect(rows.map((r) => r.key)).toEqual(["g0", "resources", "t4"]);
  expect(rows[0].members).toEqual([0, 1, 2]);
  expect(rows[0].collapsed).toBe(true);
});

test("rows can be hidden and filtered", () => {
  expect(labels({ hidden: new Set(["g1", "t4"]) })).toEqual(["node 1", "  rank 1 · main"]);
  expect(labels({ filter: "WORK" })).toEqual(["node 1", "  rank 0", "    worker"]);
  // a matching group keeps all rows below it
  expect(labels({ filter: "rank 0" })).toEqual(["node 1", "  rank 0", "    main", "      memory", "    worker"]);
  expect(labels({ filter: "nothing" })).toEqual([]);
});

test("rows can be sorted", () => {
  const many = { groups: [], tracks: [track("rank 10"), track("rank 9"), track("rank 1")] };
  const order = (o: Partial<Options>): string[] =>
    layout(buildTree(many), many, { ...plain, ...o }).rows.map((r) => r.label);
  expect(order({})).toEqual(["rank 10", "rank 9", "rank 1"]);
  expect(order({ order: "name" })).toEqual(["rank 1", "rank 9", "rank 10"]);
  expect(
    order({
      order: "busy",
      busy: new Map([
        [0, 5],
        [1, 9],
        [2, 7],
      ]),
    }),
  ).toEqual(["rank 9", "rank 1", "rank 10"]);
});

test("rowAt finds the row at a height", () => {
  const { rows, height } = layout(buildTree(meta), meta, plain);
  let y = 0;
  rows.forEach((r, i) => {
    expect(r.y).toBe(y);
    expect(rowAt(rows, y)).toBe(i);
    expect(rowAt(rows, y + r.height - 1)).toBe(i);
    y += r.height;
  });
  expect(height).toBe(y);
  expect(rowAt(rows, y)).toBe(-1);
  expect(rowAt(rows, -1)).toBe(-1);
});

test("the number of levels limits the strips of a track", () => {
  const one = layout(buildTree(meta), meta, { ...plain, levels: 1 }).rows.find((r) => r.key === "t0");
  expect(one?.strips).toBe(1);
  expect(one?.more).toBe(1);
  expect(layout(buildTree(meta), meta, plain).rows.map((r) => r.more)).toEqual(new Array(8).fill(0));
});

test("curves become lower before spans become unreadable", () => {
  const make = (counters: number): { groups: GroupInfo[]; tracks: TrackInfo[] } => ({
    groups: [],
    tracks: [
      track("main", { depth: 4 }),
      ...Array.from({ length: counters }, (_, i) => track(`c${i}`, { kind: "counter", parent: 0, depth: 0 })),
    ],
  });
  const fit = (counters: number): { strip: number; curve: number; height: number } => {
    const m = make(counters),
      { rows, height } = layout(buildTree(m), m, { ...plain, stripHeight: 0, available: 400 });
    return { strip: rows[0].stripHeight, curve: rows[1]?.extra ?? 0, height };
  };
  expect(fit(2)).toEqual({ strip: 18, curve: 34, height: 4 * 18 + 4 + 2 * 38 });
  // 10 curves of 34 leave no room for spans of 12
  expect(fit(10)).toMatchObject({ strip: 12, curve: 26 });
  for (let n = 0; n < 60; n++) expect(fit(n).strip, `${n} counters`).toBeGreaterThanOrEqual(10);
  expect(fit(40).height).toBeGreaterThan(400);
  // many rows with spans only may be small
  const many = { groups: [], tracks: Array.from({ length: 20 }, (_, i) => track(`r${i}`)) };
  expect(layout(buildTree(many), many, { ...plain, stripHeight: 0, available: 400 }).rows[0].stripHeight).toBe(8);
});

test("rowOfTrack finds the row that shows a track", () => {
  const tree = buildTree(meta),
    { rows } = layout(tree, meta, { ...plain, collapsed: new Set(["g1"]), hidden: new Set(["t4"]) });
  const of = rowOfTrack(rows, tree);
  const key = (t: number): string | undefined => {
    const i = of.get(t);
    return i === undefined ? undefined : rows[i].key;
  };
  expect(key(0)).toBe("g1");
  expect(key(3)).toBe("g1");
  expect(key(2)).toBe("t2");
  expect(key(4)).toBeUndefined();
});

test("a cycle of parents of groups does not cause an endless loop", () => {
  const loop = {
    groups: [
      { name: "a", kind: "node", parent: 1 },
      { name: "b", kind: "node", parent: 0 },
    ],
    tracks: [track("x", { group: 0 })],
  };
  expect(layout(buildTree(loop), loop, plain).rows.some((r) => r.track === 0)).toBe(true);
});

test("the layout takes time in proportion to the number of rows", () => {
  // a step is an access to a property of a track or a group
  const steps = (n: number): number => {
    let looks = 0;
    const counted = <T extends object>(x: T): T =>
      new Proxy(x, {
        get: (o, k) => {
          looks++;
          return Reflect.get(o, k) as unknown;
        },
      });
    const big = {
      groups: Array.from({ length: n / 100 }, (_, i) => counted({ name: `node ${i}`, kind: "node", parent: -1 })),
      tracks: Array.from({ length: n }, (_, i) => counted(track(`rank ${i}`, { group: Math.floor(i / 100) }))),
    };
    const tree = buildTree(big),
      { rows } = layout(tree, big, { ...plain, stripHeight: 0 });
    rowOfTrack(rows, tree);
    expect(rows.length).toBe(n + n / 100);
    return looks;
  };
  const few = steps(1000);
  expect(few).toBeGreaterThan(1000);
  expect(steps(10000)).toBeLessThan(11 * few);
});

test("a row states how many of its levels are not drawn", () => {
  const of = (depth: number, levels: number): string[] => {
    const meta = { groups: [], tracks: [track("deep", { depth })] },
      r = layout(buildTree(meta), meta, { ...plain, levels }).rows[0];
    return [moreMark(r), moreWords(r)];
  };
  expect(of(12, 8)).toEqual(["+4", "4 more levels below"]);
  expect(of(8, 8)).toEqual(["", ""]);
  // the server keeps 255, however many there are
  expect(of(255, 8)).toEqual(["+247 or more", "247 or more levels below"]);
  expect(of(255, 255)).toEqual(["255+", "levels below the first 255, if there are any, are not drawn"]);
});

test("rows become higher on large screens, and curves become lower before spans do", () => {
  const of = (tracks: TrackInfo[], available: number): Row[] => {
    const m = { groups: [], tracks };
    return layout(buildTree(m), m, { ...plain, stripHeight: 0, available }).rows;
  };
  const eight = Array.from({ length: 8 }, (_, i) => track(`rank ${i}`));
  expect(of(eight, 500)[0].stripHeight).toBe(18);
  // a screen of 2160 lines has about 1600 for them
  expect(of(eight, 1600)[0].stripHeight).toBeGreaterThan(40);
  expect(of(eight, 1600).reduce((n, r) => n + r.height, 0)).toBeLessThanOrEqual(1600);
  // more rows than fit: a curve is not much higher than a span
  const both = eight.flatMap((t, i) => [
      t,
      ...[0, 1, 2, 3].map((k) => track(`c${k}`, { kind: "counter", parent: 5 * i, depth: 0 })),
    ]),
    r = of(both, 400);
  expect(r[0].stripHeight).toBeGreaterThanOrEqual(10);
  expect(Math.max(...r.map((x) => x.extra))).toBeLessThanOrEqual(16);
});

test("stacks become lower if rows would not be visible otherwise", () => {
  const of = (available: number): { heights: number[]; height: number } => {
    const m = {
        groups: [],
        tracks: [
          track("M1", { kind: "resource", depth: 7, capacity: 9 }),
          track("M2", { kind: "resource", depth: 7, capacity: 9 }),
          track("c", { kind: "counter", depth: 0 }),
        ],
      },
      { rows, height } = layout(buildTree(m), m, { ...plain, stripHeight: 0, available });
    return { heights: rows.filter((r) => r.stacked).map((r) => r.extra), height };
  };
  // two stacks of seven lanes, the head of a group for both, and one for the counter
  expect(of(400).heights).toEqual([126, 126]);
  for (let available = 160; available < 400; available += 5)
    expect(of(available).height, `${available} pixels`).toBeLessThanOrEqual(available);
  expect(Math.min(...of(160).heights)).toBeGreaterThanOrEqual(36);
});

test("claims that are not scaled by amount have lanes of equal height, and a curve below shows the amount", () => {
  const m = { groups: [], tracks: [track("M1", { kind: "resource", depth: 3, capacity: 9 })] };
  const of = (scaled: boolean) => {
    const r = layout(buildTree(m), m, { ...plain, stripHeight: 12, scaled }).rows.find((x) => x.track === 0);
    return { stacked: r?.stacked, strips: r?.strips, strip: r?.stripHeight, curve: (r?.extra ?? 0) > 0 };
  };
  expect(of(true)).toEqual({ stacked: true, strips: 3, strip: 12, curve: true });
  expect(of(false)).toEqual({ stacked: false, strips: 3, strip: 12, curve: true });
});

test("the page counts the rows below the edge, including a row that is cut", () => {
  const m = { groups: [], tracks: Array.from({ length: 10 }, (_, i) => track(`r${i}`)) },
    { rows } = layout(buildTree(m), m, { ...plain, stripHeight: 18 }),
    h = rows[0].height;
  expect([10 * h, 10 * h - 3, 10 * h - 5, 9 * h, 9 * h - 6, h].map((edge) => hiddenBelow(rows, edge))).toEqual([
    0, 0, 1, 1, 2, 9,
  ]);
  expect(hiddenBelow([], 100)).toBe(0);
});

test("a group states its kind, if it has one, and its number of rows", () => {
  const groups = [
      { name: "machine", kind: "", parent: -1 },
      { name: "rank", kind: "process", parent: 0 },
    ],
    tracks = [track("a", { group: 1 }), track("b", { group: 1 }), track("CPU", { kind: "resource" })];
  const rows = layout(buildTree({ groups, tracks }), { tracks }, plain).rows;
  expect(rows.filter((r) => r.track < 0).map((r) => r.detail)).toEqual(["2 rows", "process, 2 rows", "group, 1 row"]);
});

test("values at the edges of a curve are rounded to three digits before their unit is chosen", () => {
  expect([9999, 12345, 999400, 999950, -999950, 9.999e14, 1e15, 6.65e39, -1.8e301, 0.00123, 0].map(compact)).toEqual([
    "9999",
    "12.3k",
    "999k",
    "1.00M",
    "-1.00M",
    "1.00e+15",
    "1.00e+15",
    "6.65e+39",
    "-1.80e+301",
    "1.2e-3",
    "0",
  ]);
});
