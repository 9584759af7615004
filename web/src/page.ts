// The page: it puts the parts together, reacts to changes of the state, and draws frames.
import { Address, saveTimer } from "./address";
import {
  baseID,
  Client,
  errorText,
  type LinkInfo,
  type LocationRow,
  type States,
  type TraceList,
  type TraceMeta,
} from "./api";
import type { App } from "./app";
import { type Colors, highlighted, regionColors, shareColors, themeColors } from "./colors";
import { addNote } from "./commands";
import { Connection } from "./connection";
import { attach } from "./control";
import { Dock, type Panel } from "./dock";
import { el, printable, setText } from "./dom";
import { takeDrops } from "./drop";
import { exportMenu } from "./export";
import { Extras } from "./extras";
import { makeSplitter, RubberBand } from "./handles";
import { listenToKeys } from "./keyboard";
import { listenToLabels } from "./labels";
import { Lane } from "./lane";
import { changes, nextFrame, deferred } from "./timers";
import { defectsButton, factsOf, layOut } from "./layout";
import { type Legend, makeLegend } from "./legend";
import { load, serverTimer, showFailure } from "./loading";
import { Minimap } from "./minimap";
import { Navigator } from "./navigator";
import { Notes } from "./notes";
import { makePanels, makeSources } from "./panels/all";
import { countDefects } from "./panels/defects";
import { Picker } from "./picker";
import { RulerBar } from "./rulerbar";
import { Search } from "./search";
import { attributesTimer, Details } from "./details";
import { startPage } from "./start";
import { initialState, type Selection, type State, Store } from "./store";
import { type Clock, convert, exact, parse, type Window } from "./time";
import { Timeline } from "./timeline";
import { makeToolbar, type Toolbar } from "./toolbar";
import { Tooltip } from "./tooltip";
import { cutShort, readFragment } from "./url";
import { clamp, sameWindow } from "./view";

/** background lists the names of the deferred work that does not change the visible page. */
const background: ReadonlySet<string> = new Set([saveTimer, serverTimer, attributesTimer, "list of the search"]);

/**
 * largeScreen is the smallest height of a window, in CSS pixels, at which the dock may be higher
 * than usual.
 */
const largeScreen = 1200;

/** Frame holds the time at which a frame was drawn, and the duration of that, in milliseconds. */
export interface Frame {
  at: number;
  cost: number;
}

/** Page builds the page of the viewer, and connects its parts. */
export class Page implements App {
  readonly store: Store;
  readonly client = new Client();
  lanes: Lane[] = [];
  list: TraceList = { version: "", readOnly: true, traces: [] };
  axis: Clock = { num: 1000000000n, den: 1n };
  colors: Colors = themeColors(false);
  notes: Notes = new Notes(this.client, true, () => undefined);
  readonly extras = new Extras(this, makeSources(), () => this.draw());
  timelines: Timeline[] = [];
  readonly frames: Frame[] = [];
  private dirty = false;
  pictured = false;
  private started = false;
  /** warn shows the number of defects. It is called after the first picture has been drawn. */
  private warn: () => void = () => undefined;
  private panels: readonly string[] = [];
  private parts: {
    hint: HTMLElement;
    minimap: Minimap;
    ruler: RulerBar;
    dock: Dock;
    details: Details;
    legend: Legend;
    search: Search;
    tooltip: Tooltip;
    notice: HTMLElement;
    message: HTMLElement;
    linkText: HTMLElement;
    sync: () => void;
  } | null = null;
  private navigator = new Navigator(
    this,
    () => this.timelines,
    (text) => this.parts?.search.showResult(text),
  );
  private connection = new Connection(this.client, () => {
    this.announce("the server answers again");
    this.draw();
    this.parts?.dock.follow(true);
  });
  private address = new Address(this, {
    panels: () => this.panels,
    hint: () => this.parts?.hint ?? null,
    restoreScroll: () => {
      for (const t of this.timelines) t.restoreTop();
    },
    focusPlot: () => this.timelines[0]?.plot.focus({ preventScroll: true }),
  });

