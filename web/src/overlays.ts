// The data of overlays, which the user can switch on over the rows of a lane: the critical path and the
// waiting times.
import type { PathLine, WaitIntervals } from "./answers";
import { type Client, errorText, isAbort } from "./api";
import { count } from "./dom";
import { cancel, callLater } from "./timers";
import type { Window } from "./time";

/**
 * Overlay fetches the data to draw over a window. It requests new data as soon as the window has
 * stopped changing. Until the answer arrives, it keeps the previous data. always holds the
 * parameters that are the same for all requests.
 */
export class Overlay<T> {
  /** data is the last answer, or null before the first one. */
  data: T | null = null;
  error = "";
  private key = "";
  private timer = 0;
  private abort: AbortController | null = null;

  constructor(
    private client: Client,
    private path: string,
    private what: string,
    private arrived: () => void,
    private always: Record<string, string | undefined> = {},
  ) {}

  /** show sets the window and its width in pixels. tracks restricts the data to some tracks. */
  show(w: Window, width: number, tracks?: string): void {
    const key = `${w.from} ${w.to} ${width} ${tracks ?? ""}`;
    if (key === this.key) return;
    this.key = key;
    if (this.timer) cancel(this.timer);
    this.timer = callLater(this.what, 120, () => {
      this.timer = 0;
      void this.fetch({ ...this.always, from: w.from, to: w.to, width, tracks });
    });
  }

  /** clear removes the overlay and cancels its request. */
  clear(): void {
    if (this.timer) cancel(this.timer);
    this.timer = 0;
    this.key = "";
    this.data = null;
    this.error = "";
    this.abort?.abort();
  }

  private async fetch(query: Record<string, string | number | bigint | undefined>): Promise<void> {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    try {
      this.data = await this.client.json<T>(this.path, query, abort.signal);
      this.error = "";
      this.arrived();
    } catch (e) {
      if (!isAbort(e)) {
        this.error = errorText(e);
        this.arrived();
      }
    } finally {
      if (this.abort === abort) this.abort = null;
    }
  }
}

/** Overlays holds the two overlays of a lane. */
export class Overlays {
  readonly path: Overlay<PathLine>;
  readonly waits: Overlay<WaitIntervals>;

  constructor(client: Client, id: string, changed: () => void) {
    const trace = `traces/${encodeURIComponent(id)}/`;
    this.path = new Overlay(client, trace + "path/line", "critical path", changed);
    this.waits = new Overlay(client, trace + "waits/intervals", "waits", changed);
  }

  /** left is a text with the number of waits that are too short to draw, or "". */
  get left(): string {
    const n = this.waits.data?.left ?? 0;
    return n > 0 ? `${count(n)} short waits are not hatched` : "";
  }

  /** words is the reason why an overlay cannot be drawn, or "". */
  get words(): string {
    const said = [this.path, this.waits].map((o) => o.error || (o.data?.missing ?? ""));
    return said.find((x) => x !== "") ?? "";
  }
}
