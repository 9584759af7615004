// How the locations spent the window on average: busy, in the communication system, idle.
import type { Utilisation } from "../api";
import { el, percent } from "../dom";
import type { Panel } from "../dock";
import { csv } from "../export";
import { exact } from "../time";
import { at, fraction } from "../view";

const colors = { busy: "#009e73", overhead: "#e69f00", idle: "#d55e00" };

/** utilisation makes the panel; its chart lies under the time line, column by column. */
export function utilisation(): Panel {
  return {
    id: "utilisation", title: "Utilisation", of: "window", wide: true,
    async render(app, { lane, window: w, axis }, tools) {
      const plot = document.querySelector<HTMLElement>(".plot"), left = (plot?.getBoundingClientRect().left ?? 0) - 8, width = plot?.clientWidth ?? 800, height = Math.max(60, app.store.state.dock - 100);
      // the window may reach beyond the trace: the chart covers the part that is there
      const x0 = fraction(axis, lane.toAxis(w.from)) * width, x1 = fraction(axis, lane.toAxis(w.to)) * width, columns = Math.max(1, Math.min(2000, Math.round(x1 - x0)));
      const u = await app.client.json<Utilisation>(`traces/${encodeURIComponent(lane.meta.id)}/utilisation`, { from: w.from, to: w.to, width: columns }, tools.signal);
      const dpr = devicePixelRatio, cv = el("canvas", { role: "img", aria: { label: "Stacked chart of busy, overhead and idle parts over the window" } }), info = el("span", { class: "faint" });
      cv.width = Math.round(width * dpr); cv.height = Math.round(height * dpr); cv.style.width = width + "px"; cv.style.height = height + "px";
      const g = cv.getContext("2d");
      const n = u.busy.length;
      if (g) {
        g.scale(dpr, dpr); g.fillStyle = app.colors.row; g.fillRect(0, 0, width, height);
        for (let i = 0; i < n; i++) {
          const a = x0 + ((x1 - x0) * i) / n, b = x0 + ((x1 - x0) * (i + 1)) / n;
          let y = height;
          for (const k of ["busy", "overhead", "idle"] as const) { const h = (u[k][i] ?? 0) * height; g.fillStyle = colors[k]; g.fillRect(a, y - h, b - a + 0.5, h); y -= h; }
        }
        const r = app.store.state.range;
        if (r) { g.strokeStyle = app.colors.select; g.strokeRect(fraction(axis, r.from) * width, 1, (fraction(axis, r.to) - fraction(axis, r.from)) * width, height - 2); }
        g.strokeStyle = "rgba(128,128,128,.5)"; g.beginPath();
        for (const f of [0.25, 0.5, 0.75]) { g.moveTo(0, Math.round(height * f) + 0.5); g.lineTo(width, Math.round(height * f) + 0.5); }
        g.stroke();
      }
      const mean = (k: "busy" | "overhead" | "idle"): number => (n > 0 ? u[k].reduce((a, b) => a + b, 0) / n : 0);
      cv.addEventListener("pointermove", (e) => {
        const b = cv.getBoundingClientRect(), x = e.clientX - b.left, i = Math.floor(((x - x0) / Math.max(1, x1 - x0)) * n);
        if (i >= 0 && i < n) info.textContent = `at ${exact(at(axis, x / width), app.axis)}: busy ${percent(u.busy[i])}, overhead ${percent(u.overhead[i])}, idle ${percent(u.idle[i])}`;
      });
      tools.bar.append(info, ...(["busy", "overhead", "idle"] as const).map((k) => el("span", {}, " ", el("span", { class: "swatch", style: { background: colors[k] } }), `${k} ${percent(mean(k))}`)));
      tools.body.append(el("div", { style: { position: "relative", "margin-left": left + "px", width: width + "px" } }, cv, ...([["100 %", 0], ["50 %", 0.5], ["0", 1]] as const).map(([t, f]) => el("span", { class: "faint", style: { position: "absolute", left: "-50px", width: "44px", "text-align": "right", top: `${f * height - (f === 0 ? 0 : f === 1 ? 16 : 8)}px` } }, t))));
      tools.csv(() => csv(["from (ticks)", "to (ticks)", "busy", "overhead", "idle"], u.busy.map((b, i) => { const d = w.to - w.from, t = (k: number): bigint => w.from + (d * BigInt(k)) / BigInt(n); return [t(i), t(i + 1), b, u.overhead[i], u.idle[i]]; })));
    },
  };
}
