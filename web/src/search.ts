// The search box for regions, rows and times.
import type { App } from "./app";
import { button, el, name, printable } from "./dom";
import { callLater } from "./timers";
import type { Node } from "./rows";
import { type Clock, exact, parseTime, type Window } from "./time";
import { cutShort } from "./url";

/** SearchResult is a line of the results. */
interface SearchResult {
  label: string;
  kind: string;
  color: string;
  go: (back?: boolean) => void;
}

/** outsideText returns a text with the limits if t lies outside of them, else "". */
export function outsideText(t: bigint, limits: Window, axis: Clock): string {
  return t >= limits.from && t < limits.to
    ? ""
    : `the trace spans ${exact(limits.from, axis)} to ${exact(limits.to - 1n, axis)}`;
}

/** Search is the search box with its list of results. */
export class Search {
  readonly element: HTMLElement;
  private input: HTMLInputElement;
  private list: HTMLElement;
  private found: SearchResult[] = [];
  private at = 0;
  private hits: HTMLElement;
  /** last goes to the next or previous call of the region that was searched for last. */
  private last: (back: boolean) => void = () => undefined;

  constructor(
    private app: App,
    private goTime: (t: bigint) => void,
    private goRow: (lane: number, key: string) => void,
    private goRegion: (lane: number, region: number, direction: "next" | "previous") => void,
    private left: () => void,
  ) {
    this.input = el("input", {
      type: "search",
      placeholder: "Search region, row, time  ( / )",
      role: "combobox",
      aria: {
        label: "Search regions and rows, or go to a time",
        expanded: false,
        controls: "found",
        autocomplete: "list",
      },
    });
    this.list = el("div", { class: "found", id: "found", role: "listbox", aria: { label: "Results" }, hidden: true });
    this.hits = el("div", { class: "hits", hidden: true });
    this.element = el("div", { class: "search" }, this.input, this.hits, this.list);
    this.input.addEventListener("input", () => {
      this.showResult("");
      this.update();
    });
    this.input.addEventListener("focus", () => this.update());
    this.input.addEventListener("blur", () =>
      callLater("list of the search", 150, () => {
        if (document.activeElement !== this.input) this.close();
      }),
    );
    this.input.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        this.at = Math.max(0, Math.min(this.found.length - 1, this.at + (e.key === "ArrowDown" ? 1 : -1)));
        this.mark();
        e.preventDefault();
      } else if (e.key === "Enter") {
        const f = this.found[this.at];
        if (f) f.go(e.shiftKey);
        else if (this.input.value.trim() !== "") app.announce(this.notFoundMessage());
        e.preventDefault();
      } else if (e.key === "Escape") {
        this.input.value = "";
        this.close();
        this.left();
        e.stopPropagation();
      }
    });
  }

  /** focus moves the keyboard focus to the search box. */
  focus(): void {
    this.input.focus();
    this.input.select();
  }

  /**
   * showResult shows the number of the current result, with buttons for the next and the previous one. An
   * empty text removes them.
   */
  showResult(text: string): void {
    this.hits.hidden = text === "";
    this.hits.replaceChildren(
      ...(text === ""
        ? []
        : [
            el("span", { class: "num", role: "status" }, text),
            button("◂", "Previous hit (shift and Enter)", () => this.last(true)),
            button("▸", "Next hit (Enter)", () => this.last(false)),
          ]),
    );
  }

  private close(): void {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }

  private update(): void {
    const text = this.input.value.trim(),
      needle = text.toLocaleLowerCase();
    this.found = [];
    this.at = 0;
    if (needle === "") {
      this.close();
      return;
    }
    const t = parseTime(text, this.app.axis, this.app.limits(), BigInt(this.app.lanes[0].meta.origin));
    if (t !== null) {
      const outside = outsideText(t, this.app.limits(), this.app.axis);
      this.found.push({
        label: exact(t, this.app.axis),
        kind: outside === "" ? "go to time" : outside,
        color: "",
        go: () => {
          if (outside === "") {
            this.goTime(t);
            this.left();
          } else this.app.announce(`${exact(t, this.app.axis)}: ${outside}`);
          this.close();
        },
      });
    }
    for (const lane of this.app.lanes) {
      const of = this.app.lanes.length > 1 ? ` in ${lane.title}` : "";
      let n = 0;
      // the trace may define a region once more for each process
      const listed = new Set<string>();
      for (let i = 0; i < lane.meta.regions.length && n < 40; i++) {
        const label = lane.regionLabel(i, "");
        if (listed.has(label) || !label.toLocaleLowerCase().includes(needle)) continue;
        listed.add(label);
        n++;
        this.found.push({
          label,
          kind: "region" + of,
          color: lane.colors.css[i],
          go: (back = false) => {
            this.last = (b) => this.goRegion(lane.index, i, b ? "previous" : "next");
            this.last(back);
          },
        });
      }
      n = 0;
      const shown = new Set(lane.rows.map((r) => r.key));
      const rows = (nodes: readonly Node[]): void => {
        for (const r of nodes) {
          const label = lane.rowName(r);
          if (n < 40 && label.toLocaleLowerCase().includes(needle)) {
            n++;
            this.found.push({
              label,
              kind: (shown.has(r.key) ? "row" : "row that is not shown") + of,
              color: "",
              go: () => {
                this.goRow(lane.index, r.key);
                this.close();
              },
            });
          }
          rows(r.children);
        }
      };
      rows(lane.tree);
    }
    this.showFound();
  }

  /** showFound lists what the search has found, or states that it has found nothing. */
  private showFound(): void {
    this.list.replaceChildren(
      ...(this.found.length === 0
        ? [
            el(
              "div",
              { class: "none", role: "option", id: "found0", aria: { disabled: true } },
              name(this.notFoundMessage()),
            ),
          ]
        : this.found.map((f, i) =>
            el(
              "div",
              {
                role: "option",
                id: `found${i}`,
                title: printable(f.label),
                on: {
                  pointerdown: (e) => {
                    e.preventDefault();
                    f.go();
                  },
                },
              },
              f.color ? el("span", { class: "swatch", style: { background: f.color } }) : null,
              name(f.label),
              el("span", { class: "faint" }, name(f.kind)),
            ),
          )),
    );
    this.list.hidden = false;
    // the list moves to the left where it would reach beyond the window
    const room = innerWidth - 4 - this.element.getBoundingClientRect().left - this.list.offsetWidth;
    this.list.style.left = `${Math.min(0, room)}px`;
    this.input.setAttribute("aria-expanded", "true");
    this.mark();
  }

  private notFoundMessage(): string {
    return `no region, row or time is called ${cutShort(this.input.value.trim())}`;
  }

  private mark(): void {
    [...this.list.children].forEach((c, i) => {
      c.setAttribute("aria-selected", String(i === this.at && this.found.length > 0));
      if (i === this.at) c.scrollIntoView({ block: "nearest" });
    });
    this.input.setAttribute("aria-activedescendant", `found${this.at}`);
  }
}
