import { expect, test } from "vitest";
import type { LinkInfo } from "../src/api";
import {
  type Arrow,
  arrowAt,
  atEnd,
  arrowDensity,
  departureTime,
  depthAt,
  spanAtEnd,
  nearestSegment,
  layerOpacity,
  type Segment,
  segments,
} from "../src/arrows";
import { buildTree, layout, rowOfTrack } from "../src/rows";
import { decodeTile } from "../src/tile";
import { makeTile } from "./tiles";

const link = (kind: string, from: [number, string], to: [number, string], count = 1): LinkInfo => ({
  id: "0.1",
  kind,
  name: "",
  from: { track: from[0], time: from[1] },
  to: { track: to[0], time: to[1] },
  count,
  bytes: 8,
  tag: "",
  communicator: "",
});

test("a dependency starts in the last tick of its span", () => {
  expect(departureTime(link("dependency", [0, "100"], [1, "100"]))).toBe(99n);
  expect(departureTime(link("dependency", [0, "0"], [1, "0"]))).toBe(0n);
  expect(departureTime(link("message", [0, "100"], [1, "200"]))).toBe(100n);
});

const held = (depth: number, start: bigint, end: bigint): { depth: number; start: bigint; end: bigint } => ({
  depth,
  start,
  end,
});

test("a received message belongs to the span that ends with it, not to an empty span at the same time", () => {
  const main = held(0, 0n, 100n),
    recv = held(1, 10n, 20n),
    send = held(1, 20n, 20n),
    next = held(1, 20n, 30n);
  const arrives = atEnd(link("message", [0, "5"], [1, "20"]), false),
    leaves = atEnd(link("message", [0, "20"], [1, "30"]), true);
  expect(spanAtEnd([main, recv, send], 20n, arrives, true)).toBe(recv);
  expect(spanAtEnd([main, send, recv, next], 20n, arrives, true)).toBe(recv);
  expect(spanAtEnd([main, recv], 15n, arrives, true)).toBe(recv);
  expect(spanAtEnd([main, send], 20n, arrives, true)).toBe(send);
  expect(spanAtEnd([recv, send], 20n, leaves, true)).toBe(send);
  expect(spanAtEnd([main, recv, next], 20n, leaves, true)).toBe(next);
  // the end of the trace
  expect(spanAtEnd([held(0, 0n, 20n)], 20n, leaves, true)).toEqual(held(0, 0n, 20n));
  expect(spanAtEnd([], 20n, arrives, true)).toBeNull();
});

test("a dependency leads from the claim that ends to the claim that begins", () => {
  const l = link("dependency", [0, "20"], [1, "20"]),
    first = held(0, 10n, 20n),
    long = held(1, 0n, 50n),
    next = held(2, 20n, 30n);
  expect(spanAtEnd([first, long, next], 20n, atEnd(l, true), false)).toBe(first);
  expect(spanAtEnd([first, long, next], 20n, atEnd(l, false), false)).toBe(next);
  expect(spanAtEnd([long], 20n, atEnd(l, true), false)).toBe(long);
});

test("the end of a link lies in the innermost span", () => {
  const t = decodeTile(
    makeTile(100, [
      { track: 0, depth: 0, kind: 0, runs: [[0, 0, 100, 255, 255, 255, 7]] },
      { track: 0, depth: 1, kind: 0, runs: [[1, 20, 10, 255, 255, 255, 7]] },
      { track: 0, depth: 0, kind: 1, runs: [[1, 25, 1, 255, 1, 255, 0]] },
    ]),
  );
  expect(depthAt(t, t.strips, 25.5, true, false)).toBe(1);
  expect(depthAt(t, t.strips, 30, true, true)).toBe(1);
  expect(depthAt(t, t.strips, 30, true, false)).toBe(0);
  expect(depthAt(t, t.strips, 40, true, false)).toBe(0);
  expect(depthAt(t, t.strips, 120, true, false)).toBe(-1);
});

test("the end of a link at a resource lies in the lane whose claim ends or begins there", () => {
  const t = decodeTile(
    makeTile(
      100,
      [0, 10, 20].map((x, depth) => ({ track: 0, depth, kind: 0, runs: [[0, x, 30, 255, 255, 255, 7]] })),
    ),
  );
  expect(depthAt(t, t.strips, 29.9, false, true)).toBe(0);
  expect(depthAt(t, t.strips, 20.1, false, false)).toBe(2);
  expect(depthAt(t, t.strips, 25, false, false)).toBe(-1);
  expect(depthAt(t, t.strips, 45, false, false)).toBe(2);
});

