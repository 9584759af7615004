// Draws the spans, instants and curves of rows as pixels.
import type { App } from "./app";
import { type Bitmap, blend, drawCurve, drawInstants, drawSpans, fill, pack } from "./raster";
import type { RowView } from "./rowview";
import { drawStack } from "./stack";
import { type Layer, rowKey } from "./tiles";
import { type Strip, StripKind } from "./tile";

/**
 * paintRows draws the rows from first to end − 1, without arrows, into a bitmap that already has
 * the background. It returns whether all rows have the full resolution.
 */
export function paintRows(app: App, view: RowView, b: Bitmap, first: number, end: number, dpr: number): boolean {
  const c = app.colors,
    lane = view.lane,
    s = app.store.state;
  const bg = pack(c.background),
    groupBG = pack(c.row),
    line = pack(c.line),
    mark = pack(c.mark),
    curve = pack(c.curve),
    amount = blend(curve, bg, 110),
    behind = pack(c.line);
  const w = lane.local(s.window);
  let sharp = true;
  for (let i = first; i < end; i++) {
    const r = lane.rows[i];
    const y0 = Math.round((r.y - view.scrollTop) * dpr),
      y1 = Math.round((r.y + r.height - view.scrollTop) * dpr);
    const rowBG = r.track < 0 ? groupBG : bg;
    if (r.track < 0) fill(b, { x: 0, y: y0, w: b.width, h: y1 - y0 }, groupBG);
    fill(b, { x: 0, y: y1 - 1, w: b.width, h: 1 }, line);
    const key = rowKey(r);
    if (key === null) continue;
    const l = lane.tiles.layers(key, w, b.width);
    if (!l.sharp) sharp = false;
    const colors = lane.colors.byTrack(r.track >= 0 ? r.track : r.members[0]) ?? lane.colors.pixels;
    l.layers.forEach((layer, n) => {
      const x0 = Math.max(0, Math.floor(layer.offset)),
        x1 = Math.min(b.width, Math.ceil(layer.offset + layer.scale * layer.entry.grid.width));
      if (x1 <= x0) return;
      if (n > 0) fill(b, { x: x0, y: y0, w: x1 - x0, h: y1 - 1 - y0 }, rowBG);
      const m = { scale: layer.scale, offset: layer.offset - x0 };
      // a stack has at most r.strips lanes; the amount is drawn behind it and also includes claims in
      // further lanes
      const strips = r.stacked ? layer.entry.strips.filter((x) => x.kind !== StripKind.spans) : layer.entry.strips;
      for (const strip of strips) {
        if (strip.kind === StripKind.spans && r.track >= 0 && strip.depth >= r.strips) continue;
        // amounts have no region: they are drawn in a pale colour
        if (strip.kind === StripKind.amounts && (r.extra === 0 || r.placed)) continue;
        const { y, h } = view.stripRect(r, strip, dpr);
        const rect = { x: x0, y, w: x1 - x0, h };
        // a claim that is as high as its lane does not show its amount
        if (strip.kind === StripKind.spans)
          drawSpans(
            b,
            layer.entry.tile,
            strip,
            rect,
            colors,
            lane.colors.other,
            rowBG,
            m,
            s.scaled ? Math.round(3 * dpr) : h,
          );
        else if (strip.kind === StripKind.instants) drawInstants(b, layer.entry.tile, strip, rect, mark, m);
        else {
          const t = lane.meta.tracks[r.track],
            rate = strip.kind === StripKind.curve && t.kind === "counter" ? view.rate(r, layer, strip) : null;
          if (rate) {
            const edges = l.layers[l.layers.length - 1].entry,
              own = edges.strips.find((x) => x.kind === StripKind.curve),
              scale = own ? (view.rate(r, l.layers[l.layers.length - 1], own) ?? rate) : rate;
            drawCurve(b, rate.tile, rate.strip, rect, curve, scale, false, m);
            continue;
          }
          const scale =
            strip.kind === StripKind.curve
              ? { low: t.low, high: t.high }
              : { low: 0, high: t.capacity > 0 ? t.capacity : greatest(layer, strip) || 1 };
          drawCurve(
            b,
            layer.entry.tile,
            strip,
            rect,
            r.stacked ? behind : strip.kind === StripKind.amounts ? amount : curve,
            scale,
            strip.kind === StripKind.amounts,
            m,
          );
        }
      }
      if (r.stacked) {
        const x = view.stackOf(r, layer, dpr, x0, x1);
        if (x) drawStack(b, layer.entry.tile, x.lanes, x.box, colors, lane.colors.other, m, Math.round(dpr));
      }
    });
  }
  return sharp;
}

function greatest(l: Layer, s: Strip): number {
  let v = 0;
  for (let i = s.first; i < s.first + s.count; i++) v = Math.max(v, l.entry.tile.max[i]);
  return v;
}
