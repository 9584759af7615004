// The legend: the regions that fill most of what is on the screen.
import type { App } from "./app";
import { button, el, name, printable } from "./dom";
import { noRegion, StripKind } from "./tile";
import { rowKey } from "./tiles";
import type { Timeline } from "./timeline";

/** Legend is a line of buttons, one a region. */
export interface Legend { element: HTMLElement; update(now?: boolean): void; pending(): boolean }

/** makeLegend makes the legend; it is filled again a moment after the picture changed. */
export function makeLegend(app: App, timelines: () => readonly Timeline[]): Legend {
  const element = el("div", { class: "legend", role: "toolbar", aria: { label: "Regions in view; a click greys out the others" } });
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
        const tile = l.entry.tile, sum = new Map<number, number>();
        for (const strip of l.entry.strips) {
          if (strip.kind !== StripKind.spans) continue;
          for (let r = strip.first; r < strip.first + strip.count; r++) {
            const x = tile.x[r] * l.scale + l.offset;
            if (x > width) break;
            const end = Math.min(width, x + tile.n[r] * l.scale), on = end - Math.max(0, x);
            if (on > 0 && tile.region[r] !== noRegion) sum.set(tile.region[r], (sum.get(tile.region[r]) ?? 0) + on * tile.share[r]);
          }
        }
        for (const [r, n] of sum) {
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
    element.replaceChildren(...top.map(([n, e]) => {
      const b = button(name(n), `${printable(n)}: click greys out all others`, () => app.highlight(n));
      b.prepend(el("span", { class: "swatch", style: { background: e.color } }));
      b.setAttribute("aria-pressed", String(s.highlight === n));
      return b;
    }));
  };
  return { element, pending: () => timer !== 0, update: (now = false) => { if (timer) { if (!now) return; clearTimeout(timer); } if (now) key = ""; timer = window.setTimeout(fill, now ? 0 : 200); } };
}