test("arrows end at the given heights, and bundles in the middle of the rows", () => {
  const meta = {
    groups: [],
    tracks: [0, 1].map((i) => ({
      kind: "location" as const,
      name: `r${i}`,
      sort: "thread",
      id: "",
      group: -1,
      parent: -1,
      depth: 3,
      spans: 1,
      events: 1,
      instants: 0,
      first: "0",
      last: "1",
      unit: "",
      capacity: 0,
      low: 0,
      high: 0,
      style: "",
    })),
  };
  const tree = buildTree(meta),
    { rows } = layout(tree, meta, {
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
    });
  const arrow = (count: number): Arrow => ({
    link: link("message", [0, "10"], [1, "20"], count),
    start: 10n,
    end: 20n,
  });
  const place = (a: Arrow): { y0: number; y1: number } =>
    segments(
      [a],
      rows,
      rowOfTrack(rows, tree),
      (t) => Number(t) * 10,
      0,
      500,
      300,
      (_, track) => (track === 0 ? 7 : null),
    )[0];
  // two rows of 34 pixels
  expect(place(arrow(1))).toMatchObject({ x0: 100, y0: 7, x1: 200, y1: 51 });
  expect(place(arrow(5))).toMatchObject({ x0: 100, y0: 17, x1: 200, y1: 51 });
  // a bundle no longer than what it was collected from has no slope
  const short = segments(
    [{ ...arrow(5), end: 11n }],
    rows,
    rowOfTrack(rows, tree),
    (t) => Number(t) * 10,
    0,
    500,
    300,
  )[0];
  expect(short).toMatchObject({ x0: 105, x1: 105 });
  const s = segments([arrow(1)], rows, rowOfTrack(rows, tree), (t) => Number(t) * 10, 0, 500, 300);
  expect(nearestSegment(s, 150, 34, 5)?.arrow.link.id).toBe("0.1");
  expect(nearestSegment(s, 150, 60, 5)).toBeNull();
});

test("a click selects the span unless an arrow is directly under it", () => {
  const down = (x: number): Segment => ({
    x0: x,
    y0: 0,
    x1: x,
    y1: 100,
    count: 1,
    kind: "message",
    arrow: { link: link("message", [0, "1"], [1, "2"]), start: 1n, end: 2n },
  });
  const one = [down(50)],
    span = { w: 200, h: 12 };
  expect(arrowAt(one, 51, 50, span)).toBe(one[0]);
  expect(arrowAt(one, 53, 50, span)).toBe(one[0]);
  expect(arrowAt(one, 55, 50, span)).toBeNull();
  // with another arrow beside it, the pointer must be closer
  const two = [down(50), down(58)];
  expect(arrowAt(two, 51, 50, span)).toBe(two[0]);
  expect(arrowAt(two, 53, 50, span)).toBeNull();
  expect(arrowAt(one, 53, 50, null)).toBe(one[0]);
  expect(arrowAt(one, 56, 50, null)).toBeNull();
  // the arrow would cover this span
  expect(arrowAt(one, 50, 50, { w: 3, h: 5 })).toBeNull();
  const many = Array.from({ length: 40 }, (_, i) => down(30 + i));
  for (let x = 30; x < 70; x += 0.5) expect(arrowAt(many, x, 50, span)).toBeNull();
  expect(arrowAt(many, 50, 50, null)).not.toBeNull();
});

test("overlapping arrows become translucent, and others do not", () => {
  const at = (x0: number, x1: number): Segment => ({
    x0,
    y0: 0,
    x1,
    y1: 160,
    count: 1,
    kind: "message",
    arrow: { link: link("message", [0, "0"], [1, "1"]), start: 0n, end: 0n },
  });
  // 300 in 60 pixels lie five deep; one far away is alone
  const many = Array.from({ length: 300 }, (_, i) => at(i / 5, i / 5)),
    alone = at(500, 500);
  const dense = arrowDensity([...many, alone], 1000, 160);
  expect(dense(many[120])).toBeCloseTo(5, 5);
  expect(layerOpacity(dense(alone))).toBeGreaterThan(215);
  // one hides less than a fifth of the background, all of them half
  const a = layerOpacity(5) / 255;
  expect(a).toBeLessThan(0.2);
  expect((1 - a) ** 5).toBeGreaterThan(0.45);
  // an arrow outside of the screen has the density 0
  expect(dense(at(-900, -800))).toBe(0);
});
