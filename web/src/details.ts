// The details of the selection: a span with its attributes, the spans around it, and its links.
import {
  type Attribute,
  type CounterRow,
  type InstantDetails,
  isAbort,
  isNoContent,
  type LinkDetails,
  type LinkInfo,
  type LinkPoint,
  errorText,
  sleep,
  type SpanDetails,
  type SpanInfo,
} from "./api";
import type { App } from "./app";
import { unpack } from "./colors";
import { button, bytesText, count, el, name, replace, nameElement } from "./dom";
import type { Lane } from "./lane";
import { LinkEnds, zoomLink } from "./linkends";
import { neighbour } from "./neighbour";
import type { Selection } from "./store";
import { exact, short, type Window } from "./time";

/**
 * maxRequests limits how often the attributes of a link are requested while the server is still
 * reading them. requestInterval is the time between two requests, in milliseconds.
 */
const maxRequests = 10,
  requestInterval = 1500;

/** attributesTimer is the name of the timer for these requests. */
export const attributesTimer = "attributes";

const attributesPending = "Attributes are missing: the trace is still being read for them. Asking again …",
  attributesTooSlow = "Attributes are missing: reading them takes the server too long.";

/** Details is the side panel that describes the selection. */
export class Details {
  readonly element: HTMLElement;
  /**
   * span holds the server's details of the selected span. It is null if nothing or an instant is
   * selected, and until the answer arrives.
   */
  span: SpanDetails | null = null;
  private abort: AbortController | null = null;
  private ends: LinkEnds;

  constructor(
    private app: App,
    private located: (lane: number, w: Window | null) => void,
  ) {
    this.ends = new LinkEnds(app.client);
    this.element = el("aside", { class: "details", tabindex: -1, aria: { label: "Selection" } });
    this.empty();
  }

  /** paint updates the colours in the panel. */
  private paint: () => void = () => undefined;
  recolor(): void {
    this.paint();
  }

  private empty(): void {
    replace(
      this.element,
      el(
        "p",
        { class: "faint" },
        "Click a span to see its times, attributes, callers and messages. Alt-drag selects a range of time for " +
          "the tables.",
      ),
    );
  }

  /** follow requests the details of a selection, and shows them. */
  async follow(s: Selection | null): Promise<void> {
    this.abort?.abort();
    this.span = null;
    const f = this.app.store.state.followed,
      by = f && s && f.lane === s.lane ? f.link : null;
    const lane = s ? this.app.lanes[s.lane] : undefined;
    if (!s || !lane) {
      this.abort = null;
      this.located(s?.lane ?? 0, null);
      this.empty();
      return;
    }
    const abort = (this.abort = new AbortController());
    const path = `traces/${encodeURIComponent(lane.meta.id)}/`;
    const came = (): HTMLElement[] =>
      by ? [el("h3", {}, "Followed here"), ...this.linkElements(lane, by, abort.signal)] : [];
    try {
      if (s.depth < 0) {
        const d = await this.app.client.json<InstantDetails>(
          path + "instant",
          { track: s.track, time: s.time, radius: lane.length / 1000n + 1n },
          abort.signal,
        );
        const t = lane.toAxis(BigInt(d.time)),
          query = { track: s.track, time: s.time, radius: lane.length / 1000n + 1n };
        this.located(s.lane, { from: t, to: t });
        this.instant(lane, s.track, d);
        if (d.partial)
          this.complete(
            () => this.app.client.json<InstantDetails>(path + "instant", query, abort.signal),
            (x) => this.instant(lane, s.track, x),
            abort.signal,
          );
        this.app.announce(`selected ${d.kind} ${d.name} at ${exact(BigInt(d.time), lane.clock)}`);
        return;
      }
      const d = await this.app.client.json<SpanDetails>(
        path + "span",
        { track: s.track, depth: s.depth, time: s.time },
        abort.signal,
      );
      this.span = d;
      this.located(s.lane, { from: lane.toAxis(BigInt(d.span.start)), to: lane.toAxis(BigInt(d.span.end)) });
      const link = came(),
        query = { track: s.track, depth: s.depth, time: s.time };
      this.show(lane, d, link);
      if (d.partial)
        this.complete(
          () => this.app.client.json<SpanDetails>(path + "span", query, abort.signal),
          (x) => {
            this.span = x;
            this.show(lane, x, link);
          },
          abort.signal,
        );
      this.app.announce(
        `selected ${lane.regionLabel(d.span.region, d.span.name)}, ` +
          `${exact(BigInt(d.span.end) - BigInt(d.span.start), lane.clock)}, on ${lane.fullName(d.span.track)}`,
      );
    } catch (e) {
      if (isAbort(e)) return;
      this.located(s.lane, null);
      this.app.announce(isNoContent(e) ? "nothing is there at this time" : errorText(e));
      replace(
        this.element,
        el("p", { class: "faint" }, isNoContent(e) ? "Nothing is there at this time." : errorText(e)),
        ...came(),
      );
    } finally {
      if (this.abort === abort) {
        this.abort = null;
        this.app.client.onChange();
      }
    }
  }

