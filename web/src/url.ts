// The state of the page in the fragment of its URL, so that a reload or a copied link shows the same.
import type { Order } from "./rows";
import { initial, type Marks, type State, type Theme } from "./store";
import type { Window } from "./time";

function big(text: string | null): bigint | null { return text !== null && /^-?\d{1,40}$/.test(text) ? BigInt(text) : null; }
function pair(text: string | null): Window | null {
  const [a, b] = (text ?? "").split("~");
  const from = big(a ?? null), to = big(b ?? null);
  return from !== null && to !== null && to > from ? { from, to } : null;
}
function list(text: string | null): Set<string> { return new Set((text ?? "").split(",").filter((x) => /^\d+\/[a-z]+\d*$/.test(x))); }

/** write makes the fragment of a state, without "#"; what is as it begins is left out. */
export function write(s: State): string {
  const q = new URLSearchParams();
  if (s.traces.length > 0) q.set("t", s.traces.join(","));
  if (s.traces.length > 0) q.set("w", `${s.window.from}~${s.window.to}`);
  if (s.collapsed.size > 0) q.set("c", [...s.collapsed].join(","));
  if (s.hidden.size > 0) q.set("h", [...s.hidden].join(","));
  if (s.order !== initial.order) q.set("o", s.order);
  if (s.levels !== initial.levels) q.set("l", String(s.levels));
  if (s.stripHeight !== initial.stripHeight) q.set("sh", String(s.stripHeight));
  if (s.rowFilter !== "") q.set("f", s.rowFilter);
  if (s.selection) q.set("s", `${s.selection.lane}.${s.selection.track}.${s.selection.depth}.${s.selection.time}`);
  if (s.range) q.set("r", `${s.range.from}~${s.range.to}`);
  if (s.marks.some((m) => m !== null)) q.set("m", s.marks.map((m) => (m === null ? "" : String(m))).join("~"));
  if (s.color !== initial.color) q.set("color", s.color);
  if (s.highlight !== null) q.set("hl", s.highlight);
  if (s.arrows !== initial.arrows) q.set("a", s.arrows === "on" ? "1" : "0");
  if (s.align !== initial.align) q.set("align", s.align);
  if (s.shift.some((x) => x !== 0n)) q.set("shift", s.shift.join(","));
  if (s.panel !== initial.panel) q.set("p", s.panel);
  if (s.dock !== initial.dock) q.set("d", String(s.dock));
  if (s.theme !== initial.theme) q.set("theme", s.theme);
  for (const [k, v] of [...s.choices].sort()) q.append("v", `${k}:${v}`);
  // the marks that need no escape in a fragment stay readable
  return q.toString().replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%7E/g, "~").replace(/%3A/g, ":");
}

/** read is the part of a state that a fragment gives; what is damaged or unknown is left out. */
export function read(fragment: string): Partial<State> {
  const q = new URLSearchParams(fragment.replace(/^#/, ""));
  const out: Partial<State> = {};
  const traces = (q.get("t") ?? "").split(",").filter((x) => x !== "");
  if (traces.length > 0) out.traces = traces;
  const w = pair(q.get("w")); if (w) out.window = w;
  out.collapsed = list(q.get("c"));
  out.hidden = list(q.get("h"));
  const o = q.get("o"); out.order = o === "name" || o === "busy" ? (o satisfies Order) : initial.order;
  const l = Number(q.get("l")); out.levels = l >= 1 && l <= 255 ? Math.floor(l) : initial.levels;
  const sh = Number(q.get("sh")); out.stripHeight = sh >= 2 && sh <= 64 ? Math.floor(sh) : initial.stripHeight;
  out.rowFilter = q.get("f") ?? "";
  const s = /^(\d+)\.(\d+)\.(-?\d+)\.(-?\d+)$/.exec(q.get("s") ?? "");
  out.selection = s ? { lane: Number(s[1]), track: Number(s[2]), depth: Number(s[3]), time: BigInt(s[4]) } : null;
  out.range = pair(q.get("r"));
  const m = (q.get("m") ?? "").split("~");
  out.marks = [big(m[0] ?? null), big(m[1] ?? null)] satisfies Marks;
  const color = q.get("color"); out.color = color === "group" || color === "track" ? color : "region";
  out.highlight = q.get("hl");
  const a = q.get("a"); out.arrows = a === "1" ? "on" : a === "0" ? "off" : initial.arrows;
  out.align = q.get("align") === "clock" ? "clock" : "start";
  out.shift = (q.get("shift") ?? "").split(",").map((x) => big(x) ?? 0n);
  out.panel = q.get("p") ?? initial.panel;
  const d = Number(q.get("d")); out.dock = q.has("d") && d >= 0 && d <= 4000 ? d : initial.dock;
  const t = q.get("theme"); out.theme = t === "light" || t === "dark" ? (t satisfies Theme) : "auto";
  out.choices = new Map(q.getAll("v").flatMap((x) => { const m = /^([a-z]+\.[a-z]+):([\s\S]{1,1000})$/.exec(x); return m ? [[m[1], m[2]] as const] : []; }));
  return out;
}
