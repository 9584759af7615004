// The page: starts, puts the parts together, draws frames.
import "./theme.css";
import {
  ApiError,
  baseID,
  Client,
  isAbort,
  isNothing,
  say,
  sleep,
  type LinkDetails,
  type LinkInfo,
  type LocationRow,
  type SpanDetails,
  type SpanInfo,
  type States,
  type TraceList,
  type TraceMeta,
} from "./api";
import type { App } from "./app";
import { type Colors, highlighted, regionColors, share, themeColors } from "./colors";
import { attach, Keys } from "./control";
import { few } from "./arrows";
import { attributes as missing, Details } from "./select";
import { Dock } from "./dock";
import { brief, button, bytes, count, el, name, percent, printable, select, setText, spoken, titled } from "./dom";
import { takeDrops } from "./drop";
import { exportMenu } from "./export";
import { showHelp } from "./help";
import { Indexing } from "./indexing";
import { Lane } from "./lane";
import { type Legend, makeLegend } from "./legend";
import { Minimap } from "./minimap";
import { changes, drop, hurry, later, nextFrame, now, putOff } from "./later";
import { newID, Notes } from "./notes";
import { makePanels } from "./panels/all";
import { regionsOf } from "./panels/calls";
import { type Defects, type Found, found } from "./panels/defects";
import { RulerBar } from "./rulerbar";
import { beyond, Search } from "./search";
import { startPage } from "./start";
import { initial, type Selection, type State, Store } from "./store";
import { type Clock, convert, exact, parse, short, type Window } from "./time";
import { rowKey } from "./tiles";
import { compact, type Hit, Timeline } from "./timeline";
import { cutShort, noticeOf, read, readFollowed, readLink, linkKey, write } from "./url";
import { around, centred, clamp, pan, reveal, same, scaled } from "./view";
import { type Node, pathTo, steps } from "./rows";
import { deeper, rowMenu } from "./rowmenu";

/** ofAttribute begins the values of the menu of colours that stand for attributes. */
const ofAttribute = "=";

/** mostChecked is how many events a trace has at most that is checked before anybody asks, and mostRead if it is known to have defects. */
const mostChecked = 100000,
  mostRead = 1000000;

/** between is how often the address is written while the view moves, in milliseconds; flowing are the parts of the state that change all the time then. */
const between = 500,
  flowing: ReadonlySet<keyof State> = new Set(["window", "top", "dock", "shift", "rowFilter", "choices"] as const);

/** address and server name what is put off: that the address is written, and that a server that did not answer is asked again. */
const address = "address",
  server = "server";

/** unseen is what may be pending while what is seen is at rest. */
const unseen: ReadonlySet<string> = new Set([address, server, missing, "list of the search"]);

/** largeScreen is how many CSS pixels high a window is where the tables may be higher than usual. */
const largeScreen = 1200;

/** reach is how far from a click an edge is that is measured from, in CSS pixels. */
const reach = 14;

/** onEdges says which ends of what is measured lie on no edge of a span. */
function onEdges(loose: string): string {
  return loose === "12"
    ? "neither end is on an edge"
    : loose === "1"
      ? "the first end is on no edge"
      : loose === "2"
        ? "the second end is on no edge"
        : "";
}

/** leftAs is where a page that is left keeps the address it had, and that which it should have had. */
const leftAs = "weft-left-as";

/** Frame is when a frame was drawn and how long it took, in milliseconds. */
interface Frame {
  at: number;
  cost: number;
}

class Page implements App {
  readonly store: Store;
  readonly client = new Client();
  lanes: Lane[] = [];
  list: TraceList = { version: "", readOnly: true, traces: [] };
  axis: Clock = { num: 1000000000n, den: 1n };
  colors: Colors = themeColors(false);
  notes: Notes = new Notes(this.client, true, () => undefined);
  timelines: Timeline[] = [];
  readonly frames: Frame[] = [];
  private dirty = false;
  pictured = false;
  private started = false;
  /** warn hints at defects, once the first picture is there. */
  private warn: () => void = () => undefined;
  private history = 0;
  private pushed: Window | null = null;
  private restoring = false;
  /** wrong are the pieces of the address that were not understood, and what is shown instead. */
  private wrong: [piece: string, instead: string][] = [];
  private panels: readonly string[] = [];
  private parts: {
    hint: HTMLElement;
    minimap: Minimap;
    ruler: RulerBar;
    dock: Dock;
    details: Details;
    legend: Legend;
    search: Search;
    tip: HTMLElement;
    lanes: HTMLElement;
    rubber: HTMLElement;
    notice: HTMLElement;
    message: HTMLElement;
    measure: HTMLElement;
    linkText: HTMLElement;
    sync: () => void;
  } | null = null;
  private tipTimer = 0;
  private tipAbort: AbortController | null = null;