  /**
   * complete repeats a request until the server has read all attributes. Until then, the panel says
   * that attributes are missing. In the end it shows the complete answer.
   */
  private complete<T extends { partial: boolean }>(
    ask: () => Promise<T>,
    show: (d: T) => void,
    signal: AbortSignal,
  ): void {
    const state = el("div", { class: "faint", role: "status" });
    const follow = async (): Promise<void> => {
      for (let n = 0; n < maxRequests; n++) {
        state.textContent = attributesPending;
        this.element.append(state);
        await sleep(attributesTimer, requestInterval, signal);
        const d = await ask();
        if (signal.aborted) return;
        if (!d.partial) {
          show(d);
          return;
        }
      }
      state.textContent = attributesTooSlow;
    };
    follow().catch((e: unknown) => {
      if (!isAbort(e)) state.textContent = errorText(e);
    });
  }

  private fact(label: string, value: Node | string): HTMLElement[] {
    return [el("dt", {}, label), el("dd", {}, value)];
  }

  private attributes(list: readonly Attribute[] | null): HTMLElement | null {
    return list && list.length > 0
      ? el("dl", {}, ...list.flatMap((a) => [el("dt", {}, name(a.name)), el("dd", {}, name(a.value))]))
      : null;
  }

  /**
   * linkPlaces returns empty elements for the details of a link and of its two ends, and fills them
   * when the server answers. While the server is still reading attributes, the state element says
   * so, and the request is repeated. Bundles have no details.
   */
  private linkPlaces(
    lane: Lane,
    l: LinkInfo,
    signal: AbortSignal,
  ): { state: HTMLElement; link: HTMLElement; from: HTMLElement; to: HTMLElement } {
    const state = el("div", { class: "faint", role: "status" }),
      link = el("div", {}),
      from = el("div", {}),
      to = el("div", {});
    const point = (box: HTMLElement, p: LinkPoint): void => {
      const list = this.attributes(p.attributes);
      box.replaceChildren(
        ...(p.kind ? [el("div", { class: "faint" }, p.kind, ...(p.name ? [" ", name(p.name)] : []))] : []),
        ...(list ? [list] : []),
      );
    };
    const ask = async (): Promise<void> => {
      for (let n = 0; ; n++) {
        const d = await this.app.client.json<LinkDetails>(
          `traces/${encodeURIComponent(lane.meta.id)}/link`,
          { link: l.id, track: (l.unsent ? l.to : l.from).track, time: l.from.time },
          signal,
        );
        const list = this.attributes(d.link.attributes ?? null);
        link.replaceChildren(...(list ? [list] : []));
        point(from, d.from);
        point(to, d.to);
        state.textContent = !d.partial ? "" : n < maxRequests ? attributesPending : attributesTooSlow;
        if (!d.partial || n >= maxRequests) return;
        await sleep(attributesTimer, requestInterval, signal);
      }
    };
    if (l.count === 1)
      ask().catch((e: unknown) => {
        if (!isAbort(e)) state.textContent = errorText(e);
      });
    return { state, link, from, to };
  }

  /**
   * linkElements returns the elements for a link, its attributes and those of its ends. They belong to the
   * panel of the span to which the link led.
   */
  private linkElements(lane: Lane, l: LinkInfo, signal: AbortSignal): HTMLElement[] {
    const places = this.linkPlaces(lane, l, signal);
    return [
      el("div", {}, `${l.kind} `, name(l.name)),
      places.link,
      places.state,
      el("h4", {}, "From ", name(lane.fullName(l.from.track))),
      places.from,
      el("h4", {}, "To ", name(lane.fullName(l.to.track))),
      places.to,
    ];
  }

