// What the parts of the page know of the whole.
import type { Client, LinkInfo, TraceList } from "./api";
import type { Colors } from "./colors";
import type { Lane } from "./lane";
import type { Notes } from "./notes";
import type { Selection, State, Store } from "./store";
import type { Clock, Window } from "./time";

/** App is what views and panels may use. */
export interface App {
  readonly store: Store;
  readonly client: Client;
  readonly lanes: readonly Lane[];
  readonly list: TraceList;
  /** axis is the clock of the common axis: that of the first trace. */
  readonly axis: Clock;
  readonly colors: Colors;
  readonly notes: Notes;
  /** pictured tells whether the first picture is there: what is less urgent waits for it. */
  readonly pictured: boolean;
  /** dock is how high the tables are, in CSS pixels. */
  readonly dock: number;
  /** limits is the window that holds all traces. */
  limits(): Window;
  /** show moves the window, clamped to the limits. */
  show(w: Window): void;
  /** reveal selects a span or instant and brings it into view; followed is the link that led there. */
  reveal(s: Selection, start: bigint, end: bigint, followed?: State["followed"]): void;
  /** showLink selects a link and shows both its ends. */
  showLink(l: { lane: number; link: LinkInfo }): void;
  /** hold keeps the time that a table is of, as the range, when a click in it leads elsewhere. */
  hold(time: Window): void;
  /** uncover brings the row of a track out of what hides it. */
  uncover(lane: number, track: number): void;
  /** highlight greys out all regions but one name; the same name again, or null, ends it. */
  highlight(name: string | null): void;
  /** announce says something in the status line, which screen readers read out. */
  announce(text: string): void;
  /** draw asks for a new frame; with overOnly, of names and marks alone. */
  draw(overOnly?: boolean): void;
}
