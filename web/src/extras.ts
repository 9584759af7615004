// Extras: results of analyses that are shown on the time line. They are marks over the rows of a lane,
// and additional rows below them. The user can remove them. The choices in the state determine which
// extras are shown, so the address of the page includes them.
import { errorText, isAbort } from "./api";
import type { App } from "./app";
import type { Extra, Mark, ShownExtras } from "./extratypes";
import type { Lane } from "./lane";
import { windowAround } from "./view";

/** removeChoice removes a choice of a panel. As a result, the extras that it selects are no longer shown. */
export function removeChoice(app: App, choice: string): void {
  const choices = new Map(app.store.state.choices);
  choices.delete(choice);
  app.store.set({ choices });
}

/**
 * Source makes the extras of a panel. key returns a text that identifies the extras that the
 * choices in the state select, or "" if they select none. load computes these extras. remove
 * changes the choices so that they select none.
 */
export interface Source {
  id: string;
  key(app: App): string;
  load(app: App, signal: AbortSignal, changed: () => void): Promise<readonly Extra[]>;
  remove(app: App): void;
}

/** Extras holds the extras of all sources. */
export class Extras implements ShownExtras {
  private keys = new Map<string, string>();
  private held = new Map<string, readonly Extra[]>();
  private aborts = new Map<string, AbortController>();
  version = 0;
  data = 0;

  constructor(
    private app: App,
    private sources: readonly Source[],
    private changed: () => void,
  ) {}

  /** follow loads the extras that the choices in the state select, and removes all others. */
  follow(): void {
    for (const s of this.sources) {
      const key = s.key(this.app);
      if (key === (this.keys.get(s.id) ?? "")) continue;
      this.keys.set(s.id, key);
      this.aborts.get(s.id)?.abort();
      if (key === "") this.put(s.id, []);
      else void this.load(s, key);
    }
  }

  private async load(s: Source, key: string): Promise<void> {
    const abort = new AbortController();
    this.aborts.set(s.id, abort);
    try {
      const extras = await s.load(this.app, abort.signal, () => {
        this.data++;
        this.changed();
      });
      if (this.keys.get(s.id) === key) this.put(s.id, extras);
    } catch (e) {
      if (isAbort(e) || this.keys.get(s.id) !== key) return;
      this.put(s.id, []);
      this.app.announce(errorText(e));
    }
  }

  private put(id: string, extras: readonly Extra[]): void {
    this.held.set(id, extras);
    this.version++;
    this.changed();
  }

  inLane(lane: number): { extra: Extra; remove: () => void }[] {
    return this.sources.flatMap((source) =>
      (this.held.get(source.id) ?? [])
        .filter((x) => x.lane === lane)
        .map((extra) => ({ extra, remove: () => source.remove(this.app) })),
    );
  }

  marks(lane: number): Mark[] {
    return this.inLane(lane).flatMap((x) => [...x.extra.marks]);
  }
}

/** showInterval brings an interval of a lane into view, with some space on both sides. */
export function showInterval(app: App, lane: Lane, from: bigint, to: bigint): void {
  const least = lane.length / 50n + 4n,
    more = to - from < least ? (least - (to - from)) / 2n : 0n;
  app.show(windowAround(lane.toAxis(from - more), lane.toAxis(to + more), app.limits(), 0.7));
}
