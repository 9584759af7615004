// The address of the page. It writes the state of the page to the fragment of the URL, restores the
// state from it, and reports the parts that it does not understand.
import type { LinkDetails } from "./api";
import type { App } from "./app";
import { highlighted } from "./colors";
import { button, name, printable } from "./dom";
import { cancel, callLater, now } from "./timers";
import type { Node } from "./rows";
import { outsideText } from "./search";
import { initialState, type State } from "./store";
import type { Window } from "./time";
import {
  cutShort,
  type LinkKey,
  linkKey,
  noticeOf,
  readFragment,
  readFollowed,
  readLink,
  writeFragment,
} from "./url";
import { clamp, sameWindow } from "./view";

/**
 * saveInterval is the shortest time, in milliseconds, between two writes of the address while the
 * view moves. continuous lists the parts of the state that change in many small steps while the
 * view moves.
 */
const saveInterval = 500,
  continuous: ReadonlySet<keyof State> = new Set(["window", "top", "dock", "shift", "rowFilter", "choices"] as const);

/** saveTimer is the name of the timer that writes the address. */
export const saveTimer = "address";

/**
 * addressesKey is the key in the session storage for two addresses: the one that the page had when the
 * user left it, and the one that it would have written next.
 */
const addressesKey = "weft-left-as";

/** AddressView is the part of the page that Address needs in addition to App. */
export interface AddressView {
  /** panels returns the ids of the tabs of the dock. */
  panels(): readonly string[];
  /** hint returns the element for messages about the address, or null before the page is built. */
  hint(): HTMLElement | null;
  /** restoreScroll scrolls the time lines to the first row of the state. */
  restoreScroll(): void;
  /** focusPlot moves the keyboard focus to the first time line. */
  focusPlot(): void;
}

/**
 * Address keeps the fragment of the URL and the state of the page equal. A change of either changes
 * the other.
 */
export class Address {
  private pendingSave = 0;
  private pushed: Window | null = null;
  private restoring = false;
  /**
   * wrong lists the pieces of the address that the page does not understand, each with the thing
   * that the page shows instead.
   */
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

  /** reject records a piece of the address that the page cannot show, with the thing that it shows instead. */
  reject(piece: string, instead: string): void {
    this.wrong.push([piece, instead]);
  }

  /**
   * changedOutside reports whether something other than the page has changed the address since the
   * page read or wrote it.
   */
  get changedOutside(): boolean {
    return location.hash !== this.written;
  }

  /** cancelSave cancels the pending write of the address. */
  cancelSave(): void {
    cancel(this.pendingSave);
    this.pendingSave = 0;
  }

  /**
   * saveFirst replaces the current entry of the browser's history by the current state, so that
   * "back" can return to it.
   */
  saveFirst(w: Window): void {
    history.replaceState({ views: this.before }, "", "#" + writeFragment(this.app.store.state, this.app.limits()));
    this.pushed = w;
    this.written = location.hash;
  }

  /** read returns the state that the address describes. It records the pieces that it does not understand. */
  read(): Partial<State> {
    this.wrong = [];
    return readFragment(location.hash, (piece, instead) => this.wrong.push([piece, instead]));
  }

  /**
   * changedAt is the time of the last change of the state, and recordedAt that of the last write of
   * the address. moving is set while changes follow each other within saveInterval. Such changes
   * together get one entry in the history.
   */
  private changedAt = -Infinity;
  private recordedAt = -Infinity;
  private moving = false;
  /** choicesSaved holds the choices of the panels at the last change of the state. */
  private choicesSaved: State["choices"] = new Map();
  /** written is the last fragment that the page wrote or read. */
  private written = "";

  /**
   * save writes the address. It does so at once, or at most once in saveInterval while the state
   * changes continuously.
   */
  save(changed: ReadonlySet<keyof State>): void {
    if (this.restoring) return;
    const begin = now();
    if (begin - this.changedAt > saveInterval) this.moving = false;
    this.changedAt = begin;
    // a filter also changes continuously while the user types
    const choices = this.app.store.state.choices,
      was = this.choicesSaved,
      typed = [...new Set([...choices.keys(), ...was.keys()])].every(
        (k) => k.endsWith(".filter") || choices.get(k) === was.get(k),
      );
    this.choicesSaved = choices;
    const wait =
      typed && [...changed].every((k) => continuous.has(k)) ? Math.max(0, this.recordedAt + saveInterval - begin) : 0;
    if (this.pendingSave && wait > 0) return;
    cancel(this.pendingSave);
    this.pendingSave = callLater(saveTimer, wait, () => this.record());
  }

