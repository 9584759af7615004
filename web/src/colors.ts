// The colours of the theme and of regions, as pixels for the rasteriser and as CSS colours.
import type { TraceMeta } from "./api";
import { blend, pack } from "./raster";

/** Colors holds the colours of a theme. The Go package draw uses the same colours for pixels. */
export interface Colors {
  dark: boolean;
  background: string;
  row: string;
  line: string;
  text: string;
  faint: string;
  other: string;
  mark: string;
  curve: string;
  accent: string;
  range: string;
  select: string;
  note: string;
  path: string;
}

/** themeColors returns the colours of the light or the dark theme. */
export function themeColors(dark: boolean): Colors {
  return dark
    ? {
        dark,
        background: "#15181c",
        row: "#1d2126",
        line: "#2b3138",
        text: "#e8ebee",
        faint: "#9aa4ae",
        other: "#6d757e",
        mark: "#e8ebee",
        curve: "#56b4e9",
        accent: "#6cb6ff",
        range: "rgba(108,182,255,0.18)",
        select: "#ffffff",
        note: "#f08ad8",
        path: "#ff4d6d",
      }
    : {
        dark,
        background: "#ffffff",
        row: "#f2f4f6",
        line: "#d9dee3",
        text: "#1c2127",
        faint: "#5b6670",
        other: "#a9b0b8",
        mark: "#1c2127",
        curve: "#0072b2",
        accent: "#0b62c4",
        range: "rgba(11,98,196,0.14)",
        select: "#000000",
        note: "#a8188c",
        path: "#d1002f",
      };
}

/**
 * RegionColors holds the colours of the regions of a trace. The indexes of its arrays are the
 * numbers of regions.
 */
export interface RegionColors {
  pixels: Uint32Array;
  css: string[];
  ink: string[];
  other: number;
  byTrack: (track: number) => Uint32Array | null;
}

/** unpack converts a pixel to "#rrggbb". It is the inverse of pack. */
export function unpack(pixel: number): string {
  return (
    "#" + [pixel & 255, (pixel >>> 8) & 255, (pixel >>> 16) & 255].map((v) => v.toString(16).padStart(2, "0")).join("")
  );
}

/** ink returns black or white, whichever has more contrast with a colour. */
export function ink(hex: string): string {
  return contrast(hex, "#000000") >= contrast(hex, "#ffffff") ? "#000000" : "#ffffff";
}

function luminance(hex: string): number {
  const v = parseInt(hex.slice(1), 16);
  const lin = (c: number): number => {
    const s = c / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * lin(v >> 16) + 0.7152 * lin((v >> 8) & 255) + 0.0722 * lin(v & 255);
}

/** contrast returns the contrast of two colours, from 1 to 21, as WCAG defines it. */
export function contrast(a: string, b: string): number {
  const x = luminance(a),
    y = luminance(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** ColorMode states what the colours of spans mean: regions, groups of regions, or rows. */
export type ColorMode = "region" | "group" | "track";

/** byRow reports whether all spans of a row have the same colour. That is not so if a region is highlighted. */
export function byRow(mode: ColorMode, highlight: string | null): boolean {
  return mode === "track" && highlight === null;
}

/**
 * highlighted reports whether a region keeps its colour. highlight is the name of a region or, if
 * colours mean groups, of a group.
 */
export function highlighted(r: { name: string; group: string }, mode: ColorMode, highlight: string): boolean {
  return r.name === highlight || (mode === "group" && r.group === highlight);
}

/**
 * SharedColors maps the names of regions and groups to indexes of the palette. They are the same
 * for all traces of the page.
 */
export interface SharedColors {
  regions: ReadonlyMap<string, number>;
  groups: ReadonlyMap<string, number>;
}

/**
 * shareColors assigns indexes of the palette to the names in all traces of the page, so that each
 * name has one colour. That is its colour in the first trace with the name. A name that occurs only
 * in a later trace keeps its colour there if no other name uses it. Otherwise it gets a colour that
 * no name uses or, if there is none, the one that the fewest names of its trace use.
 */
export function shareColors(metas: readonly Pick<TraceMeta, "regions" | "palettes">[]): SharedColors {
  const regions = new Map<string, number>(),
    groups = new Map<string, number>(),
    used = new Array<number>(metas[0]?.palettes.light.length ?? 0).fill(0);
  metas.forEach((m, trace) => {
    const own = new Array<number>(used.length).fill(0),
      rest = new Map<string, number>();
    const give = (name: string, color: number): void => {
      regions.set(name, color);
      if (color < 0 || color >= used.length) return;
      used[color]++;
      own[color]++;
    };
    const seen = new Set<string>();
    for (const r of m.regions) {
      if (r.group !== "" && !groups.has(r.group)) groups.set(r.group, groups.size);
      if (seen.has(r.name)) continue;
      seen.add(r.name);
      const has = regions.get(r.name);
      if (has !== undefined) {
        if (has >= 0 && has < own.length) own[has]++;
      } else if (trace > 0 && (used[r.color] ?? 0) > 0) rest.set(r.name, r.color);
      else give(r.name, r.color);
    }
    for (const [name, color] of rest) {
      const cost = used.map((n, c) => [n === 0 ? 0 : own[c] + 1, c === color ? 0 : 1, n]);
      give(
        name,
        cost.reduce((best, x, c) => {
          const y = cost[best],
            k = x.findIndex((v, i) => v !== y[i]);
          return k >= 0 && x[k] < y[k] ? c : best;
        }, 0),
      );
    }
  });
  return { regions, groups };
}

/**
 * regionColors computes the colours of the regions of a trace. Depending on mode, a region has its
 * own colour or that of its group. If a name is highlighted, all other regions are grey.
 */
export function regionColors(
  meta: Pick<TraceMeta, "regions" | "palettes" | "tracks">,
  mode: ColorMode,
  highlight: string | null,
  c: Colors,
  shared: SharedColors = shareColors([meta]),
): RegionColors {
  const palette = (c.dark ? meta.palettes.dark : meta.palettes.light).map((x) =>
    /^#[0-9a-fA-F]{6}$/.test(x) ? x : c.other,
  );
  const pick = (i: number): string => (palette.length > 0 && i >= 0 ? palette[i % palette.length] : c.other);
  const dim = pack(c.other);
  const dimmed = blend(dim, pack(c.background), 90);
  const dimmedCSS = unpack(dimmed);
  const css = meta.regions.map((r) => {
    if (mode !== "group")
      return highlight !== null && r.name !== highlight ? dimmedCSS : pick(shared.regions.get(r.name) ?? r.color);
    const g = shared.groups.get(r.group);
    return highlight !== null && !highlighted(r, mode, highlight) ? dimmedCSS : g === undefined ? c.other : pick(g);
  });
  const pixels = new Uint32Array(css.map(pack));
  const tracks = new Map<number, Uint32Array>();
  // neighbouring rows get different colours, and all counters the same one
  let n = 0;
  const number = meta.tracks.map((t) => (t.depth > 0 ? n++ : -1));
  const byTrack = (track: number): Uint32Array | null => {
    if (!byRow(mode, highlight)) return null;
    let a = tracks.get(track);
    if (!a) {
      a = new Uint32Array(pixels.length).fill(pack(pick(number[track] ?? -1)));
      tracks.set(track, a);
    }
    return a;
  };
  return { pixels, css, ink: css.map(ink), other: highlight !== null ? dimmed : dim, byTrack };
}
