// The legend: the meanings of the colours on the screen, ordered by the area of each colour.
import type { App } from "./app";
import { byRow, highlighted, unpack } from "./colors";
import { shortenName, button, count, el, name, nameless, replace, roveFocus } from "./dom";
import type { Lane } from "./lane";
import { cancel, callLater } from "./timers";
import type { Minimap } from "./minimap";
import { noRegion, type Strip, StripKind, type Tile } from "./tile";
import { rowKey } from "./tiles";
import type { Window } from "./time";
import type { Timeline } from "./timeline";

/** Legend is a line with a button for each colour. */
export interface Legend {
  element: HTMLElement;
  /** shown returns the entries with their colours. */
  shown(): { label: string; color: string }[];
  update(now?: boolean): void;
}

/**
 * columnsByRegion returns for each region the number of columns between `from` and `to` in which a strip has
 * the colour of the region. A column of a claim counts by the drawn share of the strip's height.
 */
export function columnsByRegion(t: Tile, s: Strip, from: number, to: number): Map<number, number> {
  const out = new Map<number, number>();
  for (let r = s.first; r < s.first + s.count; r++) {
    const n = Math.min(to, t.x[r] + t.n[r]) - Math.max(from, t.x[r]);
    if (n > 0 && t.region[r] !== noRegion) out.set(t.region[r], (out.get(t.region[r]) ?? 0) + (n * t.height[r]) / 255);
  }
  return out;
}

/** Entry is a colour of the legend with its meaning: a region, a group of regions, or a row. */
interface Entry {
  label: string;
  color: string;
  weight: number;
  title: string;
  pressed: boolean | null;
  press: () => void;
}

/** mostEntries is the largest number of entries. */
const mostEntries = 60;

/** rowEntries returns the colours of the visible rows. */
function rowEntries(timelines: readonly Timeline[], goRow: (lane: number, key: string) => void): Entry[] {
  return timelines.flatMap((t) => {
    const [a, b] = t.visible(),
      lane = t.lane;
    return lane.rows.slice(a, b).flatMap((r): Entry[] => {
      const own =
          rowKey(r) === null || r.strips === 0 ? null : lane.colors.byTrack(r.track >= 0 ? r.track : r.members[0]),
        label = r.track >= 0 ? lane.fullName(r.track) : r.label;
      return own
        ? [
            {
              label,
              color: unpack(own[0]),
              weight: 1,
              title: `${shortenName(label)}: go to this row`,
              pressed: null,
              press: () => goRow(lane.index, r.key),
            },
          ]
        : [];
    });
  });
}

/**
 * visibleStrips calls add for each visible strip of spans, with its visible columns. area is the
 * area of one column.
 */
function visibleStrips(
  timelines: readonly Timeline[],
  window: Window,
  add: (lane: Lane, t: Tile, strip: Strip, from: number, to: number, area: number) => void,
): void {
  const dpr = devicePixelRatio;
  for (const t of timelines) {
    const lane = t.lane,
      [a, b] = t.visible(),
      width = Math.round(t.width * dpr),
      height = Math.round(t.height * dpr),
      w = lane.local(window);
    for (let i = a; i < b; i++) {
      const row = lane.rows[i],
        k = rowKey(row);
      if (k === null) continue;
      const { layers } = lane.tiles.layers(k, w, width),
        l = layers[layers.length - 1];
      if (!l) continue;
      for (const strip of l.entry.strips) {
        if (strip.kind !== StripKind.spans || (row.track >= 0 && strip.depth >= row.strips)) continue;
        const { y, h } = t.stripRect(row, strip, dpr),
          seen = Math.min(height, y + h) - Math.max(0, y);
        if (seen > 0)
          add(
            lane,
            l.entry.tile,
            strip,
            Math.max(0, -l.offset / l.scale),
            (width - l.offset) / l.scale,
            l.scale * seen,
          );
      }
    }
  }
}

/**
 * regionEntries returns the colours of regions, or of groups of regions. Those with the largest
 * areas come first.
 */
