// The address of the page: writes the state into the fragment, restores it, and reports unknown parts.
import type { LinkDetails } from "./api";
import type { App } from "./app";
import { highlighted } from "./colors";
import { button, name, printable } from "./dom";
import { drop, later, now } from "./later";
import type { Node } from "./rows";
import { beyond } from "./search";
import { initial, type State } from "./store";
import type { Window } from "./time";
import { cutShort, linkKey, noticeOf, read, readFollowed, readLink, write } from "./url";
import { clamp, same } from "./view";

/** between is how often the address is written while the view moves, in milliseconds; flowing are the parts of the state that change all the time then. */
const between = 500,
  flowing: ReadonlySet<keyof State> = new Set(["window", "top", "dock", "shift", "rowFilter", "choices"] as const);

/** saveTimer is the name of the timer that writes the address. */
export const saveTimer = "address";

/** leftAs is where a page that is left keeps the address it had, and that which it should have had. */
const leftAs = "weft-left-as";

/** AddressView is what Address needs of the page beside App. */
export interface AddressView {
  /** panels returns the ids of the tabs. */
  panels(): readonly string[];
  /** hint returns the element for messages about the address, or null before the page is built. */
  hint(): HTMLElement | null;
  /** restoreScroll scrolls the time lines to the first row of the state. */
  restoreScroll(): void;
  /** focusPlot gives the keyboard to the first time line. */
  focusPlot(): void;
}

/** Address keeps the fragment of the URL and the state in step. */
export class Address {
  private pendingSave = 0;
  private pushed: Window | null = null;
  private restoring = false;
  /** wrong are the pieces of the address that were not understood, and what is shown instead. */
  private wrong: [piece: string, instead: string][] = [];

