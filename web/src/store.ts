// The one place where the state of the page is kept. Views read it, change it by set, and are told.
import type { LinkInfo } from "./api";
import type { ColorMode } from "./colors";
import type { Order } from "./rows";
import type { Window } from "./time";

/** Theme is what the user chose; "auto" follows the system. */
export type Theme = "auto" | "light" | "dark";
/** Mode is what a plain drag or click on the time line does. */
export type Mode = "pan" | "range" | "measure";
/** Selection is a span (or an instant, depth -1) of a track. time is in the lane's own ticks. */
export interface Selection {
  lane: number;
  track: number;
  depth: number;
  time: bigint;
}
/** Arrows says whether links are drawn; "auto" draws them where there are few. */
export type Arrows = "auto" | "on" | "off";
/** Mark is an end of the measuring tool, in axis ticks. */
export type Marks = [bigint | null, bigint | null];

/** State is all that makes the picture; what of it outlives a reload goes into the URL. */
export interface State {
  traces: string[];
  /** window is what the screen shows, in ticks of the first trace since its first event (the axis). */
  window: Window;
  /** collapsed and hidden hold "lane/key". */
  collapsed: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  order: Order;
  /** orderWindow is the time by whose busy times the rows are sorted, in axis ticks; null for that which the screen shows first. */
  orderWindow: Window | null;
  /** top says for each lane that is scrolled which row is the first one seen, and how many pixels of it are above the edge: "0/t17:5,1/g2:0". */
  top: string;
  levels: number;
  stripHeight: number;
  rowFilter: string;
  selection: Selection | null;
  /** link is the link that is selected; a span and a link are never selected both. */
  link: { lane: number; link: LinkInfo } | null;
  /** followed is the link that led to the selection. */
  followed: { lane: number; link: LinkInfo } | null;
  range: Window | null;
  marks: Marks;
  /** loose are the marks that lie on no edge of a span: "", "1", "2" or "12". */
  loose: string;
  /** place is a time that was gone to, in axis ticks. */
  place: bigint | null;
  color: ColorMode;
  /** highlight is the name of a region, or of a group where colours are by group, that alone keeps its colour. */
  highlight: string | null;
  arrows: Arrows;
  mode: Mode;
  /** align says how several traces lie on the axis: each from its start, by time of day, or by shift. */
  align: "start" | "clock";
  shift: bigint[];
  panel: string;
  dock: number;
  theme: Theme;
  /** choices are what is chosen in the panels, such as the order of a table, by "panel.what". */
  choices: ReadonlyMap<string, string>;
}

/** initial is the state before anything is known. */
export const initial: State = {
  traces: [],
  window: { from: 0n, to: 1n },
  collapsed: new Set(),
  hidden: new Set(),
  order: "file",
  orderWindow: null,
  top: "",
  levels: 8,
  stripHeight: 0,
  rowFilter: "",
  selection: null,
  link: null,
  followed: null,
  range: null,
  marks: [null, null],
  loose: "",
  place: null,
  color: "region",
  highlight: null,
  arrows: "auto",
  mode: "pan",
  align: "start",
  shift: [],
  panel: "profile",
  dock: 260,
  theme: "auto",
  choices: new Map(),
};

type Listener = (changed: ReadonlySet<keyof State>) => void;

/** Store holds the state and tells listeners which parts of it changed. */
export class Store {
  private listeners: Listener[] = [];
  constructor(private current: State) {}
  /** state is the present state; it is never changed in place. */
  get state(): Readonly<State> {
    return this.current;
  }
  /** set changes parts of the state and tells everybody at once. */
  set(patch: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const k of Object.keys(patch) as (keyof State)[]) if (this.current[k] !== patch[k]) changed.add(k);
    if (changed.size === 0) return;
    this.current = { ...this.current, ...patch };
    for (const l of this.listeners) l(changed);
  }
  /** listen calls back after each change; the result takes the listener away. */
  listen(l: Listener): () => void {
    this.listeners.push(l);
    return () => {
      this.listeners = this.listeners.filter((x) => x !== l);
    };
  }
}
