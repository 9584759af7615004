// The conversion of the page's state to the fragment of its URL, and back. After a reload, or from a
// copied link, the page shows the same picture.
import type { LinkInfo } from "./api";
import type { Order } from "./rows";
import type { ColorMode } from "./colors";
import { initialState, type Marks, maxChoiceLength, type State, type Theme } from "./store";
import type { Window } from "./time";
import { sameWindow } from "./view";

function parseBig(text: string | null): bigint | null {
  return text !== null && /^-?\d{1,40}$/.test(text) ? BigInt(text) : null;
}
function parsePair(text: string | null): Window | null {
  const [a, b, rest] = (text ?? "").split("~");
  const from = parseBig(a ?? null),
    to = parseBig(b ?? null);
  return rest === undefined && from !== null && to !== null && to > from ? { from, to } : null;
}
const rowName = /^\d+\/[a-z]+\d*$/,
  topOfLane = /^\d+\/[a-z]+\d*:\d{1,9}$/;

/** LinkKey identifies a link in requests to the server. */
export interface LinkKey {
  lane: number;
  track: number;
  time: bigint;
  id: string;
}

/**
 * linkKey returns the key of a link for the URL. It returns null for a bundle, because the URL
 * contains all fields of a bundle (see bundle).
 */
export function linkKey(lane: number, l: LinkInfo): LinkKey | null {
  return l.count === 1 && l.id !== ""
    ? { lane, track: (l.unsent ? l.to : l.from).track, time: BigInt(l.from.time), id: l.id }
    : null;
}

/** formatBundle formats all fields of a selected bundle, because the server makes other bundles for other windows. */
function formatBundle(lane: number, l: LinkInfo): string {
  return [lane, l.kind, l.from.track, l.to.track, l.from.time, l.to.time, l.count, l.bytes].join(".");
}

function readBundle(v: string): State["link"] {
  const m = /^(\d{1,9})\.([a-z]{1,20})\.(\d{1,9})\.(\d{1,9})\.(-?\d{1,40})\.(-?\d{1,40})\.(\d{1,15})\.(\d{1,15})$/.exec(
    v,
  );
  return m
    ? {
        lane: Number(m[1]),
        link: {
          id: "",
          kind: m[2],
          name: "",
          from: { track: Number(m[3]), time: m[5] },
          to: { track: Number(m[4]), time: m[6] },
          count: Number(m[7]),
          bytes: Number(m[8]),
          tag: "",
          communicator: "",
        },
      }
    : null;
}

/**
 * writeFragment returns the fragment for a state, without "#". It leaves out initial values, and the window if it is
 * the whole: a trace that is recorded again may be longer.
 */
export function writeFragment(s: State, whole: Window | null = null): string {
  const q = new URLSearchParams();
  if (s.traces.length > 0) q.set("t", s.traces.join(","));
  if (s.traces.length > 0 && !(whole && sameWindow(s.window, whole)))
    q.set("w", `${s.window.from}~${s.window.to}`);
  if (s.collapsed.size > 0) q.set("c", [...s.collapsed].join(","));
  if (s.hidden.size > 0) q.set("h", [...s.hidden].join(","));
  if (s.order !== initialState.order) q.set("o", s.order);
  if (s.order === "busy" && s.orderWindow) q.set("ow", `${s.orderWindow.from}~${s.orderWindow.to}`);
  if (s.top !== initialState.top) q.set("y", s.top);
  if (s.levels !== initialState.levels) q.set("l", String(s.levels));
  if (!s.scaled) q.set("cs", "0");
  else if (!s.offsets) q.set("cs", "1");
  if (s.stripHeight !== initialState.stripHeight) q.set("sh", String(s.stripHeight));
  if (s.rowFilter !== "") q.set("f", s.rowFilter);
  if (s.selection) q.set("s", `${s.selection.lane}.${s.selection.track}.${s.selection.depth}.${s.selection.time}`);
  const k = s.link ? linkKey(s.link.lane, s.link.link) : null;
  if (k) q.set("k", `${k.lane}.${k.track}.${k.time}.${k.id}`);
  if (s.link && s.link.link.count > 1) q.set("b", formatBundle(s.link.lane, s.link.link));
  const f = s.followed && s.selection ? linkKey(s.followed.lane, s.followed.link) : null;
  if (f) q.set("fk", `${f.lane}.${f.track}.${f.time}.${f.id}`);
  if (s.range) q.set("r", `${s.range.from}~${s.range.to}`);
  if (s.marks.some((m) => m !== null)) q.set("m", s.marks.map((m) => (m === null ? "" : String(m))).join("~"));
  if (s.loose !== "") q.set("mu", s.loose);
  if (s.place !== null) q.set("at", String(s.place));
  if (s.color !== initialState.color) q.set("color", s.color);
  if (s.highlight !== null) q.set("hl", s.highlight);
  if (s.arrows !== initialState.arrows) q.set("a", s.arrows === "on" ? "1" : "0");
  if (s.showPath) q.set("cp", "1");
  if (s.showWaits) q.set("wa", "1");
  if (s.align !== initialState.align) q.set("align", s.align);
  if (s.shift.some((x) => x !== 0n)) q.set("shift", s.shift.join(","));
  if (s.panel !== initialState.panel) q.set("p", s.panel);
  if (s.dock !== initialState.dock) q.set("d", String(s.dock));
  if (s.theme !== initialState.theme) q.set("theme", s.theme);
  for (const [k, v] of [...s.choices].sort()) q.append("v", `${k}:${v}`);
  // keep characters readable that need no escape in a fragment
  return q.toString().replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%7E/g, "~").replace(/%3A/g, ":");
}

