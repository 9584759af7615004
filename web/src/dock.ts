// The dock below the time lines. It has tabs with panels that show the range, the visible window or the
// trace.
import { errorText, isAbort, ranges } from "./api";
import type { App } from "./app";
import { button, count, el, name, replaceContent, select, setText } from "./dom";
import type { Lane } from "./lane";
import { cancel, callLater } from "./timers";
import { inSlices, type Run } from "./slices";
import { maxChoiceLength } from "./store";
import { exact, type Window } from "./time";
import { followsWindow } from "./panels/times";
import { sameWindow } from "./view";

/**
 * Scope holds the trace and the time that a panel shows. window is this time in ticks of the trace,
 * and axis is the same time in ticks of the axis. ranged is set if the time is the range. outside is set if the
 * panel shows a time of the trace, and the trace has no part in it; window is then an end of the trace.
 */
export interface Scope {
  lane: Lane;
  window: Window;
  axis: Window;
  ranged: boolean;
  outside: boolean;
}
/**
 * Tools holds the elements and functions that the dock gives to a panel. bar and body are the
 * elements for its controls and its content. csv sets the function that makes the table
 * for export. refresh renders the panel again.
 * get and set read and write a choice of the panel, where "" means no choice. Choices are also part
 * of the address. run does long work in slices, until another panel takes the place of
 * this one.
 */
export interface Tools {
  bar: HTMLElement;
  body: HTMLElement;
  signal: AbortSignal;
  csv: (make: (() => string) | null) => void;
  refresh: () => void;
  get: (what: string) => string;
  set: (what: string, value: string) => void;
  run: Run;
}
/** Panel is a tab of the dock. */
export interface Panel {
  id: string;
  title: string;
  /**
   * timeScope states which time the panel shows. "range" stands for the range or, if there is none, the
   * window; "window" for the window; "trace" for the whole trace.
   */
  timeScope: "range" | "window" | "trace";
  /**
   * wide is set if the panel also covers the place of the details. A chart in it can then be as
   * wide as the time line.
   */
  wide?: boolean;
  /**
   * choosesTime is set if the user can choose whether the panel shows the whole trace, the range or
   * the window.
   */
  choosesTime?: boolean;
  /** whole is the description of the scope, for a panel of the whole trace. */
  whole?: string;
  /** outlines is set if a panel of the window marks the range in its content. */
  outlines?: boolean;
  /** both is set if the panel shows all traces at once. In that case, the user does not choose a trace. */
  both?: boolean;
  /** render fills the body. It may take long, and must stop when the signal aborts. */
  render(app: App, scope: Scope, tools: Tools): Promise<void> | void;
}

/** coverage returns the remark that the numbers include hidden rows, or "" if no row is hidden. */
function coverage(lane: Lane): string {
  const all = lane.meta.tracks.length,
    away = all - lane.rowOf.size;
  return away === 0 ? "" : `all ${count(all)} rows, ${count(away)} of them not shown`;
}

/** Dock shows one panel at a time. */
export class Dock {
  readonly element: HTMLElement;
  private tabs: HTMLElement;
  private scopeBar: HTMLElement;
  private body: HTMLElement;
  private progress: HTMLElement;
  private abort: AbortController | null = null;
  /** gone aborts when another panel takes the place of the current one. */
  private gone = new AbortController();
  private timer = 0;
  /** forced is set if the panel must be rendered again although its scope is the same. */
  private forced = false;
  private shown = "";
  /**
   * renderedChoices holds the choices of the panel, in the form that chosen returns, at the last
   * rendering or at the last change that the panel itself made.
   */
  private renderedChoices = "";
  private covers = el("span", {
    class: "covers",
    title: "The figures cover all rows, including hidden and filtered ones",
  });
  private csvMaker: (() => string) | null = null;

  constructor(
    private app: App,
    private panels: readonly Panel[],
    splitter: HTMLElement,
    details: HTMLElement,
  ) {
    this.tabs = el(
      "div",
      { class: "tabs", role: "tablist", aria: { label: "Tables and charts" } },
      ...panels.map((p) => {
        const b = button(p.title, p.title, () => app.store.set({ panel: p.id }));
        b.setAttribute("role", "tab");
        b.id = "tab-" + p.id;
        b.setAttribute("aria-controls", "panel");
        return b;
      }),
    );
    this.tabs.addEventListener("keydown", (e) => {
      if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
      const i = panels.findIndex((p) => p.id === app.store.state.panel),
        n = (i + (e.key === "ArrowRight" ? 1 : panels.length - 1)) % panels.length;
      app.store.set({ panel: panels[n].id });
      this.tabs.querySelector<HTMLElement>("#tab-" + panels[n].id)?.focus();
      e.preventDefault();
      e.stopPropagation();
    });
    this.scopeBar = el("div", { class: "scope" });
    this.progress = el("div", { class: "progress", role: "progressbar", aria: { label: "computing", hidden: true } });
    this.body = el("div", { class: "panel", id: "panel", role: "tabpanel", tabindex: 0 });
    this.element = el(
      "div",
      { class: "dock" },
      el(
        "section",
        { class: "dockmain", aria: { label: "Tables" } },
        splitter,
        this.tabs,
        this.scopeBar,
        this.progress,
        this.body,
      ),
      details,
    );
  }

