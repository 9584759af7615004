// The dock below the time lines: tabs of panels, each for the selected range or the visible window.
import { isAbort, say } from "./api";
import type { App } from "./app";
import { button, count, el, name, select, setText } from "./dom";
import type { Lane } from "./lane";
import { drop, later } from "./later";
import { inSlices, type Run } from "./slices";
import { exact, type Window } from "./time";

/** Scope is what a panel is for. */
export interface Scope {
  lane: Lane;
  window: Window;
  axis: Window;
  ranged: boolean;
}
/**
 * Tools is where a panel puts its own controls and its table for export; again makes it anew after a choice in them.
 * get and set keep what is chosen in the panel, in the address of the page too; what was never chosen, or is not any more, is "".
 * run does work in slices as long as the panel is there.
 */
export interface Tools {
  bar: HTMLElement;
  body: HTMLElement;
  signal: AbortSignal;
  csv: (make: (() => string) | null) => void;
  again: () => void;
  get: (what: string) => string;
  set: (what: string, value: string) => void;
  run: Run;
}
/** Panel is a tab. */
export interface Panel {
  id: string;
  title: string;
  /** of says what it is for: the range (else the window), always the window, or the whole trace. */
  of: "range" | "window" | "trace";
  /** wide panels take the place of the details too, so that they line up with the time line. */
  wide?: boolean;
  /** whole says, of panels of the whole trace, that they are. */
  whole?: string;
  /** outlines panels of the window show the range in it. */
  outlines?: boolean;
  /** both panels are of all traces: there is none to choose. */
  both?: boolean;
  /** render fills the body; it may take long and must give up when the signal says so. */
  render(app: App, scope: Scope, tools: Tools): Promise<void> | void;
}

/** coverage says whether figures count rows that are not shown, "" if all are. */
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
  /** gone ends the work for the panel that is there. */
  private gone = new AbortController();
  private timer = 0;
  /** forced says that the panel is made anew soon though it is for the same. */
  private forced = false;
  private shown = "";
  /** had is what was chosen in the panel when it was made, or by itself since. */
  private had = "";
  private covers = el("span", {
    class: "covers",
    title: "The figures are of all rows, also of those that are hidden or filtered out",
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

  /** lane is which of several traces the panels are of. */
  private get lane(): number {
    const n = Number(this.app.store.state.choices.get("dock.trace") ?? 0);
    return this.app.lanes[n] ? n : 0;
  }

  /** underWay tells whether a panel is being made. */
  get underWay(): boolean {
    return this.abort !== null || this.slices > 0;
  }
  /** slices is how much work in slices there is. */
  private slices = 0;
  /** csv is the current table as CSV, null when there is none. */
  get csv(): string | null {
    return this.csvMaker ? this.csvMaker() : null;
  }

  private scope(p: Panel): Scope {
    const s = this.app.store.state,
      axis = (p.of === "range" ? s.range : null) ?? s.window;
    const lane = this.app.lanes[this.lane] ?? this.app.lanes[0];
    return { lane, window: lane.cut(axis), axis, ranged: p.of === "range" && s.range !== null };
  }

  /** follow makes the panel anew when what it is for has changed; a moving window is waited for. */
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
    const key = `${p.id} ${c.lane.index} ${p.of === "trace" ? "" : p.both ? [c.axis.from, c.axis.to, ...this.app.lanes.map((l) => l.shift)].join(" ") : `${c.window.from} ${c.window.to}`} ${p.outlines && s.range ? `${s.range.from} ${s.range.to}` : ""} ${s.color} ${s.theme}`;
    setText(this.covers, p.of === "trace" ? "" : coverage(c.lane));
    if (now) this.forced = true;
    if (this.timer) drop(this.timer);
    this.timer = 0;
    // what was to be shown may be gone again: the panel is that of the window already
    if (key === this.shown && this.chosen(p.id) === this.had && !this.forced) return;
    const samePanel = this.shown.split(" ")[0] === p.id;
    this.timer = later("table", samePanel && !this.forced ? 350 : 0, () => {
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
    this.had = this.chosen(p.id);
    this.body.setAttribute("aria-labelledby", "tab-" + p.id);
    const bar = el("span", { class: "tools" });
    const what = c.ranged ? "selected range" : "visible window";
    // the last event lies at the trace's length, and the window ends one tick behind it; what is of all traces is of the axis
    const [w, clock, last] = p.both
        ? [c.axis, this.app.axis, this.app.limits().to - 1n]
        : [c.window, c.lane.clock, c.lane.length],
      end = w.to > last ? last : w.to;
    const text = `${what}: ${exact(w.from, clock)} to ${exact(end, clock)} (${exact(end - w.from, clock)})`;
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
      again: () => this.follow(true),
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
    const slow = later("progress of the table", 250, () => {
      if (abort === this.abort) {
        this.progress.classList.add("on");
        this.progress.setAttribute("aria-hidden", "false");
        if (other) this.body.replaceChildren(el("p", { class: "faint" }, `computing ${p.title.toLowerCase()} …`));
      }
    });
    try {
      const made = p.render(this.app, c, tools);
      // the old bar stays until the new panel is there, so that nothing jumps
      if (made) await made;
      if (abort.signal.aborted) return;
      this.body.replaceChildren(body);
    } catch (e) {
      if (isAbort(e) || abort.signal.aborted) return;
      this.csvMaker = null;
      this.body.replaceChildren(
        el("p", { class: "error" }, `${p.title}: ${say(e)}`),
        button("Try again", "Ask the server again", () => this.follow(true)),
      );
    } finally {
      drop(slow);
      if (this.abort === abort) {
        this.abort = null;
        this.body.classList.remove("waiting");
        this.progress.classList.remove("on");
        this.progress.setAttribute("aria-hidden", "true");
        this.scopeBar.replaceChildren(...this.scopeParts(p, text, c.ranged), bar);
        this.app.client.onChange();
      }
    }
  }

  /** chosen is what is chosen in a panel, as one text. */
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
    else all.set(key, value.slice(0, 1000));
    // the panel shows it already
    if (this.shown.split(" ")[0] === panel) this.had = this.chosen(panel, all);
    this.app.store.set({ choices: all });
  }

  private scopeParts(p: Panel, text: string, ranged: boolean): HTMLElement[] {
    const out: HTMLElement[] = [];
    if (this.app.lanes.length > 1 && p.both !== true)
      out.push(
        select(
          "Trace of this table",
          this.app.lanes.map((l) => [String(l.index), l.title] as const),
          String(this.lane),
          (v) => this.choose(Number(v)),
        ),
      );
    out.push(
      el(
        "span",
        { class: "what", title: p.of !== "trace" ? text : "" },
        p.of !== "trace" ? text : name(this.app.lanes[this.lane]?.title ?? ""),
        p.whole ? `: ${p.whole}` : "",
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

  /** tell puts what a panel has found beside the title of its tab. */
  tell(id: string, short: string, words: string, bad: boolean): void {
    const b = this.tabs.querySelector<HTMLElement>("#tab-" + id),
      p = this.panels.find((x) => x.id === id);
    if (!b || !p) return;
    b.replaceChildren(p.title, " ", el("span", { class: "found-count" + (bad ? " bad" : "") }, short));
    b.title = `${p.title}: ${words}`;
    b.setAttribute("aria-label", b.title);
  }

  /** choose sets the trace the panels are of. */
  choose(lane: number): void {
    if (lane !== this.lane && this.app.lanes[lane]) {
      this.keep("dock", "trace", lane > 0 ? String(lane) : "");
      this.follow(true);
    }
  }
}
