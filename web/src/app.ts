// The interface of the page for its parts.
import type { Client, LinkInfo, TraceList } from "./api";
import type { Colors } from "./colors";
import type { Extras } from "./extras";
import type { Lane } from "./lane";
import type { Notes } from "./notes";
import type { Selection, State, Store } from "./store";
import type { Clock, Window } from "./time";

/** App holds the data and functions of the page for views and panels. */
export interface App {
  readonly store: Store;
  readonly client: Client;
  readonly lanes: readonly Lane[];
  readonly list: TraceList;
  /** axis is the clock of the common axis, which is that of the first trace. */
  readonly axis: Clock;
  readonly colors: Colors;
  readonly notes: Notes;
  /** extras are the results of panels on the time line. */
  readonly extras: Extras;
  /**
   * pictured reports whether the first picture has been drawn. Work of less urgency waits for it.
   */
  readonly pictured: boolean;
  /** dock is the height of the tables in CSS pixels. */
  readonly dock: number;
  /** limits returns the window that holds all traces. */
  limits(): Window;
  /** show moves the window, clamped to the limits. */
  show(w: Window): void;
  /** reveal selects a span or instant and brings it into view; followed is the link that led there. */
  reveal(s: Selection, start: bigint, end: bigint, followed?: State["followed"]): void;
  /** showLink selects a link and brings both its ends into view. */
  showLink(l: { lane: number; link: LinkInfo }): void;
  /**
   * keepRange makes the time of a table the range, unless a range is set. The table then keeps its
   * content when a click in it moves the window.
   */
  keepRange(time: Window): void;
  /** uncover makes the row of a track visible. */
  uncover(lane: number, track: number): void;
  /** highlight greys out all regions with other names; the same name again, or null, ends that. */
  highlight(name: string | null): void;
  /** announce shows a text in the status line, which screen readers read out. */
  announce(text: string): void;
  /** draw requests a new frame; overOnly limits it to names and marks. */
  draw(overOnly?: boolean): void;
}
