// Messages and dependencies as arrows over the rows.
import { type Client, isAbort, type LinkInfo, type LinkSet, ranges } from "./api";
import type { Row } from "./rows";
import type { Window } from "./time";

/** Arrow is a link with its ends as numbers. */
export interface Arrow { link: LinkInfo; start: bigint; end: bigint }

/** LinkCache fetches the links of the visible window and rows. */
export class LinkCache {
  /** arrows are the links last fetched; shown and total say whether all of them are there. */
  arrows: Arrow[] = [];
  total = 0;
  bundled = false;
  error = "";
  private key = "";
  private timer = 0;
  private abort: AbortController | null = null;

  constructor(private client: Client, private id: string, private arrived: () => void) {}

  /** pending tells whether links are on their way. */
  get pending(): boolean { return this.timer !== 0 || this.abort !== null; }

  /** show says what is visible; links are fetched once it rests. */
  show(w: Window, width: number, tracks: number[]): void {
    const key = `${w.from} ${w.to} ${width} ${ranges(tracks)}`;
    if (key === this.key) return;
    this.key = key;
    if (this.timer) clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { this.timer = 0; void this.fetch(w, width, tracks); }, 120);
  }

  /** clear forgets all. */
  clear(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = 0; this.key = ""; this.arrows = []; this.total = 0;
    this.abort?.abort();
  }

  private async fetch(w: Window, width: number, tracks: number[]): Promise<void> {
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    try {
      const s = await this.client.json<LinkSet>(`traces/${encodeURIComponent(this.id)}/links`, { from: w.from, to: w.to, width, tracks: ranges(tracks), limit: 1200 }, abort.signal);
      this.arrows = (s.links ?? []).map((link) => ({ link, start: BigInt(link.from.time), end: BigInt(link.to.time) }));
      this.total = s.total; this.bundled = s.bundled; this.error = "";
      this.arrived();
    } catch (e) {
      if (!isAbort(e)) { this.error = e instanceof Error ? e.message : String(e); this.arrived(); }
    } finally {
      if (this.abort === abort) this.abort = null;
      this.client.onChange();
    }
  }
}

/** Segment is an arrow on the screen, in CSS pixels. */
export interface Segment { x0: number; y0: number; x1: number; y1: number; count: number; kind: string; arrow: Arrow }

/** segments places arrows; those with an end in a hidden row are left out. */
export function segments(arrows: readonly Arrow[], rows: readonly Row[], rowOf: ReadonlyMap<number, number>, x: (t: bigint) => number, scroll: number, width: number, height: number): Segment[] {
  const out: Segment[] = [];
  for (const a of arrows) {
    const i = rowOf.get(a.link.from.track), j = rowOf.get(a.link.to.track);
    if (i === undefined || j === undefined) continue;
    const p = rows[i], q = rows[j];
    const y0 = p.y + p.height / 2 - scroll, y1 = q.y + q.height / 2 - scroll;
    if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) continue;
    const x0 = x(a.start), x1 = x(a.end);
    if (Math.max(x0, x1) < 0 || Math.min(x0, x1) > width) continue;
    out.push({ x0, y0, x1, y1, count: a.link.count, kind: a.link.kind, arrow: a });
  }
  return out;
}

/** nearest is the segment a point lies on, within `reach` pixels. */
export function nearest(list: readonly Segment[], x: number, y: number, reach: number): Segment | null {
  let best: Segment | null = null, least = reach;
  for (const s of list) {
    const dx = s.x1 - s.x0, dy = s.y1 - s.y0, n = dx * dx + dy * dy;
    const f = n === 0 ? 0 : Math.max(0, Math.min(1, ((x - s.x0) * dx + (y - s.y0) * dy) / n));
    const d = Math.hypot(x - s.x0 - f * dx, y - s.y0 - f * dy);
    if (d < least) { least = d; best = s; }
  }
  return best;
}

/** drawArrows draws segments with heads at their ends; bundles are thicker by the logarithm of their count. */
export function drawArrows(g: CanvasRenderingContext2D, list: readonly Segment[], color: string, strong: Segment | null): void {
  g.save();
  g.strokeStyle = color; g.fillStyle = color;
  const byWidth = new Map<number, Segment[]>();
  for (const s of list) {
    const w = s.count > 1 ? Math.min(5, Math.round(2 * Math.log10(s.count)) / 2 + 1) : 1;
    const l = byWidth.get(w); if (l) l.push(s); else byWidth.set(w, [s]);
  }
  // many arrows must not hide what lies below them
  g.globalAlpha = list.length > 600 ? 0.3 : list.length > 150 ? 0.5 : 0.85;
  for (const [w, l] of byWidth) {
    g.lineWidth = w;
    g.beginPath();
    for (const s of l) { g.moveTo(s.x0, s.y0); g.lineTo(s.x1, s.y1); }
    g.stroke();
    g.beginPath();
    for (const s of l) head(g, s, 4 + w);
    g.fill();
  }
  if (strong) {
    g.globalAlpha = 1; g.lineWidth = 2.5;
    g.beginPath(); g.moveTo(strong.x0, strong.y0); g.lineTo(strong.x1, strong.y1); g.stroke();
    g.beginPath(); head(g, strong, 9); g.fill();
  }
  g.restore();
}

function head(g: CanvasRenderingContext2D, s: Segment, size: number): void {
  const a = Math.atan2(s.y1 - s.y0, s.x1 - s.x0);
  g.moveTo(s.x1, s.y1);
  g.lineTo(s.x1 - size * Math.cos(a - 0.4), s.y1 - size * Math.sin(a - 0.4));
  g.lineTo(s.x1 - size * Math.cos(a + 0.4), s.y1 - size * Math.sin(a + 0.4));
  g.closePath();
}