/**
 * fragmentKeys maps each known key of a fragment to a description. The description states what the
 * page shows if it does not understand the value.
 */
const fragmentKeys: Readonly<Record<string, string>> = {
  t: "",
  w: "the whole is shown",
  c: "no group is folded for it",
  h: "no row is hidden for it",
  o: "rows are as in the file",
  ow: "rows are sorted by what is shown now",
  y: "rows are shown from the top",
  l: `${initialState.levels} levels are shown`,
  sh: "rows fit the screen",
  cs: "the height of a claim is its amount",
  f: "",
  s: "nothing is selected",
  k: "no message is selected",
  b: "no messages are selected",
  fk: "no message led here",
  r: "no range is selected",
  m: "nothing is measured",
  mu: "ends are taken for edges",
  at: "no place is marked",
  color: "colours are by region",
  hl: "",
  a: "arrows are shown where there are few",
  cp: "the critical path is not drawn",
  wa: "waiting time is not hatched",
  align: "traces begin together",
  shift: "that trace is not shifted",
  p: "the profile is shown",
  d: "the tables have their usual height",
  theme: "colours follow the system",
  v: "the table is as it is by itself",
};

/** fragmentPieces splits a fragment into pieces, each of which has a key and a value. */
function fragmentPieces(fragment: string): [string, string][] {
  return [...new URLSearchParams(fragment.replace(/^#/, ""))];
}

/** formerPanels maps the former ids of panels, which addresses may have, to the present ones. */
const formerPanels = new Map([["compare", "diff"]]);

/** panelOf returns the present id of a panel. */
function panelOf(id: string): string {
  return formerPanels.get(id) ?? id;
}

/** cutShort shortens a text that is quoted from a URL. */
export function cutShort(text: string): string {
  return [...text].length > 40 ? [...text].slice(0, 40).join("") + "…" : text;
}

/** readSelection reads the selected span from an address. It returns null if the text is different. */
function readSelection(v: string): State["selection"] {
  const s = /^(\d{1,9})\.(\d{1,9})\.(-1|\d{1,9})\.(-?\d{1,40})$/.exec(v);
  return s ? { lane: Number(s[1]), track: Number(s[2]), depth: Number(s[3]), time: BigInt(s[4]) } : null;
}

/**
 * readFragment returns the state that a fragment describes. It leaves out damaged or unknown pieces. For
 * each of them, it calls wrong with the piece and with the thing that the page shows instead.
 */
export function readFragment(
  fragment: string,
  wrong: (piece: string, instead: string) => void = () => undefined,
): Partial<State> {
  const q = new Map<string, string>(),
    strange: string[] = [];
  for (const [k, v] of fragmentPieces(fragment)) {
    // an old address, or one written by hand, may have unknown keys
    if (fragmentKeys[k] === undefined) strange.push(cutShort(v === "" ? k : `${k}=${v}`));
    else if (!q.has(k)) q.set(k, v);
  }
  const bad = (k: string, v = q.get(k) ?? ""): void => wrong(cutShort(`${k}=${v}`), fragmentKeys[k] ?? "");
  // checked returns f of the value of a piece. If the piece is missing or f returns null, it returns
  // otherwise.
  const checked = <T>(k: string, f: (v: string) => T | null, otherwise: T): T => {
    const v = q.get(k);
    if (v === undefined) return otherwise;
    const x = f(v);
    if (x === null) bad(k);
    return x ?? otherwise;
  };
  const one =
    <T extends string>(...words: T[]) =>
    (v: string): T | null =>
      words.find((x) => x === v) ?? null;
  const whole =
    (low: number, high: number) =>
    (v: string): number | null =>
      /^\d{1,5}$/.test(v) && Number(v) >= low && Number(v) <= high ? Number(v) : null;
  const list = (k: string, of: RegExp): string[] => {
    const all = (q.get(k) ?? "").split(",").filter((x) => x !== "");
    for (const x of all) if (!of.test(x)) bad(k, x);
    return all.filter((x) => of.test(x));
  };
  const out: Partial<State> = {};
  const traces = (q.get("t") ?? "").split(",").filter((x) => x !== "");
  if (traces.length > 0) out.traces = traces;
  const w = checked("w", parsePair, null);
  if (w) out.window = w;
  out.collapsed = new Set(list("c", rowName));
  out.hidden = new Set(list("h", rowName));
  out.order = checked<Order>("o", one("file", "name", "busy"), initialState.order);
  out.orderWindow = checked("ow", parsePair, null);
  out.top = list("y", topOfLane).join(",");
  out.levels = checked("l", whole(1, 255), initialState.levels);
  out.stripHeight = checked("sh", (v) => (v === "0" ? 0 : whole(2, 64)(v)), initialState.stripHeight);
  const heights = checked("cs", one("0", "1"), null);
  out.scaled = heights !== "0";
  out.offsets = heights !== "1";
  out.rowFilter = q.get("f") ?? "";
  out.selection = checked("s", readSelection, null);
  checked("k", readLinkKey, null);
  checked("fk", readLinkKey, null);
  const b = checked("b", readBundle, null);
  if (b) out.link = b;
  out.range = checked("r", parsePair, null);
  out.marks = checked<Marks>(
    "m",
    (v) => {
      const m = v.split("~"),
        [a, b] = [parseBig(m[0] ?? null), parseBig(m[1] ?? null)];
      return a === null && b === null ? null : [a, b];
    },
    [null, null],
  );
  out.loose = checked<string>("mu", one("1", "2", "12"), "");
  out.place = checked("at", parseBig, null);
  out.color = checked<ColorMode>("color", one("region", "group", "track"), initialState.color);
  out.highlight = q.get("hl") ?? null;
  const a = checked("a", one("0", "1"), null);
  out.arrows = a === "1" ? "on" : a === "0" ? "off" : initialState.arrows;
  out.showPath = checked("cp", one("1"), null) === "1";
  out.showWaits = checked("wa", one("1"), null) === "1";
  out.align = checked("align", one("start", "clock"), initialState.align);
  out.shift = (q.get("shift") ?? "").split(",").map((x) => {
    const v = parseBig(x);
    if (v === null && x !== "") bad("shift", x);
    return v ?? 0n;
  });
  out.panel = panelOf(q.get("p") ?? initialState.panel);
  out.dock = checked("d", whole(0, 4000), initialState.dock);
  out.theme = checked<Theme>("theme", one("auto", "light", "dark"), "auto");
  out.choices = new Map(
    fragmentPieces(fragment)
      .filter(([k]) => k === "v")
      .flatMap(([, x]) => {
        const m = /^([a-z]+)\.([a-z]+\d{0,7}):([\s\S]+)$/.exec(x),
          known = m && m[3].length <= maxChoiceLength;
        if (!known) bad("v", x);
        return known ? [[`${panelOf(m[1])}.${m[2]}`, m[3]] as const] : [];
      }),
  );
  for (const piece of strange) wrong(piece, "");
  return out;
}

function readLinkKey(v: string): LinkKey | null {
  const m = /^(\d{1,9})\.(\d{1,9})\.(-?\d{1,40})\.(.{1,40})$/.exec(v);
  return m ? { lane: Number(m[1]), track: Number(m[2]), time: BigInt(m[3]), id: m[4] } : null;
}

/**
 * readLink returns the key of the selected link in a fragment. The caller requests the rest of the
 * link from the server.
 */
export function readLink(fragment: string): LinkKey | null {
  return readKey(fragment, "k");
}

/** readFollowed returns the key of the link that led to the selection. */
export function readFollowed(fragment: string): LinkKey | null {
  return readKey(fragment, "fk");
}

function readKey(fragment: string, key: string): LinkKey | null {
  const k = fragmentPieces(fragment).find(([x]) => x === key);
  return k ? readLinkKey(k[1]) : null;
}

/**
 * noticeOf describes the pieces of an address that the page did not understand, and the things that
 * it shows instead. It returns "" if there are none.
 */
export function noticeOf(wrong: readonly (readonly [piece: string, instead: string])[]): string {
  if (wrong.length === 0) return "";
  const said = wrong.slice(0, 3).map(([piece, instead]) => (instead === "" ? piece : `${piece} (${instead})`));
  return (
    `Not understood in this address: ${said.join("; ")}` + `${wrong.length > 3 ? ` and ${wrong.length - 3} more` : ""}.`
  );
}