function regionEntries(app: App, timelines: readonly Timeline[], minimap: Minimap): Entry[] {
  const s = app.store.state,
    grouped = s.color === "group",
    entries = new Map<string, Entry>();
  const entry = (label: string, color: string): Entry => {
    let e = entries.get(label);
    if (!e) {
      e = {
        label: label === "" ? (grouped ? "no group" : nameless) : label,
        color,
        weight: 0,
        title:
          `${label === "" ? (grouped ? "Regions of no group" : "Regions without a name") : shortenName(label)}: ` +
          `click greys out all others`,
        pressed: s.highlight === label,
        press: () => app.highlight(label),
      };
      entries.set(label, e);
    }
    return e;
  };
  const add = (lane: Lane, t: Tile, strip: Strip, from: number, to: number, area: number): void => {
    for (const [r, columns] of columnsByRegion(t, strip, from, to)) {
      const region = lane.meta.regions[r];
      if (region) entry(grouped ? region.group : region.name, lane.colors.css[r]).weight += columns * area;
    }
  };
  visibleStrips(timelines, s.window, add);
  for (const m of minimap.strips()) add(m.lane, m.tile, m.strip, 0, m.tile.width, m.area);
  const h = s.highlight,
    lane = app.lanes[0];
  if (h !== null && lane)
    entry(h, lane.colors.css[lane.meta.regions.findIndex((r) => highlighted(r, s.color, h))] ?? app.colors.other);
  return [...entries.values()].sort(
    (x, y) => Number(y.pressed) - Number(x.pressed) || y.weight - x.weight || (x.label < y.label ? -1 : 1),
  );
}

/**
 * makeLegend creates the legend for some time lines and the mini-map. It updates the legend shortly
 * after the picture has changed. goRow goes to a row of a lane.
 */
export function makeLegend(
  app: App,
  timelines: () => readonly Timeline[],
  minimap: Minimap,
  goRow: (lane: number, key: string) => void,
): Legend {
  const list = el("div", {
    class: "legend",
    role: "toolbar",
    tabindex: -1,
    aria: { label: "What the colours stand for" },
  });
  const more = button("", "Show all of the legend", () => open(!list.classList.contains("open")), "rest"),
    element = el("div", { class: "legendbox" }, list, more);
  roveFocus(list, "button", { back: ["ArrowLeft"], on: ["ArrowRight"] });
  let timer = 0,
    key = "",
    shown: readonly Entry[] = [];

  /** room shows how many entries are in hidden lines. */
  const room = (): void => {
    const first = list.firstElementChild,
      hidden =
        first instanceof HTMLElement
          ? [...list.children].filter((c) => c instanceof HTMLElement && c.offsetTop > first.offsetTop + 4).length
          : 0,
      opened = list.classList.contains("open");
    more.hidden = hidden === 0;
    more.textContent = opened ? "less" : `+${hidden}`;
    more.title = opened ? "Show one line of the legend" : `Show ${hidden} more`;
    more.setAttribute("aria-label", more.title);
    more.setAttribute("aria-expanded", String(opened));
  };
  const open = (is: boolean): void => {
    list.classList.toggle("open", is);
    room();
  };
  new ResizeObserver(room).observe(list);

  const fill = (): void => {
    timer = 0;
    const s = app.store.state,
      rows = byRow(s.color, s.highlight),
      all = rows ? rowEntries(timelines(), goRow) : regionEntries(app, timelines(), minimap),
      top = all.slice(0, mostEntries);
    const next = [s.color, s.highlight, ...top.map((e) => e.label + e.color)].join("\n");
    if (next === key) return;
    key = next;
    shown = top;
    replace(
      list,
      ...(rows
        ? [
            el(
              "span",
              { class: "faint" },
              top.length === 0 ? "no row with spans is in view" : "each row has its own colour:",
            ),
          ]
        : []),
      ...top.map((e, i) => {
        const b = button(name(shortenName(e.label)), e.title, e.press);
        b.prepend(el("span", { class: "swatch", style: { background: e.color } }));
        if (e.pressed !== null) b.setAttribute("aria-pressed", String(e.pressed));
        b.tabIndex = i === 0 ? 0 : -1;
        return b;
      }),
      ...(all.length > top.length
        ? [el("span", { class: "faint" }, `and ${count(all.length - top.length)} more`)]
        : []),
    );
    room();
  };
  return {
    element,
    shown: () => shown.map(({ label, color }) => ({ label, color })),
    update: (now = false) => {
      if (timer) {
        if (!now) return;
        cancel(timer);
      }
      if (now) key = "";
      timer = callLater("legend", now ? 0 : 200, fill);
    },
  };
}
