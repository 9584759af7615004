// The panel of utilisation. It shows the average state of the locations over time: busy, overhead and
// idle.
import type { States, Utilisation } from "../api";
import type { App } from "../app";
import { count, el, percent, printable } from "../dom";
import type { Panel } from "../dock";
import { csv } from "../export";
import type { Lane } from "../lane";
import { exact, short } from "../time";
import { fraction, tickAt } from "../view";
import { stateShares, stateColors, states, waitsQuery, waitsSwitch } from "./parts";

/** emptyReason returns the reason why the chart is empty, or "" if it is not. */
function emptyReason(lane: Lane, s: States): string {
  if (lane.meta.events === 0) return "This trace holds no events.";
  if (s.missing !== "") return `There are no states: ${printable(s.missing)}.`;
  return states.every((k) => s[k] === "0") ? "No location has an event in this time, nor was any at work." : "";
}

/**
 * utilisation creates the panel. Its chart is aligned with the time line. Its numbers are about the
 * range or, if there is none, the window.
 */
export function utilisation(): Panel {
  return {
    id: "utilisation",
    title: "Utilisation",
    timeScope: "window",
    wide: true,
    outlines: true,
    async render(app, { lane, window: w, axis }, tools) {
      const plot = document.querySelector<HTMLElement>(".plot"),
        left = (plot?.getBoundingClientRect().left ?? 0) - 8,
        width = plot?.clientWidth ?? 800,
        height = Math.max(60, app.dock - 100);
      // the window may extend beyond the trace; the chart covers only the part inside
      const x0 = fraction(axis, lane.toAxis(w.from)) * width,
        x1 = fraction(axis, lane.toAxis(w.to)) * width,
        columns = Math.max(1, Math.min(2000, Math.round(x1 - x0)));
      const range = app.store.state.range,
        of = range ? lane.cut(range) : w,
        path = `traces/${encodeURIComponent(lane.meta.id)}/`,
        shown = { from: w.from, to: w.to, width: columns },
        waits = waitsQuery(tools);
      const [u, s] = await Promise.all([
        app.client.json<Utilisation>(path + "utilisation", { ...shown, ...waits }, tools.signal),
        app.client.json<States>(path + "states", { from: of.from, to: of.to, ...waits }, tools.signal),
      ]);
      const nothing = emptyReason(lane, s);
      if (s.processors === 0 || (nothing !== "" && !range)) {
        tools.body.append(el("p", { class: "faint" }, nothing));
        tools.csv(null);
        return;
      }
      const info = el("span", { class: "faint" }),
        figures = stateShares(s);
      tools.bar.append(
        info,
        waitsSwitch(tools, s.clocks),
        nothing !== ""
          ? el("span", {}, "range: nothing in it")
          : el(
              "span",
              { title: `of ${count(s.processors)} processes, threads and streams, as in weft states` },
              range ? `range of ${short(of.to - of.from, lane.clock)}: ` : "window: ",
              ...states.flatMap((k) => [
                el("span", { class: "swatch", style: { background: stateColors[k] } }),
                `${k} ${percent(figures[k])} `,
              ]),
            ),
      );
      tools.body.append(
        el(
          "div",
          { style: { position: "relative", "margin-left": left + "px", width: width + "px" } },
          chart(app, u, { x0, x1, width, height }, axis, info),
          ...(
            [
              ["100 %", 0],
              ["50 %", 0.5],
              ["0", 1],
            ] as const
          ).map(([t, f]) =>
            el(
              "span",
              {
                class: "faint",
                style: {
                  position: "absolute",
                  left: "-50px",
                  width: "44px",
                  "text-align": "right",
                  top: `${f * height - (f === 0 ? 0 : f === 1 ? 16 : 8)}px`,
                },
              },
              t,
            ),
          ),
        ),
      );
      if (!lane.meta.tracks.some((t) => t.kind === "location" && t.spans > 0))
        tools.body.append(
          el(
            "p",
            { class: "faint" },
            "No regions were entered: busy is all the time from the first to the last event of a location.",
          ),
        );
      tools.csv(() =>
        csv(
          ["from (ticks)", "to (ticks)", "busy", "overhead", "idle"],
          u.busy.map((b, i) => {
            const d = w.to - w.from,
              n = BigInt(u.busy.length),
              t = (k: number): bigint => w.from + (d * BigInt(k)) / n;
            return [t(i), t(i + 1), b, u.overhead[i], u.idle[i]];
          }),
        ),
      );
    },
  };
}

/**
 * chart draws the states in a window, column by column. It shows the numbers of the column under
 * the pointer.
 */
function chart(
  app: App,
  u: Utilisation,
  b: { x0: number; x1: number; width: number; height: number },
  axis: { from: bigint; to: bigint },
  info: HTMLElement,
): HTMLCanvasElement {
  const { x0, x1, width, height } = b,
    n = u.busy.length,
    dpr = devicePixelRatio,
    cv = el("canvas", {
      role: "img",
      aria: { label: "Stacked chart of busy, overhead and idle parts over the window" },
    });
  cv.width = Math.round(width * dpr);
  cv.height = Math.round(height * dpr);
  cv.style.width = width + "px";
  cv.style.height = height + "px";
  const g = cv.getContext("2d");
  if (g) {
    g.scale(dpr, dpr);
    g.fillStyle = app.colors.row;
    g.fillRect(0, 0, width, height);
    for (let i = 0; i < n; i++) {
      const from = x0 + ((x1 - x0) * i) / n,
        to = x0 + ((x1 - x0) * (i + 1)) / n;
      let y = height;
      for (const k of states) {
        const h = (u[k][i] ?? 0) * height;
        g.fillStyle = stateColors[k];
        g.fillRect(from, y - h, to - from + 0.5, h);
        y -= h;
      }
    }
    g.strokeStyle = "rgba(128,128,128,.5)";
    g.beginPath();
    for (const f of [0.25, 0.5, 0.75]) {
      g.moveTo(0, Math.round(height * f) + 0.5);
      g.lineTo(width, Math.round(height * f) + 0.5);
    }
    g.stroke();
    const r = app.store.state.range;
    if (r) {
      // draw the part outside of the range paler, because the numbers do not include it
      const a = fraction(axis, r.from) * width,
        z = fraction(axis, r.to) * width;
      g.fillStyle = app.colors.background;
      g.globalAlpha = 0.55;
      g.fillRect(0, 0, Math.max(0, a), height);
      g.fillRect(z, 0, Math.max(0, width - z), height);
      g.globalAlpha = 1;
      g.strokeStyle = app.colors.select;
      g.lineWidth = 2;
      g.strokeRect(a, 1, z - a, height - 2);
    }
  }
  cv.addEventListener("pointermove", (e) => {
    const box = cv.getBoundingClientRect(),
      x = e.clientX - box.left,
      i = Math.floor(((x - x0) / Math.max(1, x1 - x0)) * n);
    if (i >= 0 && i < n)
      info.textContent =
        `at ${exact(tickAt(axis, x, width), app.axis)}: busy ${percent(u.busy[i])}, overhead ` +
        `${percent(u.overhead[i])}, idle ${percent(u.idle[i])}`;
  });
  return cv;
}
