import { expect, test } from "vitest";
import { initialState, type State } from "../src/store";
import { noticeOf, readFragment, readFollowed, readLink, writeFragment } from "../src/url";

const full: State = {
  traces: ["a1", "b2"],
  window: { from: 9007199254740993n, to: 9007199254750001n },
  collapsed: new Set(["0/g1", "1/resources"]),
  hidden: new Set(["0/t17"]),
  order: "busy",
  orderWindow: { from: 3n, to: 90n },
  top: "0/t17:5,1/g2:0",
  levels: 3,
  stripHeight: 12,
  scaled: false,
  offsets: true,
  rowFilter: "rank 1 & <b>",
  selection: { lane: 1, track: 17, depth: 2, time: 9007199254740995n },
  range: { from: 5n, to: 17n },
  marks: [9007199254740993n, null],
  loose: "1",
  place: 9007199254741000n,
  color: "group",
  highlight: "MPI_Send & 100 % \u202E,~",
  arrows: "on",
  showPath: true,
  showWaits: true,
  link: null,
  followed: null,
  mode: "pan",
  align: "clock",
  shift: [0n, -12n],
  panel: "flame",
  dock: 300,
  theme: "dark",
  choices: new Map([
    ["profile.by", "location"],
    ["profile.sort", "-sent: bytes, & more"],
    ["locations.filter", "rank 1~2"],
  ]),
};

test("a URL restores its state", () =>
  expect({ ...initialState, ...readFragment("#" + writeFragment(full)) }).toEqual(full));

test("the URL of the initial state is short", () =>
  expect(writeFragment({ ...initialState, traces: ["a1"], window: { from: 0n, to: 100n } })).toBe("t=a1&w=0~100"));

// a trace that is recorded again may be longer: its address still stands for the whole
test("the address of the whole time line has no window", () => {
  const s = { ...initialState, traces: ["a1"], window: { from: 0n, to: 100n } };
  expect(writeFragment(s, { from: 0n, to: 100n })).toBe("t=a1");
  expect(writeFragment(s, { from: 0n, to: 101n })).toBe("t=a1&w=0~100");
});

test("a damaged URL gives the initial state", () => {
  for (const bad of [
    "#w=5~x",
    "#w=9~2",
    "#t=&s=1.2",
    "#l=-3&d=x&o=up&theme=pink&m=~~&shift=a,b&c=../x,0/<i>",
    "#%E0%A4%A",
    "#v=profile&v=../x:1&v=profile.sort:",
    "#" + "~".repeat(1000),
  ]) {
    const s = readFragment(bad);
    expect(s.window).toBeUndefined();
    expect(s.traces).toBeUndefined();
    expect(s.selection).toBeNull();
    expect(s.levels).toBe(initialState.levels);
    expect(s.collapsed?.size).toBe(0);
    expect(s.theme).toBe("auto");
    expect(s.choices?.size).toBe(0);
  }
});

test("the choices of panels are read as they were written", () =>
  expect(
    writeFragment({
      ...initialState,
      traces: ["a1"],
      window: { from: 0n, to: 100n },
      choices: new Map([
        ["profile.sort", "-count"],
        ["profile.by", "group"],
      ]),
    }),
  ).toBe("t=a1&w=0~100&v=profile.by:group&v=profile.sort:-count"));
test("damaged and unknown pieces of a URL are reported, with what is shown instead", () => {
  const reported = (fragment: string): [string, string][] => {
    const out: [string, string][] = [];
    readFragment(fragment, (piece, instead) => out.push([piece, instead]));
    return out;
  };
  expect(reported("#" + writeFragment(full))).toEqual([]);
  for (const piece of [
    "w=5",
    "w=9~2",
    "w=1~2~3",
    "o=up",
    "ow=x",
    "y=0/t1",
    "l=0",
    "l=1e2",
    "sh=99",
    "s=1.2",
    "s=0.0.-2.5",
    "k=1.2",
    "b=0.message.1.2.3.4.5",
    "r=a~b",
    "m=~",
    "at=1.5",
    "color=rainbow",
    "a=yes",
    "align=left",
    "d=-1",
    "theme=pink",
    "v=profile",
  ]) {
    const list = reported("#t=a1&" + piece);
    expect(
      list.map(([p]) => p),
      piece,
    ).toEqual([piece]);
    expect(list[0][1], piece).not.toBe("");
  }
  expect(reported("#c=0/g1,../x&h=0/t1")).toEqual([["c=../x", "no group is folded for it"]]);
  expect(reported("#shift=5,a")).toEqual([["shift=a", "that trace is not shifted"]]);
  expect(reported("#colour=blue&w=0~5")).toEqual([["colour=blue", ""]]);
  expect(noticeOf([])).toBe("");
  expect(noticeOf(reported("#w=5&zz=1"))).toBe("Not understood in this address: w=5 (the whole is shown); zz=1.");
  expect(noticeOf(reported("#a1&a2&a3&a4&a5"))).toContain("a3 and 2 more");
  expect(reported("#f=" + "x".repeat(100) + "&w=" + "9".repeat(100))[0][0].length).toBeLessThan(60);
});

test("a URL restores a selected message and a selected bundle", () => {
  const link = {
    id: "3.17",
    kind: "message",
    name: "",
    from: { track: 4, time: "9007199254740993" },
    to: { track: 5, time: "9007199254740999" },
    count: 1,
    bytes: 8,
    tag: "",
    communicator: "",
  };
  expect(readLink(writeFragment({ ...full, link: { lane: 1, link } }))).toEqual({
    lane: 1,
    track: 4,
    time: 9007199254740993n,
    id: "3.17",
  });
  expect(readLink(writeFragment({ ...full, link: { lane: 1, link: { ...link, count: 2 } } }))).toBeNull();
  expect(readLink(writeFragment({ ...full, link: { lane: 1, link: { ...link, unsent: true } } }))?.track).toBe(5);
  const many = { lane: 1, link: { ...link, id: "", count: 2 } };
  expect(readFragment(writeFragment({ ...full, link: many })).link).toEqual(many);
  expect(readFragment(writeFragment({ ...full, link: { lane: 1, link } })).link).toBeUndefined();
});

test("a URL names the message that led to a selection", () => {
  const link = {
      id: "m7",
      kind: "message",
      name: "",
      from: { track: 3, time: "9007199254740993" },
      to: { track: 4, time: "9007199254740999" },
      count: 1,
      bytes: 8,
      tag: 1,
      communicator: 0,
    },
    selection = { lane: 1, track: 4, depth: 0, time: 5n };
  const url = writeFragment({
    ...initialState,
    traces: ["a1", "b2"],
    window: { from: 0n, to: 9n },
    selection,
    followed: { lane: 1, link },
  });
  expect(readFollowed("#" + url)).toEqual({ lane: 1, track: 3, time: 9007199254740993n, id: "m7" });
  // without what it led to it says nothing
  expect(
    readFollowed("#" + writeFragment({ ...initialState, traces: ["a1"], followed: { lane: 1, link } })),
  ).toBeNull();
});

test("an older URL of a panel opens the panel with its choices", () => {
  const s = readFragment("#t=a1&p=compare&v=compare.a:1~5&v=profile.by:group");
  expect(s.panel).toBe("diff");
  expect([...(s.choices ?? [])]).toEqual([
    ["diff.a", "1~5"],
    ["profile.by", "group"],
  ]);
});