  constructor() {
    this.address.arrive();
    this.store = new Store({ ...initialState, ...this.address.read() });
    this.theme();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.theme();
      this.recolor();
    });
    this.client.onChange = () => this.state();
    changes.onChange = () => this.state();
    this.client.onLost = (why) => {
      if (this.parts) this.connection.report(why);
    };
    this.client.onReindex = () => this.reload();
  }

  private theme(): void {
    const t = this.store.state.theme;
    const dark = t === "dark" || (t === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.colors = themeColors(dark);
  }

  private recolor(): void {
    const s = this.store.state,
      shared = shareColors(this.lanes.map((l) => l.meta));
    for (const l of this.lanes) l.colors = regionColors(l.meta, s.color, s.highlight, this.colors, shared);
    this.draw();
  }

  /** pending returns the names of all pending work. It is for tests. */
  pending(): string[] {
    const shown = this.timelines.length > 0,
      dock = this.parts?.dock;
    return [
      ...(this.started ? [] : ["the start"]),
      ...(shown && !this.pictured ? ["the first picture"] : []),
      ...this.client.inFlight.map((path) => "answer to " + path),
      ...deferred(),
      ...(dock?.underWay ? ["panel"] : []),
      // the browser reports a changed address shortly after the change
      ...(shown && this.address.changedOutside ? ["address that was given"] : []),
      ...(this.reindexing ? ["new index"] : []),
      ...(this.address.goingBack ? ["the view before"] : []),
      ...(this.stateTimer !== 0 ? ["state"] : []),
    ];
  }

  private stateTimer = 0;
  /** state publishes in the document whether the page is at rest. */
  private state(): void {
    if (this.stateTimer) return;
    this.stateTimer = window.setTimeout(() => {
      this.stateTimer = 0;
      const busy = this.pending().some((what) => !background.has(what));
      document.documentElement.dataset.state = !this.started ? "loading" : busy ? "busy" : "ready";
    }, 0);
  }

  private reindexing = false;
  /** reload waits until the server has built a new index. It then loads the page again. */
  private reload(): void {
    if (this.reindexing || !this.parts) return;
    this.reindexing = true;
    this.parts = null;
    this.timelines = [];
    void this.load(this.store.state.traces).then((metas) => {
      if (metas) location.reload();
    });
  }

  limits(): Window {
    let from = 0n,
      to = 1n;
    this.lanes.forEach((l, i) => {
      const a = l.shift,
        b = l.toAxis(l.length) + 1n;
      if (i === 0 || a < from) from = a;
      if (i === 0 || b > to) to = b;
    });
    return { from, to };
  }

  show(w: Window): void {
    const n = clamp(w, this.limits());
    if (!sameWindow(n, this.store.state.window)) this.store.set({ window: n });
  }

  reveal(s: Selection, start: bigint, end: bigint, followed: State["followed"] = null): void {
    this.navigator.reveal(s, start, end, followed);
  }

  showLink(l: { lane: number; link: LinkInfo }): void {
    this.navigator.showLink(l);
  }

  uncover(lane: number, track: number): void {
    this.navigator.uncover(lane, track);
  }

  /**
   * keepRange makes the time of a table the range. After that, a click that moves the window does
   * not change the table.
   */
  keepRange(time: Window): void {
    if (!this.store.state.range) this.store.set({ range: clamp(time, this.limits()) });
  }

  highlight(region: string | null): void {
    this.store.set({ highlight: region === this.store.state.highlight ? null : region });
  }

  announce(text: string): void {
    if (this.parts) this.parts.message.textContent = printable(text);
  }

  private full = false;
  draw(overOnly = false): void {
    if (!overOnly) this.full = true;
    if (this.dirty) return;
    this.dirty = true;
    nextFrame("frame", () => this.frame());
  }

  private version = 0;
  private frame(): void {
    this.dirty = false;
    const p = this.parts;
    if (!p || this.timelines.length === 0) {
      this.state();
      return;
    }
    const begin = performance.now();
    const full = this.full;
    this.full = false;
    if (!full) {
      for (const t of this.timelines) t.drawOver();
      this.frames.push({ at: begin, cost: performance.now() - begin });
      this.state();
      return;
    }
    let resized = false;
    for (const t of this.timelines) if (t.measure()) resized = true;
    if (resized) {
      this.spareSeen = this.spare;
      this.arrange();
    }
    for (const t of this.timelines) {
      t.request();
      t.draw();
    }
    p.ruler.draw(this.timelines[0].width);
    p.minimap.draw(String(this.version));
    p.legend.update();
    const error =
      this.lanes
        .map((l) => l.tiles.error || l.overlays.words || (this.store.state.arrows !== "off" ? l.links.error : ""))
        .find((e) => e !== "") ?? "";
    setText(
      p.linkText,
      this.lanes
        .flatMap((l) => [this.store.state.arrows !== "off" ? l.links.countText : "", l.overlays.left])
        .filter((x) => x !== "")
        .join("; "),
    );
    const empty = this.lanes.every((l) => l.meta.events === 0);
    setText(
      p.notice,
      this.connection.banner
        ? ""
        : error !== ""
          ? printable(error)
          : empty
            ? "This trace holds no events."
            : this.lanes.every((l) => l.rows.length === 0)
              ? "No rows: all are hidden or filtered out."
              : "",
    );
    const end = performance.now();
    this.frames.push({ at: begin, cost: end - begin });
    if (this.frames.length > 600) this.frames.splice(0, 300);
    this.started = true;
    if (!this.pictured && this.timelines.every((t) => t.painted)) {
      this.pictured = true;
      document.documentElement.dataset.picture = "drawn";
      p.dock.follow();
      this.warn();
      this.draw();
    }
    this.state();
  }

  private arrange(): void {
    const s = this.store.state;
    this.lanes.forEach((l, i) => {
      const own = (set: ReadonlySet<string>): Set<string> =>
        new Set([...set].filter((k) => k.startsWith(`${i}/`)).map((k) => k.slice(String(i).length + 1)));
      l.arrange({
        collapsed: own(s.collapsed),
        hidden: own(s.hidden),
        order: s.order,
        levels: s.levels,
        filter: s.rowFilter,
        busy: l.busy,
        stripHeight: s.stripHeight,
        scaled: s.scaled,
        offsets: s.offsets,
        available: Math.max(100, (this.timelines[i]?.height ?? 400) + this.spareSeen / this.lanes.length - 2),
      });
      this.timelines[i]?.rowsChanged();
    });
    this.growDock();
  }

  /**
   * spare is the height, in CSS pixels, that the rows leave free on a large screen, and that the
   * dock uses. spareSeen is the value of spare at the last measurement of the time lines.
   */
  private spare = 0;
  private spareSeen = 0;
  get dock(): number {
    return this.store.state.dock + this.spare;
  }

  /**
   * growDock adds the height that no row needs to the dock. It does so only on a large screen, and
   * only if the user has not set the height of the dock.
   */
  private growDock(): void {
    const n = this.lanes.length,
      least = this.timelines.reduce((m, t) => Math.min(m, t.height + this.spareSeen / n - t.lane.height), Infinity);
    const wanted =
      innerHeight < largeScreen ||
      this.store.state.dock !== initialState.dock ||
      this.timelines.some((t) => t.height === 0)
        ? 0
        : Math.max(0, Math.min(Math.floor(least * n) - 24, Math.floor(innerHeight / 2) - initialState.dock));
    if (wanted === this.spare) return;
    this.spare = wanted;
    document.documentElement.style.setProperty("--dock", this.dock + "px");
  }

  /**
   * busyOrder sorts the rows by their busy times in the window orderWindow of the state. Moves of
   * the visible window do not change that order.
   */
  private async busyOrder(): Promise<void> {
    const w = this.store.state.orderWindow ?? this.store.state.window;
    for (const l of this.lanes) {
      const cut = l.cut(w);
      try {
        const path = `traces/${encodeURIComponent(l.meta.id)}/`,
          time = { from: cut.from, to: cut.to };
        const [r, s] = await Promise.all([
          this.client.json<{ rows: LocationRow[] | null }>(path + "locations", time),
          this.client.json<States>(path + "states", time),
        ]);
        // the user may have chosen another time in the meantime
        if (!sameWindow(w, this.store.state.orderWindow ?? w)) return;
        // for a location, busy is the time of work; for a resource, it is the time in which there is
        // any claim
        l.busy = new Map([...(r.rows ?? []), ...s.rows].map((x) => [x.track, Number(x.busy)]));
      } catch (e) {
        this.announce("busy times: " + errorText(e));
        return;
      }
    }
    if (this.store.state.order !== "busy") return;
    const last = this.limits().to - 1n;
    this.announce(
      `rows sorted by busy time from ${exact(w.from, this.axis)} to ${exact(w.to > last ? last : w.to, this.axis)}`,
    );
    this.arrange();
    this.draw();
  }

  private applyShifts(): void {
    const s = this.store.state;
    this.lanes.forEach((l, i) => {
      let shift = s.shift[i] ?? 0n;
      if (s.align === "clock" && l.meta.epoch && this.lanes[0].meta.epoch)
        shift += convert(
          BigInt(l.meta.epoch) - BigInt(this.lanes[0].meta.epoch),
          { num: 1000000000n, den: 1n },
          this.axis,
        );
      l.shift = shift;
    });
  }

  async start(): Promise<void> {
    try {
      this.list = await this.client.json<TraceList>("traces");
    } catch (e) {
      this.fail("weft", errorText(e));
      return;
    }
    if (!this.list.readOnly) takeDrops(this);
    let wanted = this.store.state.traces.filter((id) => this.list.traces.some((t) => t.id === baseID(id)));
    const strange = this.store.state.traces.filter((id) => !wanted.includes(id));
    if (wanted.length === 0) {
      const all = this.list.traces;
      // up to four open traces were given on the command line, and are shown together
      if (all.length === 1 || (all.length >= 2 && all.length <= 4 && all.every((t) => t.state !== "new")))
        wanted = all.map((t) => t.id);
    }
    if (wanted.length === 0) {
      this.store.set({ traces: [] });
      startPage(this, strange.length > 0 ? "The trace of this link is not served here." : "");
      this.started = true;
      this.state();
      return;
    }
    for (const id of strange)
      this.address.reject(
        cutShort(`t=${id}`),
        `that trace is not served here: ` +
          `${wanted.map((x) => this.list.traces.find((t) => t.id === baseID(x))?.name ?? x).join(", ")} is shown`,
      );
    this.store.set({ traces: wanted });
    const metas = await this.load(wanted);
    if (metas) this.build(metas);
  }

  private fail(title: string, text: string): void {
    showFailure(this, title, text);
    this.started = true;
    this.state();
  }

  private load(ids: readonly string[]): Promise<TraceMeta[] | null> {
    return load(
      this.client,
      ids,
      (piece, instead) => this.address.reject(piece, instead),
      (title, text) => this.fail(title, text),
    );
  }

  private build(metas: TraceMeta[]): void {
    this.axis = { num: BigInt(metas[0].clock.num), den: BigInt(metas[0].clock.den) };
    this.lanes = metas.map(
      (m, i) =>
        new Lane(i, m, this.axis, this.client, this.colors, metas.filter((x) => x.name === m.name).length === 1, () =>
          this.draw(),
        ),
    );
    this.notes = new Notes(this.client, this.list.readOnly, () => this.draw());
    this.applyShifts();
    const panels = makePanels();
    this.panels = panels.map((p) => p.id);
    const given = this.address.fitting(readFragment(location.hash)),
      window0 = given.window;
    this.store.set({ ...given, traces: metas.map((m) => m.id) });
    const s = this.store.state;
    document.title = this.lanes.map((l) => printable(l.title)).join(" · ") + " – weft";
    const { details, dock, toolbar } = this.assemble(metas, panels);
    this.store.set({ window: window0 });
    this.recolor();
    toolbar.sync();
    const { selection, link } = this.store.state;
    void (link && !selection ? details.followLink(link) : details.follow(selection));
    if (s.order === "busy") void this.busyOrder();
    this.address.restoreLink();
    this.address.restoreFollowed();
    this.address.hint();
    void this.notes.load(metas.map((m) => m.id)).then(() => {
      if (this.store.state.panel === "notes") dock.follow(true);
    });
    // save the first view in the history, so that the browser's back button can return to it
    this.address.saveFirst(window0);
    this.draw();
    this.timelines[0].plot.focus({ preventScroll: true });
  }

  /** assemble creates the parts of the page, shows them, and connects them to the user's actions. */
  private assemble(
    metas: readonly TraceMeta[],
    panels: readonly Panel[],
  ): { details: Details; dock: Dock; toolbar: Toolbar } {
    const details = new Details(this, (lane, w) => {
      this.timelines.forEach((t, i) => {
        t.selectedSpan = i === lane ? w : null;
      });
      this.draw();
    });
    const splitter = makeSplitter(this);
    const dock = new Dock(this, panels, splitter, details.element);
    const minimap = new Minimap(this);
    const ruler = new RulerBar(this, (w) => rubber.show(w));
    const legend = makeLegend(
      this,
      () => this.timelines,
      minimap,
      (lane, key) => this.navigator.goRow(lane, key),
    );
    const search = new Search(
      this,
      (t) => this.navigator.goTime(t),
      (lane, key) => this.navigator.goRow(lane, key),
      (lane, region, direction) => void this.navigator.goRegion(lane, region, direction),
      () => this.timelines[0].plot.focus({ preventScroll: true }),
    );
    const rubber = new RubberBand(this, () => this.timelines[0]);
    const notice = el("div", { class: "notice", role: "status" });
    const hint = el("div", { class: "hint", role: "status", hidden: true });
    const message = el("span", { class: "message", role: "status", aria: { live: "polite" } });
    const tooltip = new Tooltip(this, message);
    const picker = new Picker(this, details);
    const linkText = el("span", { class: "faint" });
    const defects = defectsButton(this, dock);
    const toolbar = makeToolbar(this, metas, {
      timelines: () => this.timelines,
      search: search.element,
      back: () => this.address.back(),
      cancelSave: () => this.address.cancelSave(),
      exportMenu: () => exportMenu(this, this.timelines, legend.shown(), () => dock.csv),
    });
    this.timelines = this.lanes.map((l) => new Timeline(this, l, metas.length > 1 ? l.title : null));
    const lanes = layOut(
      this,
      this.timelines,
      { toolbar, legend, minimap, ruler, rubber, tooltip, dock },
      { hint, notice, message, linkText, defects, facts: factsOf(this, metas) },
    );
    this.warn = () => void countDefects(this, defects, dock);
    this.parts = {
      hint,
      minimap,
      ruler,
      dock,
      details,
      legend,
      search,
      tooltip,
      notice,
      message,
      linkText,
      sync: toolbar.sync,
    };
    document.documentElement.style.setProperty("--dock", this.dock + "px");
    for (const t of this.timelines) this.follow(t, picker, tooltip, rubber);
    new ResizeObserver(() => this.draw()).observe(lanes);
    this.store.listen((c) => this.changed(c));
    this.extras.follow();
    listenToKeys(this, {
      timelines: () => this.timelines,
      details,
      search,
      picker,
      active: () => this.parts !== null,
      back: () => this.address.back(),
      addNote: () => addNote(this, details, dock),
    });
    return { details, dock, toolbar };
  }

  /** follow connects a time line to the pointer, and to changes of its shift. */
  private follow(t: Timeline, picker: Picker, tooltip: Tooltip, rubber: RubberBand): void {
    t.shiftField?.addEventListener("change", () => {
      const v = parse(t.shiftField?.value ?? "", this.axis);
      if (v === null) {
        this.announce("a shift is a time, such as 12.5 ms or -3 µs");
        return;
      }
      this.store.set({
        shift: this.lanes.map((_, i) => (i === t.lane.index ? v : (this.store.state.shift[i] ?? 0n))),
      });
    });
    attach(this, t, {
      pick: (tl, h) => picker.pick(tl, h),
      pickLink: (tl) => picker.pickLink(tl),
      hover: (tl, h, x, y) => tooltip.show(tl, h, x, y),
      rubber: (w) => rubber.show(w),
      range: (tl, w, points) => void picker.snap(tl, w, points),
      rangeTo: (tl, h) => void picker.rangeTo(tl, h),
      mark: (tl, h, time, second) => void picker.mark(tl, h, time, second),
      shift: (tl, by) => {
        const shift = this.lanes.map((_, i) => this.store.state.shift[i] ?? 0n);
        shift[tl.lane.index] += by;
        this.store.set({ shift });
      },
    });
    listenToLabels(this, t);
  }

  private changed(c: ReadonlySet<keyof State>): void {
    const s = this.store.state,
      p = this.parts;
    if (c.has("theme")) this.theme();
    // the name of a group is not that of a region: unless colours mean groups, it would turn all spans
    // grey
    if (
      c.has("color") &&
      s.highlight !== null &&
      !this.lanes.some((l) => l.meta.regions.some((r) => highlighted(r, s.color, s.highlight ?? "")))
    ) {
      this.store.set({ highlight: null });
    }
    if (c.has("theme") || c.has("color") || c.has("highlight")) {
      this.version++;
      this.recolor();
      p?.legend.update(true);
      p?.details.recolor();
    }
    if (c.has("shift") || c.has("align")) {
      this.applyShifts();
      const w = clamp(s.window, this.limits());
      if (!sameWindow(w, s.window)) this.store.set({ window: w });
      this.version++;
      if (s.selection) void p?.details.follow(s.selection);
    }
    if (c.has("orderWindow") && s.order === "busy") void this.busyOrder();
    else if (c.has("order") && s.order !== "busy")
      this.announce(s.order === "name" ? "rows sorted by name" : "rows as in the file");
    if (
      c.has("collapsed") ||
      c.has("hidden") ||
      c.has("order") ||
      c.has("levels") ||
      c.has("rowFilter") ||
      c.has("stripHeight") ||
      c.has("scaled") ||
      c.has("offsets")
    ) {
      this.arrange();
      // the pointer is now over something else
      for (const t of this.timelines) {
        t.hover = null;
        t.hoverLink = null;
      }
      p?.tooltip.hide();
    }
    if (c.has("mode") && s.mode === "pan") this.announce("");
    if (c.has("arrows") && s.arrows === "off") for (const l of this.lanes) l.links.clear();
    if (c.has("showWaits") && !s.showWaits) for (const l of this.lanes) l.overlays.waits.clear();
    if (c.has("showPath") && !s.showPath) for (const l of this.lanes) l.overlays.path.clear();
    if (c.has("selection") && s.selection && s.link) this.store.set({ link: null });
    if (c.has("selection") && !c.has("followed") && s.followed) this.store.set({ followed: null });
    if ((c.has("selection") || c.has("link")) && !s.selection && !s.link) this.announce("");
    if (c.has("link") && s.link && !s.selection) {
      for (const t of this.timelines) t.selectedSpan = null;
      void p?.details.followLink(s.link);
    } else if (c.has("link") && !s.selection && !c.has("selection")) void p?.details.follow(null);
    else if (c.has("followed") && s.followed && !c.has("selection")) void p?.details.follow(s.selection);
    else if (c.has("selection")) {
      for (const t of this.timelines) t.selectedSpan = null;
      void p?.details.follow(s.selection);
      if (s.selection) p?.dock.choose(s.selection.lane);
    }
    if (c.has("dock")) {
      if (s.dock !== initialState.dock) this.spare = 0;
      document.documentElement.style.setProperty("--dock", this.dock + "px");
    }
    if (c.has("window") && this.timelines[0]?.pointer) p?.tooltip.hide();
    // during a zoom, the window and the first row change in each frame, and no control depends on them
    if ([...c].some((k) => k !== "window" && k !== "top")) p?.sync();
    if (c.has("choices") && this.lanes.length > 0) this.extras.follow();
    p?.dock.follow();
    this.address.save(c);
    this.draw();
  }
}