  /** value shows the exact value of a counter or signal at a time. */
  async value(lane: Lane, track: number, time: bigint): Promise<void> {
    this.abort?.abort();
    const abort = (this.abort = new AbortController()),
      t = lane.meta.tracks[track];
    try {
      const r = await this.app.client.json<{ rows: CounterRow[] | null }>(
        `traces/${encodeURIComponent(lane.meta.id)}/counters`,
        { tracks: track, from: time, to: time + 1n },
        abort.signal,
      );
      const row = r.rows?.[0],
        unit = t.unit && t.unit !== "#" ? ` ${t.unit}` : "",
        words = row?.first === undefined ? "no value holds here" : String(row.first) + unit;
      replace(
        this.element,
        el("h2", {}, name(lane.fullName(track))),
        el(
          "dl",
          {},
          ...this.fact("value", name(words)),
          ...this.fact("time", exact(time, lane.clock)),
          ...(row && row.last !== row.first ? this.fact("then", name(String(row.last) + unit)) : []),
        ),
      );
      this.app.announce(`${lane.fullName(track)}: ${words} at ${exact(time, lane.clock)}`);
    } catch (e) {
      if (!isAbort(e)) this.app.announce(errorText(e));
    } finally {
      if (this.abort === abort) {
        this.abort = null;
        this.app.client.onChange();
      }
    }
  }

  private instant(lane: Lane, track: number, d: InstantDetails): void {
    replace(
      this.element,
      el("h2", {}, name(d.name || d.kind)),
      el(
        "dl",
        {},
        ...this.fact("kind", d.kind),
        ...this.fact("time", exact(BigInt(d.time), lane.clock)),
        ...this.fact("row", name(lane.fullName(track))),
      ),
      ...[this.attributes(d.attributes)].filter((x) => x !== null),
    );
  }

  private show(lane: Lane, d: SpanDetails, link: HTMLElement[]): void {
    const app = this.app,
      s = d.span,
      start = BigInt(s.start),
      end = BigInt(s.end);
    const swatch = el("span", { class: "swatch" });
    this.paint = () => {
      const row = lane.colors.byTrack(s.track);
      swatch.style.background = row ? unpack(row[0]) : (lane.colors.css[s.region] ?? app.colors.other);
    };
    this.paint();
    const window: Window = {
      from: lane.toAxis(start),
      to: lane.toAxis(end) > lane.toAxis(start) ? lane.toAxis(end) : lane.toAxis(start) + 1n,
    };
    const tools = el(
      "div",
      { class: "tools" },
      button("◀ previous", "Previous span of the same region on this row (Shift+N)", () => void this.step("previous")),
      button("next ▶", "Next span of the same region on this row (N)", () => void this.step("next")),
      button("zoom", "Zoom to this span (Z)", () => this.zoom()),
      button("range", "Select the time of this span as the range of the tables", () =>
        app.store.set({ range: window }),
      ),
      button("highlight", "Grey out all other regions", () => app.highlight(s.name)),
    );
    const facts = el(
      "dl",
      {},
      ...this.fact("duration", exact(end - start, lane.clock) + (s.open ? ", still open at the end of the trace" : "")),
      ...this.fact("start", exact(start, lane.clock)),
      ...this.fact("end", exact(end, lane.clock)),
      ...this.fact("row", name(lane.fullName(s.track))),
      ...this.fact("depth", String(s.depth)),
      ...(s.group ? this.fact("group", name(s.group)) : []),
    );
    const parts: (HTMLElement | null)[] = [
      el("h2", {}, swatch, nameElement(lane.regionLabel(s.region, s.name))),
      tools,
      facts,
      this.attributes(d.attributes),
    ];
    if (d.around && d.around.length > 0 && this.ends.nested(lane, s.track)) {
      parts.push(
        el("h3", {}, "Called from"),
        el(
          "ol",
          { class: "stack" },
          ...d.around.map((a) =>
            el(
              "li",
              { style: { "padding-left": Math.min(8, a.depth) * 8 + "px" } },
              el(
                "button",
                {
                  type: "button",
                  class: "link",
                  on: {
                    click: () =>
                      app.reveal(
                        { lane: lane.index, track: s.track, depth: a.depth, time: this.inside(start, end) },
                        BigInt(a.start),
                        BigInt(a.end),
                      ),
                  },
                },
                nameElement(lane.regionLabel(a.region, a.name)),
              ),
              el("span", { class: "num" }, short(BigInt(a.end) - BigInt(a.start), lane.clock)),
            ),
          ),
        ),
      );
    }
    if (d.links && d.links.length > 0) {
      parts.push(
        el("h3", {}, `Messages and dependencies (${d.links.length}${d.links.length >= 100 ? " or more" : ""})`),
        el("ul", { class: "links" }, ...d.links.map((l) => this.link(lane, s, l))),
      );
    }
    parts.push(...link);
    replace(this.element, ...parts.filter((x) => x !== null));
    this.element.scrollTop = 0;
  }

