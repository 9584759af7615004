import { expect, test } from "vitest";
import { initial, type State } from "../src/store";
import { read, write } from "../src/url";

const full: State = {
  traces: ["a1", "b2"], window: { from: 9007199254740993n, to: 9007199254750001n }, collapsed: new Set(["0/g1", "1/resources"]), hidden: new Set(["0/t17"]), order: "busy", levels: 3, stripHeight: 12, rowFilter: "rank 1 & <b>",
  selection: { lane: 1, track: 17, depth: 2, time: 9007199254740995n }, range: { from: 5n, to: 17n }, marks: [9007199254740993n, null], color: "group", highlight: "MPI_Send & 100 % \u202E,~",
  arrows: "on", link: null, mode: "pan", align: "clock", shift: [0n, -12n], panel: "flame", dock: 300, theme: "dark",
  choices: new Map([["profile.by", "location"], ["profile.sort", "-sent: bytes, & more"], ["locations.filter", "rank 1~2"]]),
};

test("a state comes back from its URL", () => expect({ ...initial, ...read("#" + write(full)) }).toEqual(full));

test("an untouched state makes a short URL", () => expect(write({ ...initial, traces: ["a1"], window: { from: 0n, to: 100n } })).toBe("t=a1&w=0~100"));

test("damaged URLs give what begins", () => {
  for (const bad of ["#w=5~x", "#w=9~2", "#t=&s=1.2", "#l=-3&d=x&o=up&theme=pink&m=~~&shift=a,b&c=../x,0/<i>", "#%E0%A4%A", "#v=profile&v=../x:1&v=profile.sort:", "#" + "~".repeat(1000)]) {
    const s = read(bad);
    expect(s.window).toBeUndefined();
    expect(s.traces).toBeUndefined();
    expect(s.selection).toBeNull();
    expect(s.levels).toBe(initial.levels);
    expect(s.collapsed?.size).toBe(0);
    expect(s.theme).toBe("auto");
    expect(s.choices?.size).toBe(0);
  }
});

test("choices of panels are read as they are written", () => expect(write({ ...initial, traces: ["a1"], window: { from: 0n, to: 100n }, choices: new Map([["profile.sort", "-count"], ["profile.by", "group"]]) })).toBe("t=a1&w=0~100&v=profile.by:group&v=profile.sort:-count"));