  constructor() {
    this.arrive();
    this.store = new Store({ ...initial, ...this.read() });
    this.theme();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.theme();
      this.recolor();
    });
    this.client.onChange = () => this.state();
    changes.told = () => this.state();
    this.client.onLost = (why) => this.lost(why);
    this.client.onAnew = () => this.anew();
    addEventListener("popstate", () => {
      this.goingBack = false;
      this.restore();
    });
    addEventListener("hashchange", () => this.restore());
    addEventListener("beforeunload", () => this.leaving());
    addEventListener("pagehide", () => this.leaving());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") this.leaving();
    });
  }

  /** read takes the state out of the address, and notes what is wrong with that. */
  private read(): Partial<State> {
    this.wrong = [];
    return read(location.hash, (piece, instead) => this.wrong.push([piece, instead]));
  }

  // ---- state of the page

  private theme(): void {
    const t = this.store.state.theme;
    const dark = t === "dark" || (t === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.colors = themeColors(dark);
  }

  private recolor(): void {
    const s = this.store.state,
      shared = share(this.lanes.map((l) => l.meta));
    for (const l of this.lanes) l.colors = regionColors(l.meta, s.color, s.highlight, this.colors, shared);
    this.draw();
  }

  /** pending names what is still to come, to tests; nothing of it is missed, however long it takes. */
  pending(): string[] {
    const shown = this.timelines.length > 0,
      dock = this.parts?.dock;
    return [
      ...(this.started ? [] : ["the start"]),
      ...(shown && !this.pictured ? ["the first picture"] : []),
      ...this.client.inFlight.map((path) => "answer to " + path),
      ...putOff(),
      ...(dock?.underWay ? ["panel"] : []),
      // a change of the address is told a moment later
      ...(shown && location.hash !== this.written ? ["address that was given"] : []),
      ...(this.again ? ["new index"] : []),
      ...(this.goingBack ? ["the view before"] : []),
      ...(this.stateTimer !== 0 ? ["state"] : []),
    ];
  }

  private stateTimer = 0;
  /** state publishes whether what is seen is at rest. */
  private state(): void {
    if (this.stateTimer) return;
    this.stateTimer = window.setTimeout(() => {
      this.stateTimer = 0;
      const busy = this.pending().some((what) => !unseen.has(what));
      document.documentElement.dataset.state = !this.started ? "loading" : busy ? "busy" : "ready";
    }, 0);
  }

  private banner: HTMLElement | null = null;
  private why = "";
  /** lost says above all else that the server cannot be asked, and asks until it can be. */
  private lost(why: string): void {
    if (why === this.why || !this.parts) return;
    this.why = why;
    this.banner?.remove();
    this.banner = null;
    if (why === "") {
      this.announce("the server answers again");
      this.draw();
      this.parts.dock.follow(true);
      return;
    }
    this.banner = el(
      "div",
      { class: "banner", role: "alert" },
      el("span", {}, why, " What is shown stays."),
      button("Reload", "Load the page again", () => location.reload()),
    );
    document.body.prepend(this.banner);
    void (async () => {
      for (let wait = 1500; this.why !== ""; wait = Math.min(15000, wait * 1.5)) {
        await sleep(server, wait);
        // the client itself tells of success
        try {
          await this.client.json<TraceList>("traces");
        } catch {
          /* asked again */
        }
      }
    })();
  }

  private again = false;
  /** anew waits for an index that the server makes again, and loads the page with it. */
  private anew(): void {
    if (this.again || !this.parts) return;
    this.again = true;
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
    if (!same(n, this.store.state.window)) this.store.set({ window: n });
  }

  reveal(s: Selection, start: bigint, end: bigint, followed: State["followed"] = null): void {
    const lane = this.lanes[s.lane];
    if (!lane) return;
    const a = lane.toAxis(start),
      b = lane.toAxis(end),
      w = this.store.state.window,
      limits = this.limits();
    const i = lane.rowOf.get(s.track);
    if (i !== undefined) this.timelines[s.lane].scrollTo(i);
    let n = w;
    // a span too small to see or too far away is brought near, others leave the zoom alone
    if (b - a > 0n && (b - a) * 400n < w.to - w.from) n = around(a, b, limits, 0.02);
    if (a < n.from || b > n.to) {
      // of one that is longer than the window, the moment that is meant
      const t = lane.toAxis(s.time),
        long = b - a >= n.to - n.from;
      if (!long || t < n.from || t >= n.to) n = reveal(n, long ? t : (a + b) / 2n, limits);
    }
    // of a message that was followed both ends are seen
    if (followed) {
      n = this.around(followed, n);
      this.bothRows(followed);
    }
    // a row without spans has nothing to be selected
    const empty = s.depth >= (lane.meta.tracks[s.track]?.depth ?? 0);
    if (empty) this.announce(lane.fullName(s.track));
    this.store.set(empty ? { window: n } : { selection: s, window: n, followed });
  }

  /** around is a window as it is if both ends of a link are well inside, else one with both. */
  around(l: { lane: number; link: LinkInfo }, w: Window): Window {
    const lane = this.lanes[l.lane],
      times = [l.link.from, l.link.to].map((e) => lane.toAxis(BigInt(e.time))),
      [a, b] = times[0] <= times[1] ? times : [times[1], times[0]],
      room = (w.to - w.from) / 50n;
    if (a >= w.from + room && b <= w.to - room && (b - a) * 100n >= w.to - w.from) return w;
    return around(a, b > a ? b : a + 1n, this.limits(), 0.6);
  }

  /** bothRows scrolls to the rows of both ends of a link, or, if they are too far from each other, to that of its end. */
  private bothRows(l: { lane: number; link: LinkInfo }): void {
    const lane = this.lanes[l.lane],
      t = this.timelines[l.lane],
      rows = [l.link.from, l.link.to]
        .map((e) => lane.rowOf.get(e.track))
        .filter((i) => i !== undefined)
        .sort((a, b) => a - b);
    const high = rows.length < 2 ? Infinity : lane.rows[rows[1]].y + lane.rows[rows[1]].height - lane.rows[rows[0]].y;
    if (high < t.height) for (const i of rows) t.scrollTo(i);
  }

  /** showLink selects a link and shows both its ends. */
  showLink(l: { lane: number; link: LinkInfo }): void {
    this.store.set({ selection: null, link: l, window: this.around(l, this.store.state.window) });
    this.bothRows(l);
  }

  /** hold keeps the time that a table is of, as the range, when a click in it leads elsewhere. */
  hold(time: Window): void {
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
        .map((l) => l.tiles.error || (this.store.state.arrows !== "off" ? l.links.error : ""))
        .find((e) => e !== "") ?? "";
    setText(
      p.linkText,
      this.store.state.arrows !== "off"
        ? this.lanes
            .map((l) => l.links.words)
            .filter((x) => x !== "")
            .join("; ")
        : "",
    );
    const empty = this.lanes.every((l) => l.meta.events === 0);
    setText(
      p.notice,
      this.banner
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

  // ---- rows

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
        available: Math.max(100, (this.timelines[i]?.height ?? 400) + this.spareSeen / this.lanes.length - 2),
      });
      this.timelines[i]?.rowsChanged();
    });
    this.spend();
  }

  /** spare is the room that the tables have of what the rows of a large screen leave, and spareSeen what they had of it when the time lines were measured. */
  private spare = 0;
  private spareSeen = 0;
  get dock(): number {
    return this.store.state.dock + this.spare;
  }

  /** spend gives room that no row needs to the tables, on large screens and unless their height was chosen. */
  private spend(): void {
    const n = this.lanes.length,
      least = this.timelines.reduce((m, t) => Math.min(m, t.height + this.spareSeen / n - t.lane.height), Infinity);
    const wanted =
      innerHeight < largeScreen || this.store.state.dock !== initial.dock || this.timelines.some((t) => t.height === 0)
        ? 0
        : Math.max(0, Math.min(Math.floor(least * n) - 24, Math.floor(innerHeight / 2) - initial.dock));
    if (wanted === this.spare) return;
    this.spare = wanted;
    document.documentElement.style.setProperty("--dock", this.dock + "px");
  }

  /** busyOrder sorts the rows by how busy they are in the window that the state names for it: the order is the same wherever one goes. */
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
        // another window may have been asked for meanwhile
        if (!same(w, this.store.state.orderWindow ?? w)) return;
        // of locations the time of work, of resources that in which anything was claimed
        l.busy = new Map([...(r.rows ?? []), ...s.rows].map((x) => [x.track, Number(x.busy)]));
      } catch (e) {
        this.announce("busy times: " + say(e));
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

  private place(): void {
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

  // ---- URL and history

  /** changedAt and recordedAt are when the state changed last and when the address was written last; moving says that the views since belong to one motion, which has an entry of its own already. */
  private changedAt = -Infinity;
  private recordedAt = -Infinity;
  private moving = false;
  /** choicesSaved are those in the panels when the state changed last. */
  private choicesSaved: State["choices"] = new Map();
  /** written is the fragment that the page itself has put into the address, or has read from it. */
  private written = "";

  /** save has the address written: at once, but while something goes on changing once in a while. */
  private save(changed: ReadonlySet<keyof State>): void {
    if (this.restoring) return;
    const begin = now();
    if (begin - this.changedAt > between) this.moving = false;
    this.changedAt = begin;
    // what is typed goes on too
    const choices = this.store.state.choices,
      was = this.choicesSaved,
      typed = [...new Set([...choices.keys(), ...was.keys()])].every(
        (k) => k.endsWith(".filter") || choices.get(k) === was.get(k),
      );
    this.choicesSaved = choices;
    const wait =
      typed && [...changed].every((k) => flowing.has(k)) ? Math.max(0, this.recordedAt + between - begin) : 0;
    if (this.history && wait > 0) return;
    drop(this.history);
    this.history = later(address, wait, () => this.record());
  }

  /** record puts the view into the address. The state of an entry says how many views of this page are before it. */
  private record(): void {
    drop(this.history);
    this.history = 0;
    const url = "#" + write(this.store.state);
    if (url === location.hash) return;
    const w = this.store.state.window,
      other = this.pushed !== null && !same(this.pushed, w);
    // browsers take so many changes in a while, and no more
    try {
      if (other && !this.moving) {
        history.pushState({ views: this.before + 1 }, "", url);
        this.moving = true;
      } else history.replaceState({ views: this.before }, "", url);
    } catch {
      this.history = later(address, 4 * between, () => this.record());
      return;
    }
    this.pushed = w;
    this.recordedAt = now();
    this.written = location.hash;
  }

  /** leaving writes what is not in the address yet, unless another address was given. A reload has begun with the old one by then: it is told apart. */
  private leaving(): void {
    if (!this.history || location.hash !== this.written) return;
    const was = this.written;
    this.record();
    try {
      sessionStorage.setItem(leftAs, JSON.stringify([was, this.written]));
    } catch {
      /* the address has to do */
    }
  }

  /** arrive takes the address that the page had when it was left for a reload. */
  private arrive(): void {
    try {
      const [was, is] = JSON.parse(sessionStorage.getItem(leftAs) ?? "[]") as string[];
      sessionStorage.removeItem(leftAs);
      const how = performance.getEntriesByType("navigation")[0];
      if (is && was === location.hash && how instanceof PerformanceNavigationTiming && how.type === "reload")
        history.replaceState(history.state, "", is);
    } catch {
      /* nothing is kept here */
    }
  }

  /** before is how many views of this page the browser can go back to. */
  private get before(): number {
    const views = (history.state as { views?: number } | null)?.views;
    return typeof views === "number" ? views : 0;
  }

  private goingBack = false;
  /** back shows the view before; the page that was open before this one stays where it is. */
  private back(): void {
    this.record();
    if (this.before > 0) {
      this.goingBack = true;
      history.back();
    } else this.announce("this is the first view");
  }

  private restore(): void {
    const s = this.read();
    const now = this.store.state.traces.join(","),
      then = (s.traces ?? []).join(",");
    if (then !== now && !(then === "" && this.list.traces.length === 1)) {
      location.reload();
      return;
    }
    this.restoring = true;
    const fit = this.fitting(s);
    // a message is asked for below
    const link = fit.link ?? (readLink(location.hash) ? this.store.state.link : null);
    this.store.set({ ...fit, link, traces: this.store.state.traces });
    for (const t of this.timelines) t.hold();
    this.restoring = false;
    this.restoreLink();
    this.restoreFollowed();
    this.hint();
    this.pushed = this.store.state.window;
    this.moving = false;
    this.written = location.hash;
  }

  /** fitting is a state of the address as far as it fits to the traces; what does not is noted, and shown otherwise. */
  private fitting(s: Partial<State>): Partial<State> & { window: Window } {
    const limits = this.limits(),
      out = { ...s, window: limits },
      spans = beyond(limits.to, limits, this.axis);
    const write2 = (w: Window): string => `${w.from}~${w.to}`;
    const outside = (w: Window): boolean => w.from >= limits.to || w.to <= limits.from;
    if (s.window && outside(s.window)) this.wrong.push([`w=${write2(s.window)}`, `the whole is shown: ${spans}`]);
    else if (s.window) {
      out.window = clamp(
        {
          from: s.window.from < limits.from ? limits.from : s.window.from,
          to: s.window.to > limits.to ? limits.to : s.window.to,
        },
        limits,
      );
      if (s.window.from < limits.from || s.window.to > limits.to)
        this.wrong.push([`w=${write2(s.window)}`, `what of it lies in the trace is shown: ${spans}`]);
    }
    if (s.range && outside(s.range)) {
      this.wrong.push([`r=${write2(s.range)}`, `no range is selected: ${spans}`]);
      out.range = null;
    }
    if (s.place !== undefined && s.place !== null && (s.place < limits.from || s.place >= limits.to)) {
      this.wrong.push([`at=${s.place}`, `no place is marked: ${spans}`]);
      out.place = null;
    }
    if (s.orderWindow && outside(s.orderWindow)) {
      this.wrong.push([`ow=${write2(s.orderWindow)}`, "rows are sorted by what is shown now"]);
      out.orderWindow = null;
    }
    out.orderWindow = s.order === "busy" ? (out.orderWindow ?? out.window) : null;
    const k = s.selection,
      track = k ? this.lanes[k.lane]?.meta.tracks[k.track] : undefined;
    if (k && (!track || (k.depth >= 0 && k.depth >= track.depth))) {
      this.wrong.push([
        `s=${k.lane}.${k.track}.${k.depth}.${k.time}`,
        `nothing is selected: there is no such ${track ? "level" : "row"}`,
      ]);
      out.selection = null;
    }
    if (
      s.link &&
      [s.link.link.from, s.link.link.to].some((e) => !this.lanes[s.link?.lane ?? -1]?.meta.tracks[e.track])
    ) {
      this.wrong.push([`b=${s.link.lane}…`, "no messages are selected: there is no such row"]);
      out.link = null;
    }
    const rows = new Set<string>(),
      walk = (lane: number, nodes: readonly Node[]): void => {
        for (const n of nodes) {
          rows.add(`${lane}/${n.key}`);
          walk(lane, n.children);
        }
      };
    this.lanes.forEach((l) => walk(l.index, l.tree));
    const known = (letter: string, all: Iterable<string>): string[] =>
      [...all].filter((x) => {
        const is = rows.has(x.split(":")[0]);
        if (!is) this.wrong.push([`${letter}=${x}`, "there is no such row"]);
        return is;
      });
    out.collapsed = new Set(known("c", s.collapsed ?? []));
    out.hidden = new Set(known("h", s.hidden ?? []));
    out.top = known(
      "y",
      (s.top ?? "").split(",").filter((x) => x !== ""),
    ).join(",");
    if (
      typeof s.highlight === "string" &&
      !this.lanes.some((l) => l.meta.regions.some((r) => highlighted(r, s.color ?? initial.color, s.highlight ?? "")))
    ) {
      this.wrong.push([cutShort(`hl=${s.highlight}`), "there is no such region"]);
      out.highlight = null;
    }
    if (s.panel !== undefined && !this.panels.includes(s.panel)) {
      this.wrong.push([cutShort(`p=${s.panel}`), "the first table is shown"]);
      out.panel = initial.panel;
    }
    return out;
  }

  /** restoreLink asks for the message or dependency that the address says is selected. */
  private restoreLink(): void {
    const k = readLink(location.hash),
      held = this.store.state.link,
      own = held ? linkKey(held.lane, held.link) : null;
    if (!k) {
      if (own) this.store.set({ link: null });
      return;
    }
    if (own && own.lane === k.lane && own.id === k.id && own.track === k.track && own.time === k.time) return;
    const lane = this.lanes[k.lane],
      lost = (): void => {
        this.wrong.push([`k=${k.lane}.${k.track}.${k.time}.${k.id}`, "there is no such message"]);
        this.hint();
      };
    if (!lane?.meta.tracks[k.track]) {
      lost();
      return;
    }
    this.client
      .json<LinkDetails>(`traces/${encodeURIComponent(lane.meta.id)}/link`, {
        link: k.id,
        track: k.track,
        time: k.time,
      })
      .then((d) => this.store.set({ selection: null, link: { lane: k.lane, link: d.link } }))
      .catch(lost);
  }

  /** restoreFollowed asks for the message that led to the selection of the address. */
  private restoreFollowed(): void {
    const k = readFollowed(location.hash),
      at = this.store.state.selection,
      lane = k ? this.lanes[k.lane] : undefined;
    if (!k || !at || at.lane !== k.lane) return;
    const lost = (): void => {
      this.wrong.push([`fk=${k.lane}.${k.track}.${k.time}.${k.id}`, "there is no such message"]);
      this.hint();
    };
    if (!lane?.meta.tracks[k.track]) {
      lost();
      return;
    }
    this.client
      .json<LinkDetails>(`traces/${encodeURIComponent(lane.meta.id)}/link`, {
        link: k.id,
        track: k.track,
        time: k.time,
      })
      .then((d) => {
        if (this.store.state.selection === at) this.store.set({ followed: { lane: k.lane, link: d.link } });
      })
      .catch(lost);
  }

  /** hint says what was wrong with the address until it is closed; it takes nothing away. */
  private hint(): void {
    const h = this.parts?.hint,
      text = noticeOf(this.wrong);
    if (!h) return;
    h.hidden = text === "";
    h.title = this.wrong
      .map(([piece, instead]) => printable(instead === "" ? piece : `${piece}: ${instead}`))
      .join("\n");
    h.replaceChildren(
      ...(text === ""
        ? []
        : [
            name(text),
            button("✕", "Close this message", () => {
              h.hidden = true;
              this.timelines[0]?.plot.focus({ preventScroll: true });
            }),
          ]),
    );
  }

  // ---- start

  async start(): Promise<void> {
    try {
      this.list = await this.client.json<TraceList>("traces");
    } catch (e) {
      this.fail("weft", say(e));
      return;
    }
    if (!this.list.readOnly) takeDrops(this);
    let wanted = this.store.state.traces.filter((id) => this.list.traces.some((t) => t.id === baseID(id)));
    const strange = this.store.state.traces.filter((id) => !wanted.includes(id));
    if (wanted.length === 0) {
      const all = this.list.traces;
      // a few that are open already were named on the command line: they are meant to be seen together
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
      this.wrong.push([
        cutShort(`t=${id}`),
        `that trace is not served here: ${wanted.map((x) => this.list.traces.find((t) => t.id === baseID(x))?.name ?? x).join(", ")} is shown`,
      ]);
    this.store.set({ traces: wanted });
    const metas = await this.load(wanted);
    if (metas) this.build(metas);
  }

  private fail(title: string, text: string): void {
    const traces = this.store.state.traces,
      plain = traces.map(baseID);
    document.body.replaceChildren(
      el(
        "main",
        { class: "start" },
        el("h1", {}, name(title)),
        el("p", { class: "error", role: "alert" }, name(text)),
        button("Try again", "Load the page again", () => location.reload()),
        plain.join() !== traces.join()
          ? button("Colours by region", "Show the trace by region instead of by an attribute", () => {
              location.hash = write({ ...this.store.state, traces: plain });
            })
          : null,
        this.list.traces.length > 1
          ? button("All traces", "Show the list of traces", () => {
              location.hash = "";
              location.reload();
            })
          : null,
      ),
    );
    this.started = true;
    this.state();
  }

  /** load waits until the traces are indexed and shows how far that is. */
  private async load(ids: string[]): Promise<TraceMeta[] | null> {
    const out: TraceMeta[] = [];
    const view = new Indexing();
    document.body.replaceChildren(view.element);
    for (let id of ids) {
      for (let wait = 150; ; wait = Math.min(2000, wait * 1.3)) {
        let m: TraceMeta;
        try {
          m = await this.client.json<TraceMeta>("traces/" + encodeURIComponent(id));
        } catch (e) {
          if (e instanceof ApiError && e.status === 404 && baseID(id) !== id) {
            this.wrong.push([cutShort(`t=${id}`), `colours are by region: ${say(e)}`]);
            id = baseID(id);
            continue;
          }
          // an index takes minutes: a server that does not answer once may do so later
          if (e instanceof ApiError && e.status < 500) {
            this.fail(id, say(e));
            return null;
          }
          view.lost(say(e));
          await sleep(server, Math.max(1000, wait));
          continue;
        }
        if (m.state === "failed") {
          this.fail(m.name, m.error || "reading failed");
          return null;
        }
        if (m.state === "ready") {
          out.push(m);
          break;
        }
        view.show(m);
        await new Promise<void>((done) => nextFrame("progress", done));
        await sleep("index", wait);
      }
    }
    return out;
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
    this.place();
    const panels = makePanels();
    this.panels = panels.map((p) => p.id);
    const given = this.fitting(read(location.hash)),
      window0 = given.window;
    this.store.set({ ...given, traces: metas.map((m) => m.id) });
    const s = this.store.state;
    document.title = this.lanes.map((l) => printable(l.title)).join(" · ") + " – weft";
    const stats =
      metas.length === 1
        ? `${count(metas[0].events)} events, ${count(metas[0].spans)} spans, ${count(metas[0].links)} links, ${exact(this.lanes[0].length, this.axis)}`
        : "";

    const details = new Details(this, (lane, w) => {
      this.timelines.forEach((t, i) => {
        t.selectedSpan = i === lane ? w : null;
      });
      this.draw();
    });
    const splitter = el("div", {
      class: "splitter",
      role: "separator",
      tabindex: 0,
      aria: {
        orientation: "horizontal",
        label: "Height of the tables. Up and down arrow change it.",
        valuenow: s.dock,
      },
    });
    const dock = new Dock(this, panels, splitter, details.element);
    const minimap = new Minimap(this);
    const ruler = new RulerBar(this, (w) => this.rubber(w));
    const legend = makeLegend(
      this,
      () => this.timelines,
      minimap,
      (lane, key) => this.goRow(lane, key),
    );
    const search = new Search(
      this,
      (t) => this.goTime(t),
      (lane, key) => this.goRow(lane, key),
      (lane, region, direction) => void this.goRegion(lane, region, direction),
      () => this.timelines[0].plot.focus({ preventScroll: true }),
    );
    const tip = el("div", { class: "tip", hidden: true, role: "tooltip" });
    const rubber = el("div", { class: "rubber", hidden: true }, el("span", {}));
    const notice = el("div", { class: "notice", role: "status" });
    const hint = el("div", { class: "hint", role: "status", hidden: true });
    const message = el("span", { class: "message", role: "status", aria: { live: "polite" } });
    const measure = el("span", { class: "measure" });
    const facts = el("span", { class: "facts", title: stats }, stats);
    const linkText = el("span", { class: "faint" });
    const defects = button(
      "",
      "Open the list of defects",
      () => {
        dock.choose(
          Math.max(
            0,
            this.lanes.findIndex((l) => l.meta.defects > 0),
          ),
        );
        this.store.set({ panel: "defects" });
      },
      "link defects",
    );
    defects.hidden = true;
    const unhide = button("", "Show all hidden rows", () => this.store.set({ hidden: new Set() }));
    const toggle = (label: string, title: string, click: () => void): HTMLButtonElement => {
      const b = button(label, title, click);
      b.setAttribute("aria-pressed", "false");
      return b;
    };
    const arrows = toggle("Links", "", () => this.nextArrows());
    arrows.disabled = metas.every((m) => m.links === 0);
    const range = toggle(
      "Range",
      "Drag selects a range of time for the tables (alt + drag does always; R takes the window)",
      () => this.mode("range"),
    );
    const ruleMode = toggle("Measure", "Two clicks measure the time between span edges (M)", () =>
      this.mode("measure"),
    );
    const colorSelect = select(
      "Colours by",
      [
        ["region", "by region"],
        ["group", "by group"],
        ["track", "by row"],
      ],
      s.color,
      (v) => void this.colorBy(v),
    );
    const attributes = [
      ...new Set(metas.flatMap((m) => (m.color === "" ? m.attributes : [m.color, ...m.attributes]))),
    ].sort();
    if (attributes.length > 0)
      colorSelect.append(
        el(
          "optgroup",
          { label: "by attribute" },
          ...attributes.map((a) => {
            const o = el("option", { value: ofAttribute + a });
            o.textContent = printable(a);
            return o;
          }),
        ),
      );
    // what the menu shows: the colours that all traces are in are those of the attribute that one of them is by
    const colored = metas.find((m) => m.color !== "")?.color ?? "";
    const theme = button("◐", "Light or dark (T)", () => this.toggleTheme());
    const align =
      metas.length > 1
        ? select(
            "How the traces lie on the axis",
            [
              ["start", "aligned at start"],
              ...(metas.every((m) => m.epoch) ? [["clock", "by time of day"] as const] : []),
            ],
            s.align,
            (v) => this.store.set({ align: v === "clock" ? "clock" : "start" }),
          )
        : null;
    const order = select(
      "Order of rows",
      [
        ["file", "as in file"],
        ["name", "by name"],
        ["busy", "busiest first"],
      ],
      s.order,
      (v) =>
        this.store.set({
          order: v === "name" || v === "busy" ? v : "file",
          orderWindow: v === "busy" ? this.store.state.window : null,
          top: "",
        }),
    );
    const resort = button("↻", "Sort again by the busy time in what the window shows now", () => {
      this.store.set({ orderWindow: this.store.state.window, top: "" });
      for (const t of this.timelines) t.hold();
    });
    const levels = select(
      "Levels of nesting",
      steps.map(
        (n, i) => [String(n), i === steps.length - 1 ? "all levels" : n === 1 ? "1 level" : `${n} levels`] as const,
      ),
      String(s.levels),
      (v) => this.store.set({ levels: Number(v) }),
    );
    const size = select(
      "Height of rows",
      [
        ["0", "fit"],
        ["4", "tiny"],
        ["8", "small"],
        ["12", "medium"],
        ["18", "large"],
      ],
      String(s.stripHeight),
      (v) => this.store.set({ stripHeight: Number(v) }),
    );
    const filter = el("input", {
      type: "search",
      placeholder: "rows…",
      value: s.rowFilter,
      aria: { label: "Show only rows whose name contains this" },
    });
    filter.addEventListener("input", () => this.store.set({ rowFilter: filter.value }));
    const sync = (): void => {
      const n = this.store.state;
      arrows.textContent = "Links: " + n.arrows;
      arrows.title = arrows.disabled
        ? "This trace has no links"
        : `Messages and dependencies as arrows: ${n.arrows === "auto" ? `shown where there are at most ${few}` : n.arrows === "on" ? "shown, in bundles where there are many" : "not shown"} (L)`;
      arrows.setAttribute("aria-label", `Links ${n.arrows}. ${arrows.title}`);
      arrows.setAttribute("aria-pressed", String(n.arrows === "on"));
      range.setAttribute("aria-pressed", String(n.mode === "range"));
      ruleMode.setAttribute("aria-pressed", String(n.mode === "measure"));
      colorSelect.value = n.color === "region" && colored !== "" ? ofAttribute + colored : n.color;
      order.value = n.order;
      levels.value = String(n.levels);
      size.value = String(n.stripHeight);
      if (document.activeElement !== filter) filter.value = n.rowFilter;
      if (align) align.value = n.align;
      resort.hidden = n.order !== "busy";
      unhide.hidden = n.hidden.size === 0;
      unhide.textContent = `+${n.hidden.size}`;
      unhide.setAttribute("aria-label", spoken(unhide.textContent, unhide.title));
      this.timelines.forEach((t, i) => {
        if (t.shiftField && document.activeElement !== t.shiftField)
          t.shiftField.value = exact(n.shift[i] ?? 0n, this.axis);
      });
      document.body.className = "mode-" + n.mode;
      const [a, b] = n.marks;
      const on = a !== null && b !== null ? onEdges(n.loose) : n.loose === "" ? "an edge" : "no edge is near";
      measure.textContent =
        a !== null && b !== null
          ? `Δ ${exact(b > a ? b - a : a - b, this.axis)}  (${exact(a, this.axis)} → ${exact(b, this.axis)}${on === "" ? "" : "; " + on})`
          : a !== null && n.mode === "measure"
            ? `from ${exact(a, this.axis)} (${on}): click the second place`
            : a !== null
              ? `marked: ${exact(a, this.axis)}`
              : n.mode === "measure"
                ? "measure: click the first place"
                : "";
    };
    this.timelines = this.lanes.map((l) => new Timeline(this, l, metas.length > 1 ? l.title : null));
    const grip = el("div", {
      class: "labelgrip",
      title: "Drag to change the width of the names",
      role: "separator",
      tabindex: 0,
      aria: {
        orientation: "vertical",
        label: "Width of the names of rows. Left and right arrow change it.",
        valuenow: 0,
      },
    });
    const lanes = el("main", { class: "lanes" }, ...this.timelines.map((t) => t.element), rubber, notice, grip, tip);
    const several = this.list.traces.length > 1;
    document.body.replaceChildren(
      el(
        "header",
        { class: "bar" },
        el(several ? "a" : "span", { class: "brand", ...(several ? { href: "#", title: "All traces" } : {}) }, "weft"),
        el(
          "h1",
          { class: "title", title: this.lanes.map((l) => printable(l.title)).join("\n") },
          name(this.lanes.map((l) => l.title).join("  |  ")),
        ),
        search.element,
        button("⟨", "Previous view (Backspace or [)", () => this.back()),
        button("⟩", "Next view (])", () => history.forward()),
        button("All", "Show the whole trace (Home)", () => this.show(this.limits())),
        arrows,
        range,
        ruleMode,
        colorSelect,
        ...(align ? [align] : []),
        button("Export ▾", "Picture or table as a file", () =>
          exportMenu(this, this.timelines, legend.shown(), () => dock.csv),
        ),
        theme,
        button("?", "Keys and mouse (?)", showHelp),
      ),
      hint,
      el("section", { aria: { label: "Legend" } }, legend.element),
      el(
        "section",
        { class: "axes", aria: { label: "Rows and time" } },
        el("div", { class: "top" }, el("div", { class: "corner" }, filter, order, resort), minimap.element),
        el("div", { class: "top" }, el("div", { class: "corner" }, levels, size, unhide), ruler.element),
      ),
      lanes,
      dock.element,
      el("footer", { class: "status" }, message, measure, linkText, defects, facts),
    );
    this.warn = () => void this.countDefects(defects, dock);
    this.parts = {
      hint,
      minimap,
      ruler,
      dock,
      details,
      legend,
      search,
      tip,
      lanes,
      rubber,
      notice,
      message,
      measure,
      linkText,
      sync,
    };
    document.documentElement.style.setProperty("--dock", this.dock + "px");
    this.splitting(splitter);
    this.gripping(grip);
    for (const t of this.timelines) {
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
        pick: (tl, h) => this.pick(tl, h),
        pickLink: (tl) => this.pickLink(tl),
        hover: (tl, h, x, y) => this.hover(tl, h, x, y),
        rubber: (w) => this.rubber(w),
        range: (tl, w, points) => void this.snap(tl, w, points),
        second: (tl, h) => void this.second(tl, h),
        mark: (tl, h, time, second) => void this.mark(tl, h, time, second),
        shift: (tl, by) => {
          const shift = this.lanes.map((_, i) => this.store.state.shift[i] ?? 0n);
          shift[tl.lane.index] += by;
          this.store.set({ shift });
        },
      });
      this.labelling(t);
    }
    if (several)
      document.querySelector("a.brand")?.addEventListener("click", (e) => {
        e.preventDefault();
        location.hash = "";
        location.reload();
      });
    new ResizeObserver(() => this.draw()).observe(lanes);
    this.store.listen((c) => this.changed(c));
    this.keyboard();
    this.store.set({ window: window0 });
    this.recolor();
    sync();
    const { selection, link } = this.store.state;
    void (link && !selection ? details.followLink(link) : details.follow(selection));
    if (s.order === "busy") void this.busyOrder();
    this.restoreLink();
    this.restoreFollowed();
    this.hint();
    void this.notes.load(metas.map((m) => m.id)).then(() => {
      if (this.store.state.panel === "notes") dock.follow(true);
    });
    // the first view is the one that back leads to, however soon the next follows
    history.replaceState({ views: this.before }, "", "#" + write(this.store.state));
    this.pushed = window0;
    this.written = location.hash;
    this.draw();
    this.timelines[0].plot.focus({ preventScroll: true });
  }

  /** countDefects says how many defects there are: those that reading found, and of small traces all that a check finds, and of which kind. */
  private async countDefects(where: HTMLElement, dock: Dock): Promise<void> {
    const show = (f: Found): void => {
      where.hidden = f.count === 0;
      if (f.count === 0) return;
      where.classList.toggle("bad", f.bad);
      where.textContent = `${f.bad ? "✗" : "⚠"} ${f.words}`;
      where.setAttribute("aria-label", `${f.words}: open the list of defects`);
      dock.tell("defects", count(f.count), f.words, f.bad);
    };
    const n = this.lanes.reduce((s, l) => s + l.meta.defects, 0);
    show({ count: n, words: `${count(n)} ${n === 1 ? "defect" : "defects"}`, bad: false });
    if (this.lanes.some((l) => l.meta.events > (l.meta.defects > 0 ? mostRead : mostChecked))) return;
    // their number has to do where this fails; the panel says why
    try {
      show(
        found(
          await Promise.all(
            this.lanes.map((l) => this.client.json<Defects>(`traces/${encodeURIComponent(l.meta.id)}/defects`)),
          ),
        ),
      );
    } catch {
      /* said above */
    }
  }

  private changed(c: ReadonlySet<keyof State>): void {
    const s = this.store.state,
      p = this.parts;
    if (c.has("theme")) this.theme();
    // the name of a group greys out all where colours are not by group
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
      this.place();
      const w = clamp(s.window, this.limits());
      if (!same(w, s.window)) this.store.set({ window: w });
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
      c.has("stripHeight")
    ) {
      this.arrange();
      // what lay under the pointer is elsewhere now
      for (const t of this.timelines) {
        t.hover = null;
        t.hoverLink = null;
      }
      p?.tip.setAttribute("hidden", "");
    }
    if (c.has("mode") && s.mode === "pan") this.announce("");
    if (c.has("arrows") && s.arrows === "off") for (const l of this.lanes) l.links.clear();
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
      if (s.dock !== initial.dock) this.spare = 0;
      document.documentElement.style.setProperty("--dock", this.dock + "px");
    }
    if (c.has("window") && this.timelines[0]?.pointer) this.parts?.tip.setAttribute("hidden", "");
    // the window moves at each frame of a zoom, and so may the rows; no control shows it
    if ([...c].some((k) => k !== "window" && k !== "top")) p?.sync();
    p?.dock.follow();
    this.save(c);
    this.draw();
  }

  // ---- what the user does

  private mode(m: "range" | "measure"): void {
    const on = this.store.state.mode === m;
    this.store.set({ mode: on ? "pan" : m });
    this.announce(
      on
        ? ""
        : m === "range"
          ? "drag over the time line to select a range; Esc ends"
          : `click two places to measure; each snaps to the edge of a span within ${reach} pixels, if there is one; Esc ends`,
    );
  }

  private nextArrows(): void {
    const n = this.store.state.arrows;
    if (this.lanes.some((l) => l.meta.links > 0))
      this.store.set({ arrows: n === "auto" ? "on" : n === "on" ? "off" : "auto" });
    else this.announce("this trace has no links");
  }

  /** colorBy chooses what colours stand for. The values of an attribute take the place of regions: a trace in these colours has an index of its own, for which the page is loaded anew. */
  private async colorBy(choice: string): Promise<void> {
    const color = choice === "group" || choice === "track" ? choice : "region",
      attribute = choice.startsWith(ofAttribute) ? choice.slice(ofAttribute.length) : "";
    try {
      const traces = await Promise.all(
        this.lanes.map(async (l) => {
          const wanted = attribute === "" || l.meta.attributes.includes(attribute) ? attribute : l.meta.color;
          return wanted === l.meta.color
            ? l.meta.id
            : (await this.client.json<TraceMeta>("traces/" + encodeURIComponent(baseID(l.meta.id)), { color: wanted }))
                .id;
        }),
      );
      if (traces.every((id, i) => id === this.store.state.traces[i])) {
        this.store.set({ color });
        return;
      }
      drop(this.history);
      this.history = 0;
      location.hash = write({ ...this.store.state, traces, color, highlight: null });
    } catch (e) {
      this.parts?.sync();
      this.announce("colours: " + say(e));
    }
  }

  private toggleTheme(): void {
    this.store.set({ theme: this.colors.dark ? "light" : "dark" });
  }

  private pick(t: Timeline, h: Hit | null): void {
    if (h && h.kind === "curve" && t.lane.meta.tracks[h.track]?.kind === "counter") {
      this.store.set({ selection: null, link: null });
      void this.parts?.details.value(t.lane, h.track, h.time);
      return;
    }
    if (!h || h.kind === "empty" || h.kind === "curve" || h.track < 0) {
      this.store.set({ selection: null, link: null });
      return;
    }
    if (h.kind === "instant") {
      this.store.set({ selection: { lane: t.lane.index, track: h.track, depth: -1, time: h.middle } });
      return;
    }
    if (h.single) {
      this.store.set({ selection: { lane: t.lane.index, track: h.track, depth: h.depth, time: h.middle } });
      return;
    }
    // several spans lie in these pixels: take the first of the region that fills most of them
    void (async () => {
      const left = t.lane.toLocal(t.tickAt(h.x0));
      try {
        const r = await this.client.json<SpanDetails>(`traces/${encodeURIComponent(t.lane.meta.id)}/find`, {
          region: h.region,
          track: h.track,
          time: left - 1n,
          direction: "next",
        });
        this.store.set({
          selection: { lane: t.lane.index, track: r.span.track, depth: r.span.depth, time: BigInt(r.span.start) },
        });
        this.announce("several spans lie here: this is the first of " + r.span.name + "; zoom in to see each");
      } catch {
        this.store.set({ selection: { lane: t.lane.index, track: h.track, depth: h.depth, time: h.middle } });
      }
    })();
  }

  /** pickMiddle selects, for those without a mouse, what lies in the middle of the first row that has something there. */
  private pickMiddle(t: Timeline): void {
    const [a, b] = t.visible();
    for (let i = a; i < b; i++) {
      const r = t.lane.rows[i];
      if (r.track < 0 || r.strips === 0) continue;
      const h = t.hit(t.width / 2, r.y - t.scrollTop + 2 + r.stripHeight / 2);
      if (h && h.kind === "span") {
        this.pick(t, h);
        return;
      }
    }
    this.announce("nothing lies in the middle of the window");
  }

  private pickLink(t: Timeline): void {
    const l = t.hoverLink?.arrow.link;
    if (!l || !this.parts) return;
    this.store.set({ selection: null, link: { lane: t.lane.index, link: l } });
  }

  /** mark sets an end of what is measured: the edge of a span within a few pixels, else the place itself. */
  private async mark(t: Timeline, h: Hit | null, time: bigint, second: boolean): Promise<void> {
    const edge = await this.edgeNear(t, h, time);
    const [a, b] = this.store.state.marks,
      at = edge ?? time,
      first = a === null || (b !== null && !second);
    this.store.set({
      marks: first ? [at, null] : [a, at],
      loose: (first ? "" : this.store.state.loose.replace("2", "")) + (edge === null ? (first ? "1" : "2") : ""),
    });
  }

  /** edgeNear is the edge that is nearest to a place, exactly, of a span in the strip that is there, else in the row; null if none is within a few pixels. */
  private async edgeNear(t: Timeline, h: Hit | null, time: bigint): Promise<bigint | null> {
    if (!h || h.track < 0) return null;
    const w = this.store.state.window,
      { lane } = t,
      at = lane.toLocal(time),
      within = lane.toLocal(time + scaled(w.to - w.from, reach / Math.max(1, t.width))) - at;
    try {
      const strip =
        h.depth >= 0 ? { depth: h.depth, depths: 1 } : h.row.stacked ? {} : { depths: Math.max(1, h.row.strips) };
      const e = await this.client.json<{ time: string }>(`traces/${encodeURIComponent(lane.meta.id)}/edge`, {
        track: h.track,
        time: at,
        within,
        ...strip,
      });
      return lane.toAxis(BigInt(e.time));
    } catch {
      return null;
    }
  }

  /** snap selects a range whose ends go to edges of spans that are near them. */
  private async snap(t: Timeline, w: Window, points: readonly ({ x: number; y: number } | null)[]): Promise<void> {
    this.store.set({ range: w });
    const [from, to] = await Promise.all(
      [w.from, w.to].map(async (time, i) => {
        const p = points[i];
        return p ? ((await this.edgeNear(t, t.hit(p.x, p.y), time)) ?? time) : time;
      }),
    );
    // another one may have been selected meanwhile
    const now = this.store.state.range;
    if (now && same(now, w) && from < to) this.store.set({ range: { from, to } });
  }

  /** second selects the time from the begin of the selected span or another one to the end of the last of both. */
  private async second(t: Timeline, h: Hit | null): Promise<void> {
    const d = this.parts?.details.span,
      s = this.store.state.selection,
      lane = s ? this.lanes[s.lane] : undefined;
    if (!d || !lane || !h || h.kind !== "span" || h.track < 0) {
      this.announce("shift and click on a span, behind a selected one, selects the time from one to the other");
      return;
    }
    try {
      const o = await this.client.json<SpanDetails>(`traces/${encodeURIComponent(t.lane.meta.id)}/span`, {
        track: h.track,
        depth: h.depth,
        time: h.middle,
      });
      const ends = [
        lane.toAxis(BigInt(d.span.start)),
        t.lane.toAxis(BigInt(o.span.start)),
        lane.toAxis(BigInt(d.span.end)),
        t.lane.toAxis(BigInt(o.span.end)),
      ];
      const from = ends[0] < ends[1] ? ends[0] : ends[1],
        to = ends[2] > ends[3] ? ends[2] : ends[3];
      this.store.set({ range: { from, to: to > from ? to : from + 1n } });
      this.announce(`range from ${d.span.name} to ${o.span.name}: ${exact(to - from, this.axis)}`);
    } catch (e) {
      this.announce(say(e));
    }
  }

  private rubber(w: Window | null): void {
    const p = this.parts;
    if (!p) return;
    p.rubber.hidden = w === null;
    if (!w) return;
    const t = this.timelines[0],
      labels = t.plot.offsetLeft;
    const a = Math.max(0, t.x(w.from)),
      b = Math.min(t.width, t.x(w.to));
    p.rubber.style.left = labels + a + "px";
    p.rubber.style.width = Math.max(1, b - a) + "px";
    const span = p.rubber.firstElementChild;
    if (span) span.textContent = short(w.to - w.from, this.axis);
  }

  private hover(t: Timeline, h: Hit | null, x: number, y: number): void {
    const p = this.parts;
    if (!p) return;
    drop(this.tipTimer);
    this.tipAbort?.abort();
    const link = t.hoverLink?.arrow.link;
    if (!h || (h.kind === "empty" && !link) || this.store.state.mode === "range") {
      p.tip.hidden = true;
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
            ? `${count(link.count)} together, ${bytes(link.bytes)}`
            : `${link.kind === "message" ? bytes(link.bytes) + ", " : ""}${exact(BigInt(link.to.time) - BigInt(link.from.time), lane.clock)}`,
        ),
      );
    } else if (h.kind === "curve") {
      const i = lane.meta.tracks[h.track];
      lines.push(
        el("b", {}, name(lane.fullName(h.track))),
        el(
          "div",
          {},
          i.kind === "resource" ? "claimed: " : "",
          h.low === h.high ? `${compact(h.low)} ${i.unit}` : `${compact(h.low)} to ${compact(h.high)} ${i.unit}`,
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
          el("span", { class: "swatch", style: { background: lane.colors.css[h.region] ?? this.colors.other } }),
          titled(region ? brief(region.name) : "no region"),
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
    p.tip.replaceChildren(...lines);
    p.tip.hidden = false;
    const box = p.tip.getBoundingClientRect();
    p.tip.style.left = Math.max(2, x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16) + "px";
    p.tip.style.top = Math.max(2, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
    if (!link && h.kind === "span" && h.single && h.track >= 0) {
      this.tipTimer = later("tool tip", 60, () => {
        const abort = (this.tipAbort = new AbortController());
        this.client
          .json<SpanDetails>(
            `traces/${encodeURIComponent(lane.meta.id)}/span`,
            { track: h.track, depth: h.depth, time: h.middle },
            abort.signal,
          )
          .then((d) => {
            const e = p.tip.querySelector(".exact");
            if (e)
              e.textContent = `${exact(BigInt(d.span.end) - BigInt(d.span.start), lane.clock)}  from ${exact(BigInt(d.span.start), lane.clock)}`;
          })
          .catch((e: unknown) => {
            if (!isAbort(e)) {
              const x2 = p.tip.querySelector(".exact");
              if (x2) x2.textContent = "";
            }
          });
      });
    }
  }

  private announceAt(h: Hit, t: Timeline): void {
    if (this.parts && this.store.state.mode !== "pan")
      this.parts.message.textContent = `at ${exact(h.time, t.lane.clock)}`;
  }

  /** goTime brings a time into the middle and marks it. */
  private goTime(t: bigint): void {
    this.store.set({ window: centred(this.store.state.window, t, this.limits()), place: t });
    this.announce(`at ${exact(t, this.axis)}; Esc takes the mark away`);
  }

  uncover(lane: number, track: number): void {
    this.unhide(lane, `t${track}`);
  }

  /** unhide brings a row out of what hides it. */
  private unhide(lane: number, key: string): void {
    const l = this.lanes[lane];
    if (!l.rows.some((r) => r.key === key)) {
      const way = pathTo(l.tree, key).map((n) => `${lane}/${n.key}`),
        above = way.slice(0, -1),
        s = this.store.state;
      this.store.set({
        collapsed: new Set([...s.collapsed].filter((k) => !above.includes(k))),
        hidden: new Set([...s.hidden].filter((k) => !way.includes(k))),
        rowFilter: "",
      });
    }
  }

  /** goRow brings a row into view, and out of what hides it. */
  private goRow(lane: number, key: string): void {
    const l = this.lanes[lane];
    this.unhide(lane, key);
    const i = l.rows.findIndex((r) => r.key === key);
    if (i >= 0) this.timelines[lane].focusLabel(i);
  }

  /** goRegion highlights a region and goes to its next or previous call, in all rows: from the one selected, else from where the window begins. */
  private async goRegion(laneIndex: number, region: number, direction: "next" | "previous"): Promise<void> {
    const lane = this.lanes[laneIndex],
      s = this.store.state,
      name = lane.meta.regions[region].name,
      k = s.selection;
    this.store.set({ highlight: name });
    // the one that is selected is passed, whether it is a hit or not
    const from =
      this.hit && this.hit.name === name && k === this.hit.selection
        ? { time: k.time, track: k.track }
        : k && k.lane === laneIndex
          ? { time: k.time }
          : { time: direction === "next" ? lane.cut(s.window).from - 1n : lane.cut(s.window).to };
    try {
      const r = await this.client.json<{ span: SpanInfo; number: number; total: number }>(
        `traces/${encodeURIComponent(lane.meta.id)}/hit`,
        { regions: regionsOf(lane, name), ...from, direction },
      );
      const selection = { lane: laneIndex, track: r.span.track, depth: r.span.depth, time: BigInt(r.span.start) };
      this.hit = { name, selection };
      this.uncover(laneIndex, r.span.track);
      this.reveal(selection, BigInt(r.span.start), BigInt(r.span.end));
      this.parts?.search.tell(`${count(r.number)} of ${count(r.total)}`);
    } catch (e) {
      this.announce(isNothing(e) ? `no ${name} ${direction === "next" ? "behind" : "before"} this` : say(e));
    }
  }
  /** hit is the last call that the search led to. */
  private hit: { name: string; selection: Selection } | null = null;

  /** bookmark adds a note at the selection, else at the range or window. */
  bookmark(): void {
    const s = this.store.state,
      lane = this.lanes[s.selection?.lane ?? 0];
    const span = s.selection && this.parts ? this.parts.details.span?.span : undefined;
    const w = lane.cut(s.range ?? s.window);
    const note = {
      id: newID(),
      from: span ? span.start : String(w.from),
      to: span ? span.end : String(w.to),
      track: s.selection?.track ?? -1,
      text: span ? span.name : "",
      created: new Date().toISOString(),
    };
    this.notes.fresh = note.id;
    this.notes
      .set(lane.index, [...this.notes.of(lane.index), note])
      .then((where) => {
        this.announce(
          where === "server" ? "bookmark added" : "bookmark added, kept in this browser only: the server is read-only",
        );
        this.store.set({ panel: "notes" });
        this.parts?.dock.follow(true);
      })
      .catch((e: unknown) => this.announce("bookmark: " + say(e)));
  }

  private labelling(t: Timeline): void {
    const labels = t.element.querySelector<HTMLElement>(".labels");
    if (!labels) return;
    const at = (e: Event): number => {
      const x = e.target instanceof Element ? e.target.closest<HTMLElement>("[data-row]") : null;
      return x ? Number(x.dataset.row) : -1;
    };
    const fold = (i: number): void => {
      const r = t.lane.rows[i];
      if (!r?.expandable) return;
      const key = `${t.lane.index}/${r.key}`,
        set = new Set(this.store.state.collapsed);
      if (!set.delete(key)) set.add(key);
      this.store.set({ collapsed: set });
    };
    labels.addEventListener("click", (e) => {
      const i = at(e);
      if (i < 0) return;
      t.focusRow = i;
      if (e.target instanceof Element && e.target.closest(".more")) deeper(this, t.lane.rows[i]);
      else if (t.lane.rows[i].track < 0 || (e.target instanceof Element && e.target.closest(".twist"))) fold(i);
      else t.focusLabel(i);
    });
    labels.addEventListener("contextmenu", (e) => {
      const i = at(e);
      if (i < 0) return;
      e.preventDefault();
      rowMenu(this, t.lane, i, e.clientX, e.clientY);
    });
    labels.addEventListener("keydown", (e) => {
      const i = at(e);
      if (i < 0) return;
      const r = t.lane.rows[i];
      if (e.key === "ArrowDown") t.focusLabel(i + 1);
      else if (e.key === "ArrowUp") t.focusLabel(i - 1);
      else if (e.key === "Home") t.focusLabel(0);
      else if (e.key === "End") t.focusLabel(t.lane.rows.length - 1);
      else if (e.key === "PageDown") t.focusLabel(i + 10);
      else if (e.key === "PageUp") t.focusLabel(i - 10);
      else if (
        (e.key === "ArrowRight" && r.collapsed) ||
        (e.key === "ArrowLeft" && !r.collapsed && r.expandable) ||
        e.key === "Enter" ||
        e.key === " "
      )
        fold(i);
      else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) {
        const b = labels.querySelector(`[data-row="${i}"]`)?.getBoundingClientRect();
        if (b) rowMenu(this, t.lane, i, b.left + 20, b.bottom);
      } else return;
      e.preventDefault();
      e.stopPropagation();
    });
  }

  private splitting(s: HTMLElement): void {
    const set = (v: number): void => {
      const d = Math.max(0, Math.min(innerHeight * 0.75, Math.round(v)));
      this.store.set({ dock: d });
      s.setAttribute("aria-valuenow", String(d));
    };
    s.addEventListener("pointerdown", (e) => {
      s.setPointerCapture(e.pointerId);
      const y = e.clientY,
        d = this.dock;
      const move = (m: PointerEvent): void => set(d + y - m.clientY);
      s.addEventListener("pointermove", move);
      s.addEventListener("pointerup", () => s.removeEventListener("pointermove", move), { once: true });
    });
    s.addEventListener("dblclick", () => set(this.dock > 40 ? 0 : initial.dock));
    s.addEventListener("keydown", (e) => {
      if (e.key === "ArrowUp" || e.key === "ArrowDown") {
        set(this.dock + (e.key === "ArrowUp" ? 24 : -24));
        e.preventDefault();
        e.stopPropagation();
      }
    });
  }

  private gripping(g: HTMLElement): void {
    const set = (v: number): void => {
      const w = Math.round(Math.max(80, Math.min(innerWidth / 2, v)));
      document.documentElement.style.setProperty("--labels", w + "px");
      g.setAttribute("aria-valuenow", String(w));
      this.draw();
    };
    g.addEventListener("keydown", (e) => {
      if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
        set(g.offsetLeft + 3 + (e.key === "ArrowLeft" ? -16 : 16));
        e.preventDefault();
        e.stopPropagation();
      }
    });
    g.addEventListener("pointerdown", (e) => {
      g.setPointerCapture(e.pointerId);
      const move = (m: PointerEvent): void => set(m.clientX);
      g.addEventListener("pointermove", move);
      g.addEventListener("pointerup", () => g.removeEventListener("pointermove", move), { once: true });
    });
  }

  private keyboard(): void {
    const active = (): Timeline =>
      this.timelines.find((t) => t.pointer !== null) ??
      this.timelines[this.store.state.selection?.lane ?? 0] ??
      this.timelines[0];
    const keys = new Keys(this, () => {
      const t = active();
      return t.pointer ? t.pointer.x / Math.max(1, t.width) : 0.5;
    });
    addEventListener("keydown", (e) => {
      const target = e.target;
      if (
        target instanceof HTMLElement &&
        (target.isContentEditable || ["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName))
      ) {
        if (e.key === "Escape") target.blur();
        return;
      }
      if (document.querySelector("dialog[open]") || !this.parts) return;
      const s = this.store.state,
        details = this.parts?.details,
        t = active();
      const onButton =
        target instanceof HTMLButtonElement || (target instanceof HTMLElement && target.closest(".panel") !== null);
      if (e.ctrlKey || e.metaKey) return;
      if (e.altKey) return;
      if (keys.press(e.key)) {
        e.preventDefault();
        return;
      }
      switch (e.key) {
        case "Home":
        case "0":
          this.show(this.limits());
          break;
        case "Backspace":
        case "[":
          this.back();
          break;
        case "]":
          history.forward();
          break;
        case "ArrowLeft":
        case "ArrowRight":
          if (onButton && target.closest(".panel")) return;
          if (details?.span && s.selection) void details.move(e.key === "ArrowLeft" ? "left" : "right");
          else this.show(pan(s.window, e.key === "ArrowLeft" ? -0.2 : 0.2, this.limits()));
          break;
        case "ArrowUp":
        case "ArrowDown":
          if (onButton && target.closest(".panel")) return;
          if (details?.span && s.selection) void details.move(e.key === "ArrowUp" ? "up" : "down");
          else t.scrollTop += e.key === "ArrowUp" ? -60 : 60;
          break;
        case "PageUp":
        case "PageDown":
          if (onButton) return;
          t.scrollTop += (e.key === "PageUp" ? -0.9 : 0.9) * t.height;
          break;
        case "Enter":
          if (onButton) return;
          if (s.mode === "measure" && s.selection && details?.span) {
            const l = this.lanes[s.selection.lane];
            this.store.set({
              marks: [l.toAxis(BigInt(details.span.span.start)), l.toAxis(BigInt(details.span.span.end))],
              loose: "",
            });
            break;
          }
          if (s.selection) details?.zoom();
          else this.pickMiddle(t);
          break;
        case "z":
        case "Z":
          details?.zoom();
          break;
        case "n":
          void details?.step("next");
          break;
        case "N":
          void details?.step("previous");
          break;
        case "r":
        case "R": {
          const [a, b] = s.marks,
            measured = a !== null && b !== null && a !== b ? (a < b ? { from: a, to: b } : { from: b, to: a }) : null;
          this.store.set({
            range: measured && !(s.range && same(s.range, measured)) ? measured : s.range ? null : s.window,
          });
          break;
        }
        case "m":
        case "M":
          this.mode("measure");
          break;
        case "l":
        case "L":
          this.nextArrows();
          break;
        case "h":
        case "H":
          this.highlight(details?.span?.span.name ?? null);
          break;
        case "c":
        case "C":
          this.store.set({ color: s.color === "region" ? "group" : s.color === "group" ? "track" : "region" });
          break;
        case "t":
        case "T":
          this.toggleTheme();
          break;
        case "b":
        case "B":
          this.bookmark();
          break;
        case "/":
          this.parts?.search.focus();
          break;
        case "?":
          showHelp();
          break;
        case "Escape":
          if (s.mode !== "pan") this.store.set({ mode: "pan" });
          else if (s.marks[0] !== null) this.store.set({ marks: [null, null], loose: "" });
          else if (s.place !== null) this.store.set({ place: null });
          else if (s.range) this.store.set({ range: null });
          else if (s.selection || s.link) this.store.set({ selection: null, link: null });
          else if (s.highlight !== null) this.store.set({ highlight: null });
          break;
        default:
          return;
      }
      e.preventDefault();
    });
  }
}

/** Probe is what browser tests may use. */
export interface Probe {
  /** pending names what is still to come; none is there once the page is at rest. */
  pending(): string[];
  /** hurry does what is put off and due first, if nothing else is pending, as if its time had passed. */
  hurry(): void;
  view(): {
    from: string;
    to: string;
    length: string;
    rows: number;
    tracks: number[];
    scroll: number;
    width: number;
    height: number;
    sharp: boolean;
    selection: string | null;
    traces: string[];
  };
  frames(): Frame[];
  /** layout is where the first time line draws its rows and their strips, in pixels of the canvas, and of which tile; and where its arrows, in CSS pixels. */
  layout(): {
    background: string;
    group: string;
    line: string;
    other: string;
    mark: string;
    curve: string;
    regions: string[];
    rows: {
      track: number;
      members: number[];
      y: number;
      height: number;
      tile: { from: string; to: string; width: number; scale: number; offset: number } | null;
      strips: { track: number; depth: number; kind: number; y: number; height: number }[];
    }[];
    arrows: { x0: number; y0: number; x1: number; y1: number; count: number }[];
  };
}

declare global {
  interface Window {
    readonly weft: Probe;
  }
}

const page = new Page();
Object.defineProperty(window, "weft", {
  value: Object.freeze({
    pending: () => page.pending(),
    hurry: () => {
      if (page.pending().every((what) => putOff().includes(what))) hurry();
    },
    view: () => {
      const s = page.store.state,
        t = page.timelines[0];
      const [a, b] = t ? t.visible() : [0, 0];
      return {
        from: String(s.window.from),
        to: String(s.window.to),
        length: String(page.lanes[0]?.length ?? 0n),
        rows: page.lanes[0]?.rows.length ?? 0,
        tracks: (page.lanes[0]?.rows ?? []).slice(a, b).map((r) => r.track),
        scroll: t?.scrollTop ?? 0,
        width: t?.width ?? 0,
        height: t?.height ?? 0,
        sharp: page.timelines.every((x) => x.sharp),
        selection: s.selection
          ? `${s.selection.lane}.${s.selection.track}.${s.selection.depth}.${s.selection.time}`
          : null,
        traces: s.traces,
      };
    },
    frames: () => page.frames.map((f) => ({ ...f })),
    layout: () => {
      const t = page.timelines[0],
        lane = page.lanes[0],
        c = page.colors,
        dpr = devicePixelRatio,
        [a, b] = t ? t.visible() : [0, 0];
      const rows = (lane?.rows ?? []).slice(a, b).map((r) => {
        const key = rowKey(r),
          y = Math.round((r.y - t.scrollTop) * dpr),
          height = Math.round((r.y + r.height - t.scrollTop) * dpr) - y;
        const l =
          key === null
            ? undefined
            : lane.tiles.layers(key, lane.local(page.store.state.window), Math.round(t.width * dpr)).layers.at(-1);
        const strips = (l?.entry.strips ?? []).map((s) => {
          const { y, h } = t.stripRect(r, s, dpr);
          return { track: s.track, depth: s.depth, kind: s.kind, y, height: h };
        });
        return {
          track: r.track,
          members: r.members,
          y,
          height,
          tile: l
            ? {
                from: String(l.entry.grid.from),
                to: String(l.entry.grid.to),
                width: l.entry.grid.width,
                scale: l.scale,
                offset: l.offset,
              }
            : null,
          strips,
        };
      });
      return {
        background: c.background,
        group: c.row,
        line: c.line,
        other: c.other,
        mark: c.mark,
        curve: c.curve,
        regions: lane?.colors.css ?? [],
        rows,
        arrows: (t?.arrows ?? []).map(({ x0, y0, x1, y1, count: n }) => ({ x0, y0, x1, y1, count: n })),
      };
    },
  } satisfies Probe),
});
void page.start();
