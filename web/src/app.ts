// The interface through which the parts of the page use the page.
import type { Client, LinkInfo, TraceList } from "./api";
import type { Colors } from "./colors";
import type { ShownExtras } from "./extratypes";
import type { Lane } from "./lane";
import type { Notes } from "./notes";
import type { Selection, State, Store } from "./store";
import type { Clock, Window } from "./time";

/** App holds the data and functions of the page that its views and panels use. */
export interface App {
  readonly store: Store;
  readonly client: Client;
  readonly lanes: readonly Lane[];
  readonly list: TraceList;
  /** axis is the clock of the common axis: that of the first trace. */
  readonly axis: Clock;
  readonly colors: Colors;
  readonly notes: Notes;
  /** extras holds the results of panels that are shown on the time line. */
  readonly extras: ShownExtras;
  /** pictured reports whether the first picture has been drawn. Less urgent work waits for it. */
  readonly pictured: boolean;
  /** dock is the height of the dock in CSS pixels. */
  readonly dock: number;
  /** limits returns the window that contains all traces. */
  limits(): Window;
  /** show moves the window to w. It keeps the window inside the limits. */
  show(w: Window): void;
  /** reveal selects a span or instant and brings it into view. followed is the link that led the user there. */
  reveal(s: Selection, start: bigint, end: bigint, followed?: State["followed"]): void;
  /** showLink selects a link and brings both its ends into view. */
  showLink(l: { lane: number; link: LinkInfo }): void;
  /**
   * keepRange makes the time of a table the range, unless a range is set. After that, a click that
   * moves the window does not change the table.
   */
  keepRange(time: Window): void;
  /** uncover makes the row of a track visible. */
  uncover(lane: number, track: number): void;
  /** highlight shows all regions with other names in grey. The same name again, or null, ends that. */
  highlight(name: string | null): void;
  /** announce shows a text in the status line, which screen readers read out. */
  announce(text: string): void;
  /** draw requests a new frame. If overOnly is set, only names and marks are drawn again. */
  draw(overOnly?: boolean): void;
}
