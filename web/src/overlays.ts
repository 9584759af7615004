// What is drawn over the rows of a lane on request: the critical path.
import { type Client, errorText, isAbort, type PathLine } from "./api";
import { drop, later } from "./later";
import type { RowView } from "./rowview";
import type { Window } from "./time";

/**
 * Overlay fetches what is drawn in a window. Answers are fetched once the window stops changing; until
 * then, the one before is drawn.
 */
class Overlay<T> {
  /** data is the last answer; null before the first one. */
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
  ) {}

  /** show sets the window, and the tracks if only those are wanted. */
  show(w: Window, width: number, tracks?: string): void {
    const key = `${w.from} ${w.to} ${width} ${tracks ?? ""}`;
    if (key === this.key) return;
    this.key = key;
    if (this.timer) drop(this.timer);
    this.timer = later(this.what, 120, () => {
      this.timer = 0;
      void this.fetch({ from: w.from, to: w.to, width, tracks });
    });
  }

  /** clear removes what is drawn. */
  clear(): void {
    if (this.timer) drop(this.timer);
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

/** Overlays has the overlays of a lane. */
export class Overlays {
  readonly path: Overlay<PathLine>;

  constructor(client: Client, id: string, changed: () => void) {
    const trace = `traces/${encodeURIComponent(id)}/`;
    this.path = new Overlay(client, trace + "path/line", "critical path", changed);
  }

  /** words says why something cannot be drawn, or is "". */
  get words(): string {
    return this.path.error || (this.path.data?.missing ?? "");
  }
}

/** lineWidth is the width of the critical path, and above its distance from the lower edge of a row. */
const lineWidth = 3,
  above = 4;

/** drawPath draws the critical path: along the rows of its pieces, and upright from one to the next. */
export function drawPath(
  view: RowView,
  line: PathLine,
  g: CanvasRenderingContext2D,
  color: string,
  halo: string,
): void {
  const { lane } = view;
  g.lineJoin = "round";
  g.beginPath();
  let joined = false;
  for (const p of line.pieces) {
    const i = lane.rowOf.get(p.track);
    if (i === undefined) {
      joined = false;
      continue;
    }
    const r = lane.rows[i],
      y = r.y + r.height - view.scrollTop - above,
      // far beyond the edges, canvases lose precision
      x = (t: string): number => Math.max(-10, Math.min(view.width + 10, view.x(lane.toAxis(BigInt(t)))));
    if (joined && line.joined) g.lineTo(x(p.from), y);
    else g.moveTo(x(p.from), y);
    g.lineTo(Math.max(x(p.to), x(p.from) + 0.5), y);
    joined = true;
  }
  g.strokeStyle = halo;
  g.lineWidth = lineWidth + 2;
  g.stroke();
  g.strokeStyle = color;
  g.lineWidth = lineWidth;
  g.stroke();
}