  /** lane is the index of the trace that the panels show. */
  private get lane(): number {
    const n = Number(this.app.store.state.choices.get("dock.trace") ?? 0);
    return this.app.lanes[n] ? n : 0;
  }

  /** underWay reports whether a panel is still being rendered. */
  get underWay(): boolean {
    return this.abort !== null || this.slices > 0;
  }
  /** slices is the number of tasks of the panel that run in slices. */
  private slices = 0;
  /** csv returns the current table as CSV, or null if there is none. */
  get csv(): string | null {
    return this.csvMaker ? this.csvMaker() : null;
  }

  /** timeScope returns which time a panel shows: its own, or the one that the user has chosen. */
  private timeScope(p: Panel): Panel["timeScope"] {
    return p.choosesTime && followsWindow(this.app, p.id) ? "range" : p.timeScope;
  }

  private scope(p: Panel): Scope {
    const s = this.app.store.state,
      timeScope = this.timeScope(p),
      axis = (timeScope === "range" ? s.range : null) ?? s.window;
    const lane = this.app.lanes[this.lane] ?? this.app.lanes[0];
    const outside = timeScope !== "trace" && !p.both && !lane.reaches(axis);
    return { lane, window: lane.cut(axis), axis, ranged: timeScope === "range" && s.range !== null, outside };
  }

  /** follow renders the panel if its scope has changed. While the window moves, it waits, unless now is set. */
  follow(now = false): void {
    if (!this.app.pictured) return;
    const s = this.app.store.state,
      p = this.panels.find((x) => x.id === s.panel) ?? this.panels[0];
    if (this.tabs.dataset.panel !== p.id)
      [...this.tabs.children].forEach((b, i) => {
        const on = this.panels[i] === p;
        b.setAttribute("aria-selected", String(on));
        (b as HTMLElement).tabIndex = on ? 0 : -1;
      });
    this.tabs.dataset.panel = p.id;
    const c = this.scope(p);
    this.element.classList.toggle("wide", p.wide === true);
    const time =
      this.timeScope(p) === "trace"
        ? ""
        : p.both
          ? [c.axis.from, c.axis.to, ...this.app.lanes.map((l) => l.shift)].join(" ")
          : `${c.window.from} ${c.window.to} ${c.outside}`;
    const outlined = p.outlines && s.range ? `${s.range.from} ${s.range.to}` : "";
    const chosen = s.choices.get(`${p.id}.rows`) ?? "",
      rows = chosen === "shown" ? ranges([...c.lane.rowOf.keys()].sort((a, b) => a - b)) : "";
    const key = `${p.id} ${c.lane.index} ${time} ${outlined} ${rows} ${s.color} ${s.theme}`;
    setText(this.covers, this.timeScope(p) === "trace" || chosen !== "" ? "" : coverage(c.lane));
    if (now) this.forced = true;
    if (this.timer) cancel(this.timer);
    this.timer = 0;
    // the window may have returned to its place, which the panel already shows
    if (key === this.shown && this.chosen(p.id) === this.renderedChoices && !this.forced) {
      if (c.ranged !== this.ranged && !this.abort) this.nameScope(p, c);
      return;
    }
    const samePanel = this.shown.split(" ")[0] === p.id;
    this.timer = callLater("table", samePanel && !this.forced ? 350 : 0, () => {
      this.timer = 0;
      this.forced = false;
      void this.render(p, c, key);
    });
  }

  private async render(p: Panel, c: Scope, key: string): Promise<void> {
    this.abort?.abort();
    this.gone.abort();
    const abort = (this.abort = new AbortController()),
      gone = (this.gone = new AbortController());
    const other = this.shown.split(" ")[0] !== p.id;
    this.shown = key;
    this.renderedChoices = this.chosen(p.id);
    this.body.setAttribute("aria-labelledby", "tab-" + p.id);
    const bar = el("span", { class: "tools" });
    const body = el("div", {});
    if (other) {
      this.body.replaceChildren();
      this.body.scrollTop = 0;
      this.csvMaker = null;
    }
    const tools: Tools = {
      bar,
      body,
      signal: abort.signal,
      csv: (m) => {
        this.csvMaker = m;
      },
      refresh: () => this.follow(true),
      get: (what) => this.app.store.state.choices.get(`${p.id}.${what}`) ?? "",
      set: (what, value) => this.keep(p.id, what, value),
      run: (work) => {
        this.slices++;
        return inSlices(work, gone.signal, () => {
          this.slices--;
          this.app.client.onChange();
        });
      },
    };
    this.body.classList.add("waiting");
    const slow = callLater("progress of the table", 250, () => {
      if (abort === this.abort) {
        this.progress.classList.add("on");
        this.progress.setAttribute("aria-hidden", "false");
        if (other) this.body.replaceChildren(el("p", { class: "faint" }, `computing ${p.title.toLowerCase()} …`));
      }
    });
    try {
      if (c.outside) {
        this.csvMaker = null;
        body.append(el("p", { class: "faint" }, `${c.lane.title} has no part in this time.`));
      }
      const made = c.outside ? undefined : p.render(this.app, c, tools);
      // keep the old bar until the new panel is ready, so that the page does not jump
      if (made) await made;
      if (abort.signal.aborted) return;
      replaceContent(this.body, body);
    } catch (e) {
      if (isAbort(e) || abort.signal.aborted) return;
      this.csvMaker = null;
      this.body.replaceChildren(
        el("p", { class: "error" }, `${p.title}: ${errorText(e)}`),
        button("Try again", "Ask the server again", () => this.follow(true)),
      );
    } finally {
      cancel(slow);
      if (this.abort === abort) {
        this.abort = null;
        this.body.classList.remove("waiting");
        this.progress.classList.remove("on");
        this.progress.setAttribute("aria-hidden", "true");
        this.bar = bar;
        // the user may have selected this time as the range in the meantime
        const now = this.scope(p);
        this.nameScope(p, sameWindow(now.axis, c.axis) ? now : c);
        this.app.client.onChange();
      }
    }
  }