  private inside(start: bigint, end: bigint): bigint {
    return end > start ? start + (end - start) / 2n : start;
  }

  private link(lane: Lane, s: SpanInfo, l: LinkInfo): HTMLElement {
    const start = BigInt(s.start),
      end = BigInt(s.end),
      ft = BigInt(l.from.time);
    const out = !l.unsent && l.from.track === s.track && ft >= start && ft <= end;
    const other = out ? l.to : l.from;
    const text = `${out ? "→" : "←"} ${l.kind}${l.name ? " " + l.name : ""}`;
    const facts = [
      l.count > 1 ? `${count(l.count)} of them` : "",
      l.kind === "message" && !l.unsent ? bytesText(l.bytes) : "",
      l.tag !== "" && l.tag !== undefined ? `tag ${l.tag}` : "",
      l.communicator !== "" && l.communicator !== undefined ? String(l.communicator) : "",
    ]
      .filter((x) => x !== "")
      .join(", ");
    if (l.alone || l.unsent)
      return el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            class: "link",
            title: "Select this message",
            on: { click: () => this.app.store.set({ selection: null, link: { lane: lane.index, link: l } }) },
          },
          name(text),
          " ",
          name(lane.fullName(other.track)),
        ),
        el("span", { class: "num" }, l.unsent ? "never sent" : "never received"),
        el("div", { class: "faint" }, name(facts)),
      );
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button",
          class: "link",
          title: "Go to the other end",
          on: { click: () => void this.jump(lane, l, !out) },
        },
        name(text),
        " ",
        name(lane.fullName(other.track)),
      ),
      el("span", { class: "num" }, short(BigInt(l.to.time) - ft, lane.clock)),
      el("div", { class: "faint" }, name(facts)),
    );
  }

  /** jump selects the span at an end of a link: at its begin if leaves is set, otherwise at its end. */
  async jump(lane: Lane, l: LinkInfo, leaves: boolean): Promise<void> {
    const e = leaves ? l.from : l.to,
      time = BigInt(e.time);
    try {
      const s = await this.ends.spanAtEnd(lane, l, leaves);
      const at: Selection = {
        lane: lane.index,
        track: e.track,
        depth: s?.depth ?? 0,
        time: s ? this.ends.within(s, time) : time,
      };
      this.app.reveal(at, s?.start ?? time, s?.end ?? time, { lane: lane.index, link: l });
    } catch (x) {
      this.app.announce(errorText(x));
    }
  }

  /** followLink selects a link and shows both of its ends. */
  async followLink(s: { lane: number; link: LinkInfo }): Promise<void> {
    this.abort?.abort();
    this.span = null;
    const lane = this.app.lanes[s.lane],
      l = s.link,
      app = this.app,
      from = BigInt(l.from.time),
      to = BigInt(l.to.time);
    const abort = (this.abort = new AbortController());
    const places = this.linkPlaces(lane, l, abort.signal);
    const what = l.count > 1 ? `${count(l.count)} ${l.kind}s` : l.kind,
      known = (x: string | number): boolean => x !== "" && x !== undefined;
    const end = (title: string, track: number, time: bigint, leaves: boolean): HTMLElement => {
      const span = el("div", {}, "");
      if (l.count === 1)
        void this.ends
          .spanAtEnd(lane, l, leaves, abort.signal)
          .then((x) => {
            if (x) span.replaceChildren("in ", nameElement(x.name));
          })
          .catch((e: unknown) => {
            if (!isAbort(e)) span.textContent = errorText(e);
          });
      return el(
        "section",
        {},
        el("h3", {}, title),
        el("div", {}, name(lane.fullName(track))),
        span,
        el(
          "div",
          { class: "tools" },
          el("span", { class: "num" }, exact(time, lane.clock)),
          button(
            "go to",
            `Select the call or claim at the ${title.toLowerCase()} end`,
            () => void this.jump(lane, l, leaves),
          ),
        ),
        leaves ? places.from : places.to,
      );
    };
    // an end that was not recorded has no details, only a row
    const lost = (title: string, track: number, what: string): HTMLElement =>
      el(
        "section",
        {},
        el("h3", {}, title),
        track >= 0 ? el("div", {}, name(lane.fullName(track))) : el("div", { class: "faint" }, "no row of this trace"),
        el("div", { class: "error" }, `The trace does not contain its ${what}.`),
      );
    const half = l.alone === true || l.unsent === true,
      row = (track: number): string => lane.fullName(track) || "no row of this trace";
    replace(
      this.element,
      el("h2", {}, what, " ", name(l.name)),
      el(
        "div",
        { class: "tools" },
        button("zoom", l.count > 1 ? "Zoom to the time of all of them (Z)" : "Zoom to this link (Z)", () =>
          zoomLink(this.app, s),
        ),
      ),
      el(
        "dl",
        {},
        ...(half ? [] : this.fact(l.count > 1 ? "first begin to last end" : "duration", exact(to - from, lane.clock))),
        ...(l.kind === "message" && !l.unsent ? this.fact("size", bytesText(l.bytes)) : []),
        ...(l.count === 1 && known(l.tag) ? this.fact("tag", name(String(l.tag))) : []),
        ...(l.count === 1 && known(l.communicator) ? this.fact("communicator", name(String(l.communicator))) : []),
      ),
      ...(l.count > 1 ? [el("p", { class: "faint" }, "Too close together to be drawn each: zoom in.")] : []),
      places.link,
      places.state,
      l.unsent ? lost("From", l.from.track, "send") : end("From", l.from.track, from, true),
      l.alone ? lost("To", l.to.track, "receive") : end("To", l.to.track, to, false),
    );
    this.element.scrollTop = 0;
    app.announce(
      `selected ${what}${l.name ? " " + l.name : ""} from ${row(l.from.track)} to ${row(l.to.track)}, ` +
        `${l.alone ? "never received" : l.unsent ? "never sent" : exact(to - from, lane.clock)}`,
    );
  }

  /** step selects the next or the previous span of the same region in the row. */
  async step(direction: "next" | "previous"): Promise<void> {
    const s = this.app.store.state.selection,
      d = this.span;
    const lane = s ? this.app.lanes[s.lane] : undefined;
    if (!s || !d || !lane) return;
    try {
      const r = await this.app.client.json<{ span: SpanInfo }>(`traces/${encodeURIComponent(lane.meta.id)}/find`, {
        region: d.span.region,
        track: s.track,
        time: d.span.start,
        direction,
      });
      this.app.reveal(
        { lane: s.lane, track: r.span.track, depth: r.span.depth, time: BigInt(r.span.start) },
        BigInt(r.span.start),
        BigInt(r.span.end),
      );
    } catch (e) {
      this.app.announce(isNoContent(e) ? `no ${direction} ${d.span.name} on this row` : errorText(e));
    }
  }

  /** move selects the neighbour at the same depth, the caller, or the first callee in the window. */
  async move(where: "left" | "right" | "up" | "down"): Promise<void> {
    const s = this.app.store.state.selection,
      d = this.span;
    const lane = s ? this.app.lanes[s.lane] : undefined;
    if (!s || !d || !lane) return;
    const start = BigInt(d.span.start);
    const none = (): void =>
      this.app.announce(
        where === "down"
          ? "nothing is called from here"
          : where === "up"
            ? "this is the outermost call"
            : "no neighbour here: pan or zoom out",
      );
    try {
      if (where === "up") {
        const a = (d.around ?? []).filter((x) => x.depth < s.depth).pop();
        if (a)
          this.app.reveal(
            { lane: s.lane, track: s.track, depth: a.depth, time: start },
            BigInt(a.start),
            BigInt(a.end),
          );
        else none();
        return;
      }
      const found = await neighbour(this.app.client, lane, this.app.store.state.window, s, d.span, where);
      if (!found) none();
      else
        this.app.reveal({ lane: s.lane, track: s.track, depth: found.depth, time: found.time }, found.start, found.end);
    } catch (e) {
      if (isNoContent(e)) none();
      else this.app.announce(errorText(e));
    }
  }

  /** zoom shows the selected span or link with some space around it. */
  zoom(): void {
    const l = this.app.store.state.link;
    if (l && !this.app.store.state.selection) {
      zoomLink(this.app, l);
      return;
    }
    const s = this.app.store.state.selection,
      d = this.span;
    const lane = s ? this.app.lanes[s.lane] : undefined;
    if (!lane || !d) return;
    const a = lane.toAxis(BigInt(d.span.start)),
      b = lane.toAxis(BigInt(d.span.end)),
      m = (b - a) / 10n + 1n;
    this.app.show({ from: a - m, to: b + m });
  }
}