  constructor(
    private app: App,
    private view: AddressView,
  ) {
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

  /** reject records a piece of the address that cannot be shown, and what is shown instead. */
  reject(piece: string, instead: string): void {
    this.wrong.push([piece, instead]);
  }

  /** changedOutside reports whether the address has changed and the page has not read it yet. */
  get changedOutside(): boolean {
    return location.hash !== this.written;
  }

  /** cancelSave drops the pending write of the address. */
  cancelSave(): void {
    drop(this.pendingSave);
    this.pendingSave = 0;
  }

  /** saveFirst makes the view the first one of the history, to which "back" leads. */
  saveFirst(w: Window): void {
    history.replaceState({ views: this.before }, "", "#" + write(this.app.store.state));
    this.pushed = w;
    this.written = location.hash;
  }

  /** read takes the state out of the address, and notes what is wrong with that. */
  read(): Partial<State> {
    this.wrong = [];
    return read(location.hash, (piece, instead) => this.wrong.push([piece, instead]));
  }

  /** changedAt and recordedAt are when the state changed last and when the address was written last; moving says that the views since belong to one motion, which has an entry of its own already. */
  private changedAt = -Infinity;
  private recordedAt = -Infinity;
  private moving = false;
  /** choicesSaved are those in the panels when the state changed last. */
  private choicesSaved: State["choices"] = new Map();
  /** written is the fragment that the page itself has put into the address, or has read from it. */
  private written = "";

  /** save has the address written: at once, but while something goes on changing once in a while. */
  save(changed: ReadonlySet<keyof State>): void {
    if (this.restoring) return;
    const begin = now();
    if (begin - this.changedAt > between) this.moving = false;
    this.changedAt = begin;
    // what is typed goes on too
    const choices = this.app.store.state.choices,
      was = this.choicesSaved,
      typed = [...new Set([...choices.keys(), ...was.keys()])].every(
        (k) => k.endsWith(".filter") || choices.get(k) === was.get(k),
      );
    this.choicesSaved = choices;
    const wait =
      typed && [...changed].every((k) => flowing.has(k)) ? Math.max(0, this.recordedAt + between - begin) : 0;
    if (this.pendingSave && wait > 0) return;
    drop(this.pendingSave);
    this.pendingSave = later(saveTimer, wait, () => this.record());
  }

  /** record puts the view into the address. The state of an entry says how many views of this page are before it. */
  private record(): void {
    drop(this.pendingSave);
    this.pendingSave = 0;
    const url = "#" + write(this.app.store.state);
    if (url === location.hash) return;
    const w = this.app.store.state.window,
      other = this.pushed !== null && !same(this.pushed, w);
    // browsers take so many changes in a while, and no more
    try {
      if (other && !this.moving) {
        history.pushState({ views: this.before + 1 }, "", url);
        this.moving = true;
      } else history.replaceState({ views: this.before }, "", url);
    } catch {
      this.pendingSave = later(saveTimer, 4 * between, () => this.record());
      return;
    }
    this.pushed = w;
    this.recordedAt = now();
    this.written = location.hash;
  }

  /** leaving writes what is not in the address yet, unless another address was given. A reload has begun with the old one by then: it is told apart. */
  leaving(): void {
    if (!this.pendingSave || location.hash !== this.written) return;
    const was = this.written;
    this.record();
    try {
      sessionStorage.setItem(leftAs, JSON.stringify([was, this.written]));
    } catch {
      /* the address has to do */
    }
  }

  /** arrive takes the address that the page had when it was left for a reload. */
  arrive(): void {
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

  goingBack = false;
  /** back shows the view before; the page that was open before this one stays where it is. */
  back(): void {
    this.record();
    if (this.before > 0) {
      this.goingBack = true;
      history.back();
    } else this.app.announce("this is the first view");
  }

  restore(): void {
    const s = this.read();
    const now = this.app.store.state.traces.join(","),
      then = (s.traces ?? []).join(",");
    if (then !== now && !(then === "" && this.app.list.traces.length === 1)) {
      location.reload();
      return;
    }
    this.restoring = true;
    const fit = this.fitting(s);
    // a message is asked for below
    const link = fit.link ?? (readLink(location.hash) ? this.app.store.state.link : null);
    this.app.store.set({ ...fit, link, traces: this.app.store.state.traces });
    this.view.restoreScroll();
    this.restoring = false;
    this.restoreLink();
    this.restoreFollowed();
    this.hint();
    this.pushed = this.app.store.state.window;
    this.moving = false;
    this.written = location.hash;
  }

  /** fitting is a state of the address as far as it fits to the traces; what does not is noted, and shown otherwise. */
  fitting(s: Partial<State>): Partial<State> & { window: Window } {
    const limits = this.app.limits(),
      out = { ...s, window: limits },
      spans = beyond(limits.to, limits, this.app.axis);
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
      track = k ? this.app.lanes[k.lane]?.meta.tracks[k.track] : undefined;
    if (k && (!track || (k.depth >= 0 && k.depth >= track.depth))) {
      this.wrong.push([
        `s=${k.lane}.${k.track}.${k.depth}.${k.time}`,
        `nothing is selected: there is no such ${track ? "level" : "row"}`,
      ]);
      out.selection = null;
    }
    if (
      s.link &&
      [s.link.link.from, s.link.link.to].some((e) => !this.app.lanes[s.link?.lane ?? -1]?.meta.tracks[e.track])
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
    this.app.lanes.forEach((l) => walk(l.index, l.tree));
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
      !this.app.lanes.some((l) =>
        l.meta.regions.some((r) => highlighted(r, s.color ?? initial.color, s.highlight ?? "")),
      )
    ) {
      this.wrong.push([cutShort(`hl=${s.highlight}`), "there is no such region"]);
      out.highlight = null;
    }
    if (s.panel !== undefined && !this.view.panels().includes(s.panel)) {
      this.wrong.push([cutShort(`p=${s.panel}`), "the first table is shown"]);
      out.panel = initial.panel;
    }
    return out;
  }

  /** restoreLink asks for the message or dependency that the address says is selected. */
  restoreLink(): void {
    const k = readLink(location.hash),
      held = this.app.store.state.link,
      own = held ? linkKey(held.lane, held.link) : null;
    if (!k) {
      if (own) this.app.store.set({ link: null });
      return;
    }
    if (own && own.lane === k.lane && own.id === k.id && own.track === k.track && own.time === k.time) return;
    const lane = this.app.lanes[k.lane],
      lost = (): void => {
        this.wrong.push([`k=${k.lane}.${k.track}.${k.time}.${k.id}`, "there is no such message"]);
        this.hint();
      };
    if (!lane?.meta.tracks[k.track]) {
      lost();
      return;
    }
    this.app.client
      .json<LinkDetails>(`traces/${encodeURIComponent(lane.meta.id)}/link`, {
        link: k.id,
        track: k.track,
        time: k.time,
      })
      .then((d) => this.app.store.set({ selection: null, link: { lane: k.lane, link: d.link } }))
      .catch(lost);
  }

  /** restoreFollowed asks for the message that led to the selection of the address. */
  restoreFollowed(): void {
    const k = readFollowed(location.hash),
      at = this.app.store.state.selection,
      lane = k ? this.app.lanes[k.lane] : undefined;
    if (!k || !at || at.lane !== k.lane) return;
    const lost = (): void => {
      this.wrong.push([`fk=${k.lane}.${k.track}.${k.time}.${k.id}`, "there is no such message"]);
      this.hint();
    };
    if (!lane?.meta.tracks[k.track]) {
      lost();
      return;
    }
    this.app.client
      .json<LinkDetails>(`traces/${encodeURIComponent(lane.meta.id)}/link`, {
        link: k.id,
        track: k.track,
        time: k.time,
      })
      .then((d) => {
        if (this.app.store.state.selection === at) this.app.store.set({ followed: { lane: k.lane, link: d.link } });
      })
      .catch(lost);
  }

  /** hint says what was wrong with the address until it is closed; it takes nothing away. */
  hint(): void {
    const h = this.view.hint(),
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
              this.view.focusPlot();
            }),
          ]),
    );
  }
}
