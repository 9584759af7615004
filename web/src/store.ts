// The state of the page. Views read it, change it with set, and listen to changes.
import type { LinkInfo } from "./api";
import type { ColorMode } from "./colors";
import type { Order } from "./rows";
import type { Window } from "./time";

/** Theme is the user's choice of colours. "auto" follows the system. */
export type Theme = "auto" | "light" | "dark";
/** Mode is the effect of a plain drag or click on the time line. */
export type Mode = "pan" | "range" | "measure";
/**
 * Selection is a span of a track, or an instant if depth is -1. time is in the trace's own ticks.
 */
export interface Selection {
  lane: number;
  track: number;
  depth: number;
  time: bigint;
}
/** Arrows is the user's choice whether links are drawn. "auto" draws them if they are few. */
export type Arrows = "auto" | "on" | "off";
/** Marks are the ends of the measured time, in axis ticks. */
export type Marks = [bigint | null, bigint | null];

/** State is everything that determines the picture. The URL keeps a part of it. */
export interface State {
  traces: string[];
  /**
   * window is the visible time, in ticks of the axis: ticks of the first trace since its first
   * event.
   */
  window: Window;
  /** collapsed and hidden hold rows, as the lane's number and the row's key: "lane/key". */
  collapsed: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  order: Order;
  /**
   * orderWindow is the time, in axis ticks, whose busy times determine the order of rows; null
   * stands for the first window that was shown.
   */
  orderWindow: Window | null;
  /**
   * top holds, for each scrolled lane, the first visible row and the number of its pixels above the
   * edge, such as "0/t17:5,1/g2:0".
   */
  top: string;
  levels: number;
  stripHeight: number;
  /** scaled is set if the height of a claim is its amount as a part of the capacity of its resource. */
  scaled: boolean;
  /** offsets is set if claims with offsets are drawn there, and not on each other. It has no effect unless scaled is set. */
  offsets: boolean;
  rowFilter: string;
  selection: Selection | null;
  /** link is the selected link. If it is set, selection is null. */
  link: { lane: number; link: LinkInfo } | null;
  /** followed is the link that led the user to the selection. */
  followed: { lane: number; link: LinkInfo } | null;
  range: Window | null;
  marks: Marks;
  /** loose lists the marks that are not at the edge of a span: "", "1", "2" or "12". */
  loose: string;
  /** place is a time to which the user went, in axis ticks. */
  place: bigint | null;
  color: ColorMode;
  /**
   * highlight is the name of the only region that keeps its colour or, if colours stand for groups,
   * of the only group.
   */
  highlight: string | null;
  arrows: Arrows;
  /** path is set if the critical path is drawn. */
  path: boolean;
  /** waits is set if waiting times are hatched. */
  waits: boolean;
  mode: Mode;
  /** align is the way in which several traces are aligned: by their starts, or by the time of day. */
  align: "start" | "clock";
  shift: bigint[];
  panel: string;
  dock: number;
  theme: Theme;
  /** choices holds the choices in panels, such as the order of a table, by "panel.what". */
  choices: ReadonlyMap<string, string>;
}

/**
 * mostChoice is the largest number of characters of a choice in the address. It leaves room for a
 * specification.
 */
export const mostChoice = 8000;

/** initial is the state of a page without an address. */
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
  scaled: true,
  offsets: true,
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
  /** state is the current state. Changes replace it; the object itself is never modified. */
  get state(): Readonly<State> {
    return this.current;
  }
  /** set changes parts of the state, and calls all listeners before it returns. */
  set(patch: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const k of Object.keys(patch) as (keyof State)[]) if (this.current[k] !== patch[k]) changed.add(k);
    if (changed.size === 0) return;
    this.current = { ...this.current, ...patch };
    for (const l of this.listeners) l(changed);
  }
  /** listen registers a listener. The result is a function that removes it. */
  listen(l: Listener): () => void {
    this.listeners.push(l);
    return () => {
      this.listeners = this.listeners.filter((x) => x !== l);
    };
  }
}