  /**
   * record writes the state to the address. A history entry stores how many views of this page come
   * before it.
   */
  private record(): void {
    cancel(this.pendingSave);
    this.pendingSave = 0;
    const url = "#" + writeFragment(this.app.store.state, this.app.limits());
    if (url === location.hash) return;
    const w = this.app.store.state.window,
      other = this.pushed !== null && !sameWindow(this.pushed, w);
    // browsers reject an address that changes too often
    try {
      if (other && !this.moving) {
        history.pushState({ views: this.before + 1 }, "", url);
        this.moving = true;
      } else history.replaceState({ views: this.before }, "", url);
    } catch {
      this.pendingSave = callLater(saveTimer, 4 * saveInterval, () => this.record());
      return;
    }
    this.pushed = w;
    this.recordedAt = now();
    this.written = location.hash;
  }

  /**
   * leaving writes pending changes to the address when the user leaves the page, unless the user
   * has entered another address. A reload uses the address from before this write. In that case,
   * arrive replaces it.
   */
  leaving(): void {
    if (!this.pendingSave || location.hash !== this.written) return;
    const was = this.written;
    this.record();
    try {
      sessionStorage.setItem(addressesKey, JSON.stringify([was, this.written]));
    } catch {
      /** Without session storage, a reloaded page keeps the address that record has just written. */
    }
  }

  /** arrive replaces the address of a reloaded page by the one that leaving wrote last. */
  arrive(): void {
    try {
      const [was, is] = JSON.parse(sessionStorage.getItem(addressesKey) ?? "[]") as string[];
      sessionStorage.removeItem(addressesKey);
      const how = performance.getEntriesByType("navigation")[0];
      if (is && was === location.hash && how instanceof PerformanceNavigationTiming && how.type === "reload")
        history.replaceState(history.state, "", is);
    } catch {
      /** the browser allows no session storage */
    }
  }

  /** before is the number of views of this page that come before the current one in the history. */
  private get before(): number {
    const views = (history.state as { views?: number } | null)?.views;
    return typeof views === "number" ? views : 0;
  }

  goingBack = false;
  /** back shows the previous view. It never leaves the page. */
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
    // restoreLink later gets the details of the link
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

  /**
   * fitting returns the parts of a state from the address that fit the traces. It records the other
   * parts, with the things that the page shows instead.
   */
  fitting(s: Partial<State>): Partial<State> & { window: Window } {
    const limits = this.app.limits(),
      out = { ...s, window: limits },
      spans = outsideText(limits.to, limits, this.app.axis);
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
        l.meta.regions.some((r) => highlighted(r, s.color ?? initialState.color, s.highlight ?? "")),
      )
    ) {
      this.wrong.push([cutShort(`hl=${s.highlight}`), "there is no such region"]);
      out.highlight = null;
    }
    if (s.panel !== undefined && !this.view.panels().includes(s.panel)) {
      this.wrong.push([cutShort(`p=${s.panel}`), "the profile is shown"]);
      out.panel = initialState.panel;
    }
    return out;
  }

  /** restoreLink requests the message or dependency that the address names as selected. */
  restoreLink(): void {
    const k = readLink(location.hash),
      held = this.app.store.state.link,
      own = held ? linkKey(held.lane, held.link) : null;
    if (!k) {
      if (own) this.app.store.set({ link: null });
      return;
    }
    if (own && own.lane === k.lane && own.id === k.id && own.track === k.track && own.time === k.time) return;
    this.requestLink("k", k, (link) => this.app.store.set({ selection: null, link: { lane: k.lane, link } }));
  }

  /** restoreFollowed requests the link that the address names as the one that led to the selection. */
  restoreFollowed(): void {
    const k = readFollowed(location.hash),
      at = this.app.store.state.selection;
    if (!k || !at || at.lane !== k.lane) return;
    this.requestLink("fk", k, (link) => {
      if (this.app.store.state.selection === at) this.app.store.set({ followed: { lane: k.lane, link } });
    });
  }

  /**
   * requestLink requests the link that the address names with a key, and passes it to use. If there is no such link,
   * it shows the hint about wrong parts of the address.
   */
  private requestLink(key: string, k: LinkKey, use: (link: LinkDetails["link"]) => void): void {
    const lane = this.app.lanes[k.lane],
      lost = (): void => {
        this.wrong.push([`${key}=${k.lane}.${k.track}.${k.time}.${k.id}`, "there is no such message"]);
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
      .then((d) => use(d.link))
      .catch(lost);
  }

  /** hint lists the pieces of the address that the page did not understand, until the user closes the list. */
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
