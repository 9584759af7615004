// The state of the page. Views read the state, change it with set, and listen to changes.
import type { LinkInfo } from "./api";
import type { ColorMode } from "./colors";
import type { Order } from "./rows";
import type { Window } from "./time";

/** Theme is the user's choice of colours. "auto" follows the system. */
export type Theme = "auto" | "light" | "dark";
/** Mode is the effect of a drag or click on the time line without a modifier key. */
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
/** Arrows is the user's choice whether to draw links. "auto" draws them if there are few. */
export type Arrows = "auto" | "on" | "off";
/** Marks holds the two ends of the measured time, in ticks of the axis. */
export type Marks = [bigint | null, bigint | null];

/** State holds everything that determines the picture. The URL contains a part of it. */
export interface State {
  traces: string[];
  /**
   * window is the visible time, in ticks of the axis. These are ticks of the first trace since its
   * first event.
   */
  window: Window;
  /** collapsed and hidden hold rows, each as "lane/key": the number of its lane, and its key. */
  collapsed: ReadonlySet<string>;
  hidden: ReadonlySet<string>;
  order: Order;
  /**
   * orderWindow is the window, in ticks of the axis, whose busy times determine the order of rows.
   * null stands for the first window that was shown.
   */
  orderWindow: Window | null;
  /**
   * top holds the first visible row of each scrolled lane, and how many of its pixels are above the
   * edge, such as "0/t17:5,1/g2:0".
   */
  top: string;
  levels: number;
  stripHeight: number;
  /** scaled is set if the height of a claim shows its amount as a share of the capacity of its resource. */
  scaled: boolean;
  /**
   * offsets is set if claims that have an offset are drawn at it, and not on each other. It has no
   * effect unless scaled is set.
   */
  offsets: boolean;
  rowFilter: string;
  selection: Selection | null;
  /** link is the selected link. If a link is selected, selection is null. */
  link: { lane: number; link: LinkInfo } | null;
  /** followed is the link that led the user to the selection. */
  followed: { lane: number; link: LinkInfo } | null;
  range: Window | null;
  marks: Marks;
  /** loose lists the ends of the measured time that are not at the edge of a span: "", "1", "2" or "12". */
  loose: string;
  /** place is the time that the user went to, in ticks of the axis. */
  place: bigint | null;
  color: ColorMode;
  /**
   * highlight is the name of the only region that keeps its colour. If colours mean groups, it is
   * the name of a group.
   */
  highlight: string | null;
  arrows: Arrows;
  /** showPath is set if the time lines show the critical path. */
  showPath: boolean;
  /** showWaits is set if the time lines show waiting times. */
  showWaits: boolean;
  mode: Mode;
  /** align is the way to align several traces: by their starts, or by the time of day. */
  align: "start" | "clock";
  shift: bigint[];
  panel: string;
  dock: number;
  theme: Theme;
  /**
   * choices holds the choices in panels, such as the order of a table. Their keys have the form
   * "panel.what".
   */
  choices: ReadonlyMap<string, string>;
}

/**
 * maxChoiceLength is the largest number of characters that a choice may have in the address. It is
 * enough for most specifications.
 */
export const maxChoiceLength = 8000;

/** initialState is the state of a page whose address has no fragment. */
export const initialState: State = {
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
  showPath: false,
  showWaits: false,
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
  /** state is the current state. A change replaces the object and never modifies it. */
  get state(): Readonly<State> {
    return this.current;
  }
  /** set changes parts of the state. It calls all listeners before it returns. */
  set(patch: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const k of Object.keys(patch) as (keyof State)[]) if (this.current[k] !== patch[k]) changed.add(k);
    if (changed.size === 0) return;
    this.current = { ...this.current, ...patch };
    for (const l of this.listeners) l(changed);
  }
  /** listen registers a listener. It returns a function that removes the listener. */
  listen(l: Listener): () => void {
    this.listeners.push(l);
    return () => {
      this.listeners = this.listeners.filter((x) => x !== l);
    };
  }
}
