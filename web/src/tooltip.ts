// The tooltip next to the pointer.
import { type InstantDetails, isAbort, type SpanDetails } from "./api";
import type { App } from "./app";
import { shortenName, bytesText, count, el, name, percent, nameElement } from "./dom";
import { cancel, callLater } from "./timers";
import type { Hit } from "./hit";
import type { Lane } from "./lane";
import { compact, rough } from "./rowview";
import { exact } from "./time";
import type { Timeline } from "./timeline";

/** Tooltip describes what lies under the pointer. */
export class Tooltip {
  readonly element = el("div", { class: "tip", hidden: true, role: "tooltip" });
  private timer = 0;
  private abort: AbortController | null = null;

  /** message is the element of the status line. */
  constructor(
    private app: App,
    private message: HTMLElement,
  ) {}

  hide(): void {
    this.element.hidden = true;
  }

  /** show describes a hit at the position (x, y) of the browser's window. It hides the tooltip if h is null. */
  show(t: Timeline, h: Hit | null, x: number, y: number): void {
    cancel(this.timer);
    this.abort?.abort();
    const link = t.hoverLink?.arrow.link;
    if (!h || (h.kind === "empty" && !link) || this.app.store.state.mode === "range") {
      this.element.hidden = true;
      if (h) this.announceAt(h, t);
      return;
    }
    const lane = t.lane,
      lines: (HTMLElement | string)[] = [];
    if (link) {
      lines.push(
        el("b", {}, `${link.kind} `, name(link.name)),
        el("div", {}, name(lane.fullName(link.from.track)), " → ", name(lane.fullName(link.to.track))),
        el(
          "div",
          { class: "faint" },
          link.count > 1
            ? `${count(link.count)} together, ${bytesText(link.bytes)}`
            : `${link.kind === "message" ? bytesText(link.bytes) + ", " : ""}` +
                `${exact(BigInt(link.to.time) - BigInt(link.from.time), lane.clock)}`,
        ),
      );
    } else if (h.kind === "curve") {
      const i = lane.meta.tracks[h.track],
        text = h.rate ? rough : compact;
      lines.push(
        el("b", {}, name(lane.fullName(h.track))),
        el(
          "div",
          {},
          i.kind === "resource" ? "claimed: " : "",
          h.low === h.high ? `${text(h.low)} ${i.unit}` : `${text(h.low)} to ${text(h.high)} ${i.unit}`,
          h.rate ? " per second" : "",
          i.kind === "resource" ? ` of ${compact(i.capacity)}` : "",
        ),
      );
    } else if (h.kind === "instant")
      lines.push(
        el("b", {}, h.count > 1 ? `${h.count === 255 ? "255 or more" : h.count} instants` : "instant"),
        el("div", { class: "faint" }, name(lane.fullName(h.track))),
      );
    else {
      const region = lane.meta.regions[h.region];
      lines.push(
        el(
          "b",
          {},
          el("span", { class: "swatch", style: { background: lane.colors.css[h.region] ?? this.app.colors.other } }),
          nameElement(region ? shortenName(lane.regionLabel(h.region, region.name)) : "no region"),
        ),
      );
      lines.push(
        el(
          "div",
          { class: "exact" },
          h.single ? "…" : `most of several spans: ${percent(h.share)} of these pixels, all spans ${percent(h.cover)}`,
        ),
      );
      lines.push(
        el(
          "div",
          { class: "faint" },
          name(h.track >= 0 ? lane.fullName(h.track) : h.row.label),
          region?.group ? name(` · ${region.group}`) : "",
        ),
      );
    }
    lines.push(el("div", { class: "faint" }, `at ${exact(h.time, lane.clock)}`));
    this.element.replaceChildren(...lines);
    this.element.hidden = false;
    const box = this.element.getBoundingClientRect();
    this.element.style.left = Math.max(2, x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16) + "px";
    this.element.style.top = Math.max(2, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
    const single = h.kind === "span" ? h.single : h.kind === "instant" && h.count === 1;
    if (!link && single && h.track >= 0)
      this.timer = callLater("tool tip", 60, () => {
        const abort = (this.abort = new AbortController());
        this.complete(lane, h, abort.signal).catch((e: unknown) => {
          const x2 = this.element.querySelector(".exact");
          if (!isAbort(e) && x2 && h.kind === "span") x2.textContent = "";
        });
      });
  }

  /** complete adds what only the server knows: the times of a span, or the name and time of an instant. */
  private async complete(lane: Lane, h: Hit, signal: AbortSignal): Promise<void> {
    const path = `traces/${encodeURIComponent(lane.meta.id)}/`,
      set = (selector: string, text: string): void => {
        const e = this.element.querySelector(selector);
        if (e) e.textContent = text;
      };
    if (h.kind === "instant") {
      const query = { track: h.track, time: h.middle, radius: lane.length / 1000n + 1n },
        d = await this.app.client.json<InstantDetails>(path + "instant", query, signal);
      set("b", shortenName(d.name || d.kind));
      set("div:last-child", `at ${exact(BigInt(d.time), lane.clock)}`);
      return;
    }
    const { span } = await this.app.client.json<SpanDetails>(
        path + "span",
        { track: h.track, depth: h.depth, time: h.middle },
        signal,
      ),
      start = BigInt(span.start);
    set(".exact", `${exact(BigInt(span.end) - start, lane.clock)}  from ${exact(start, lane.clock)}`);
  }

  private announceAt(h: Hit, t: Timeline): void {
    if (this.app.store.state.mode !== "pan") this.message.textContent = `at ${exact(h.time, t.lane.clock)}`;
  }
}