  /** bar has the controls of the panel, and ranged is set if the text before them names the range. */
  private bar: HTMLElement = el("span", {});
  private ranged = false;

  /** nameScope shows which trace and time the panel shows. */
  private nameScope(p: Panel, c: Scope): void {
    const what = c.ranged ? "selected range" : "visible window";
    // lane.length is the time of the last event, and the window ends one tick after it; panels that
    // show all traces use ticks of the axis
    const [w, clock, last] = p.both
        ? [c.axis, this.app.axis, this.app.limits().to - 1n]
        : [c.window, c.lane.clock, c.lane.length],
      end = w.to > last ? last : w.to;
    const text = c.outside
      ? `${what}: outside of this trace, which ends at ${exact(c.lane.length, c.lane.clock)}`
      : `${what}: ${exact(w.from, clock)} to ${exact(end, clock)} (${exact(end - w.from, clock)})`;
    this.ranged = c.ranged;
    replaceContent(this.scopeBar, ...this.scopeParts(p, text, c.ranged), this.bar);
  }

  /** chosen returns all choices of a panel as one text. */
  private chosen(panel: string, choices = this.app.store.state.choices): string {
    return [...choices]
      .filter(([k]) => k.startsWith(panel + "."))
      .sort()
      .join("\n");
  }

  private keep(panel: string, what: string, value: string): void {
    const all = new Map(this.app.store.state.choices),
      key = `${panel}.${what}`;
    if (value === "") all.delete(key);
    else all.set(key, value.slice(0, maxChoiceLength));
    // the panel itself made this choice and needs no new rendering
    if (this.shown.split(" ")[0] === panel) this.renderedChoices = this.chosen(panel, all);
    this.app.store.set({ choices: all });
  }

  private scopeParts(p: Panel, text: string, ranged: boolean): HTMLElement[] {
    const out: HTMLElement[] = [],
      whole = this.timeScope(p) === "trace";
    if (this.app.lanes.length > 1 && p.both !== true)
      out.push(
        select(
          "Trace of this table",
          this.app.lanes.map((l) => [String(l.index), l.title] as const),
          String(this.lane),
          (v) => this.choose(Number(v)),
        ),
      );
    if (p.choosesTime)
      out.push(
        select(
          "Time of this table",
          [
            ["", "whole trace"],
            ["window", "range or window"],
          ],
          whole ? "" : "window",
          (v) => {
            this.keep(p.id, "time", v);
            this.follow(true);
          },
        ),
      );
    out.push(
      el(
        "span",
        { class: "what", title: whole ? "" : text },
        whole ? name(this.app.lanes[this.lane]?.title ?? "") : text,
        whole && p.whole ? `: ${p.whole}` : "",
      ),
      this.covers,
    );
    if (ranged || (p.outlines && this.app.store.state.range))
      out.push(
        button("use window", "Drop the range: tables follow the window again", () =>
          this.app.store.set({ range: null }),
        ),
      );
    out.push(el("span", { class: "grow" }));
    return out;
  }

  /** showResult shows a result of a panel next to the title of its tab. words is the long form, for the tooltip. */
  showResult(id: string, short: string, words: string, bad: boolean): void {
    const b = this.tabs.querySelector<HTMLElement>("#tab-" + id),
      p = this.panels.find((x) => x.id === id);
    if (!b || !p) return;
    b.replaceChildren(p.title, " ", el("span", { class: "found-count" + (bad ? " bad" : "") }, short));
    b.title = `${p.title}: ${words}`;
    b.setAttribute("aria-label", b.title);
  }

  /** choose selects the trace that the panels show. */
  choose(lane: number): void {
    if (lane !== this.lane && this.app.lanes[lane]) {
      this.keep("dock", "trace", lane > 0 ? String(lane) : "");
      this.follow(true);
    }
  }
}
