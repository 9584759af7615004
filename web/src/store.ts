// The state of the page. Views read it, change it by set, and listen to changes.
import type { LinkInfo } from "./api";
import type { ColorMode } from "./colors";
import type { Order } from "./rows";
import type { Window } from "./time";

/** Theme is the user's choice; "auto" follows the system. */
export type Theme = "auto" | "light" | "dark";
/** Mode is the effect of a plain drag or click on the time line. */
export type Mode = "pan" | "range" | "measure";
/** Selection is a span of a track, or an instant if depth is -1. time is in the lane's own ticks. */
export interface Selection {
  lane: number;
  track: number;
  depth: number;
  time: bigint;
}
/** Arrows selects whether links are drawn; "auto" draws them if there are few. */
export type Arrows = "auto" | "on" | "off";
/** Marks are the ends of the measured time, in axis ticks. */
export type Marks = [bigint | null, bigint | null];

/** State determines the picture; a part of it is kept in the URL. */
export interface State {
  traces: string[];
  /** window is the visible time, in ticks of the first trace since its first event (the axis). */
  window: Window;
  /** collapsed and hidden hold "lane/key". */
  collapsed: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  order: Order;
  /**
   * orderWindow is the time whose busy times determine the order of rows, in axis ticks; null for
   * the first visible window.
   */
  orderWindow: Window | null;
  /**
   * top has the first visible row of each scrolled lane, and the number of its pixels above the
   * edge: "0/t17:5,1/g2:0".
   */
  top: string;
  levels: number;
  stripHeight: number;
  rowFilter: string;
  selection: Selection | null;
  /** link is the selected link; a span and a link are never selected together. */
  link: { lane: number; link: LinkInfo } | null;
  /** followed is the link that led to the selection. */
  followed: { lane: number; link: LinkInfo } | null;
  range: Window | null;
  marks: Marks;
  /** loose lists the marks that are not at the edge of a span: "", "1", "2" or "12". */
  loose: string;
  /** place is a time that the user went to, in axis ticks. */
  place: bigint | null;
  color: ColorMode;
  /** highlight is the only region, or group if colours are by group, that keeps its colour. */
  highlight: string | null;
  arrows: Arrows;
  /** path is set if the critical path is drawn over the rows. */
  path: boolean;
  /** waits is set if waiting time is hatched. */
  waits: boolean;
  mode: Mode;
  /** align is the alignment of several traces: by their starts or by time of day. */
  align: "start" | "clock";
  shift: bigint[];
  panel: string;
  dock: number;
  theme: Theme;
  /** choices has the choices in the panels, such as the order of a table, by "panel.what". */
  choices: ReadonlyMap<string, string>;
}

/** initial is the state at the start. */
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
  path: false,
  waits: false,
  mode: "pan",
  align: "start",
  shift: [],
  panel: "profile",
  dock: 260,
  theme: "auto",
  choices: new Map(),
};

type Listener = (changed: ReadonlySet<keyof State>) => void;

/** Store holds the state and notifies listeners of changes. */
export class Store {
  private listeners: Listener[] = [];
  constructor(private current: State) {}
  /** state is the current state; it is never modified in place. */
  get state(): Readonly<State> {
    return this.current;
  }
  /** set changes parts of the state and notifies all listeners immediately. */
  set(patch: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const k of Object.keys(patch) as (keyof State)[]) if (this.current[k] !== patch[k]) changed.add(k);
    if (changed.size === 0) return;
    this.current = { ...this.current, ...patch };
    for (const l of this.listeners) l(changed);
  }
  /** listen registers a listener; the result removes it. */
  listen(l: Listener): () => void {
    this.listeners.push(l);
    return () => {
      this.listeners = this.listeners.filter((x) => x !== l);
    };
  }
}
