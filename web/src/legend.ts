// The legend: the regions that fill most of what is on the screen.
import type { App } from "./app";
import { button, el, name, printable, replace, rove } from "./dom";
import { noRegion, type Strip, StripKind, type Tile } from "./tile";
import { rowKey } from "./tiles";
import type { Timeline } from "./timeline";

/** Legend is a line of buttons, one a region. */
export interface Legend { element: HTMLElement; update(now?: boolean): void; pending(): boolean }

/**
 * weigh sums the columns, from `from` to `to`, that each region fills: of nested spans what lies in no span below, of
 * claims their part of the capacity.
 */
export function weigh(t: Tile, strips: readonly Strip[], from: number, to: number, nested: boolean): Map<number, number> {
  const out = new Map<number, number>();
  const spans = strips.filter((s) => s.kind === StripKind.spans);
  for (const s of spans) {
    const below = nested ? spans.find((x) => x.depth === s.depth + 1) : undefined;
    let k = below?.first ?? 0;
    for (let r = s.first; r < s.first + s.count; r++) {
      const a = Math.max(from, t.x[r]), b = Math.min(to, t.x[r] + t.n[r]);
      if (a >= b || t.region[r] === noRegion) continue;
      let weight = (b - a) * t.share[r] * (nested ? 1 : t.height[r] / 255);
      if (below) {
        const end = below.first + below.count;
        while (k < end && t.x[k] + t.n[k] <= a) k++;
        for (let i = k; i < end && t.x[i] < b; i++) weight -= (Math.min(b, t.x[i] + t.n[i]) - Math.max(a, t.x[i])) * t.cover[i];
      }
      if (weight > 0) out.set(t.region[r], (out.get(t.region[r]) ?? 0) + weight);
    }
  }
  return out;
}

/** makeLegend makes the legend; it is filled again a moment after the picture changed. */
export function makeLegend(app: App, timelines: () => readonly Timeline[]): Legend {
  const element = el("div", { class: "legend", role: "toolbar", tabindex: -1, aria: { label: "Regions in view; a click greys out the others" } });
  rove(element, "button", { back: ["ArrowLeft"], on: ["ArrowRight"] });
  let timer = 0, key = "";
  const fill = (): void => {
    timer = 0;
    app.client.onChange();
    const weights = new Map<string, { weight: number; color: string }>();
    const s = app.store.state;
    for (const t of timelines()) {
      const lane = t.lane, [a, b] = t.visible(), width = Math.round(t.width * devicePixelRatio), w = lane.local(s.window);
      for (let i = a; i < b; i++) {
        const k = rowKey(lane.rows[i]);
        if (k === null) continue;
        const { layers } = lane.tiles.layers(k, w, width), l = layers[layers.length - 1];
        if (!l) continue;
        const nested = lane.rows[i].track < 0 || lane.meta.tracks[lane.rows[i].track].kind !== "resource", sum = weigh(l.entry.tile, l.entry.strips, Math.max(0, -l.offset / l.scale), (width - l.offset) / l.scale, nested);
        for (const [r, columns] of sum) {
          const n = columns * l.scale;
          const region = lane.meta.regions[r];
          if (!region) continue;
          const e = weights.get(region.name);
          if (e) e.weight += n; else weights.set(region.name, { weight: n, color: lane.colors.css[r] });
        }
      }
    }
    if (s.highlight !== null && !weights.has(s.highlight)) weights.set(s.highlight, { weight: 0, color: app.lanes[0]?.colors.css[app.lanes[0].meta.regions.findIndex((r) => r.name === s.highlight)] ?? app.colors.other });
    const top = [...weights].sort((x, y) => (y[0] === s.highlight ? 1 : 0) - (x[0] === s.highlight ? 1 : 0) || y[1].weight - x[1].weight).slice(0, 24);
    const next = s.highlight + "\n" + top.map(([n, e]) => n + e.color).join("\n");
    if (next === key) return;
    key = next;
    replace(element, ...top.map(([n, e], i) => {
      const b = button(name(n), `${printable(n)}: click greys out all others`, () => app.highlight(n));
      b.prepend(el("span", { class: "swatch", style: { background: e.color } }));
      b.setAttribute("aria-pressed", String(s.highlight === n));
      b.tabIndex = i === 0 ? 0 : -1;
      return b;
    }));
  };
  return { element, pending: () => timer !== 0, update: (now = false) => { if (timer) { if (!now) return; clearTimeout(timer); } if (now) key = ""; timer = window.setTimeout(fill, now ? 0 : 200); } };
}
