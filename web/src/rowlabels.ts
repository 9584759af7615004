// The names of rows on the left of a time line.
import type { App } from "./app";
import { count, el, name, printable, setText } from "./dom";
import { hiddenBelow, moreMark, moreWords } from "./rows";
import { rateKey, type RowView } from "./rowview";

/**
 * leastEdges is the smallest height, in CSS pixels, of a row that shows the values at the edges of
 * its curve.
 */
export const leastEdges = 24;

/** RowLabels keeps the labels of the visible rows. */
export class RowLabels {
  readonly element: HTMLElement;
  /** focusRow is the row that has the keyboard focus. */
  focusRow = 0;
  private box: HTMLElement;
  /** below shows how many rows lie below the lower edge, because the browser may hide scroll bars. */
  private below: HTMLElement;
  private labelKey = "";
  private labelTop = 0;
  /** rates is a text that lists the rows that show a rate. It was computed from the choices in rated. */
  private rates = "";
  private rated: ReadonlyMap<string, string> | null = null;
  private labelOf = new Map<number, HTMLElement>();

  constructor(
    private app: App,
    private view: RowView,
  ) {
    this.box = el("div", {
      class: "labelbox",
      role: "tree",
      aria: { label: "Rows of " + printable(view.lane.meta.name) },
    });
    this.below = el("div", { class: "below", hidden: true, aria: { hidden: true } });
    this.element = el("div", { class: "labels" }, this.box, this.below);
  }

  /** invalidate makes the next call of draw create all labels again. */
  invalidate(): void {
    this.labelKey = "";
  }

  /** draw updates the labels of the rows from first to end − 1. */
  draw(first: number, end: number): void {
    const rest = hiddenBelow(this.view.lane.rows, this.view.scrollTop + this.view.height),
      more = rest > 0 ? `▾ ${count(rest)} more ${rest === 1 ? "row" : "rows"}` : "";
    setText(this.below, more);
    if (this.below.hidden !== (more === "")) this.below.hidden = more === "";
    if (this.labelTop !== this.view.scrollTop) {
      this.labelTop = this.view.scrollTop;
      this.box.style.transform = `translateY(${-this.view.scrollTop}px)`;
    }
    const choices = this.app.store.state.choices,
      rates = choices === this.rated ? null : [...choices.keys()].filter((k) => k.startsWith("rate.")).join();
    if (rates !== null) {
      this.rated = choices;
      if (rates !== this.rates) {
        this.rates = rates;
        this.labelKey = "";
      }
    }
    if (this.rates !== "") this.rateEdges();
    const key = `${first} ${end} ${this.focusRow}`;
    if (key === this.labelKey) return;
    const fresh = this.labelKey === "";
    this.labelKey = key;
    const focused = this.element.contains(document.activeElement);
    if (fresh) {
      this.labelOf.clear();
      this.box.replaceChildren();
    }
    for (const [i, e] of this.labelOf)
      if (i < first || i >= end) {
        e.remove();
        this.labelOf.delete(i);
      }
    // screen readers need the elements in the order of the rows
    let before: ChildNode | null = this.box.firstChild;
    for (let i = first; i < end; i++) {
      const held = this.labelOf.get(i);
      if (held) {
        held.tabIndex = i === this.focusRow ? 0 : -1;
        before = held.nextSibling;
        continue;
      }
      const e = this.labelOfRow(i);
      this.labelOf.set(i, e);
      this.box.insertBefore(e, before);
    }
    if (focused)
      this.element.querySelector<HTMLElement>(`[data-row="${this.focusRow}"]`)?.focus({ preventScroll: true });
  }

  /** labelOfRow creates the label of a row. */
  private labelOfRow(i: number): HTMLElement {
    const r = this.view.lane.rows[i];
    const edges = r.height >= leastEdges ? this.view.edges(r) : null,
      arrow = r.expandable
        ? el("span", { class: "twist", aria: { hidden: true } }, r.collapsed ? "▸" : "▾")
        : el("span", { class: "twist" });
    const values = edges
      ? el(
          "span",
          { class: "range", aria: { hidden: true } },
          el("span", { data: { text: edges.high } }),
          el("span", { data: { text: edges.low } }),
        )
      : null;
    const hidden = moreWords(r);
    const more =
      hidden === ""
        ? null
        : el("span", {
            class: "more",
            title:
              r.more === 0
                ? hidden
                : r.deeper
                  ? `${hidden}: click to show ${r.more} of them`
                  : `${hidden}: click to show them`,
            data: { text: moreMark(r) },
            aria: { hidden: true },
          });
    return el(
      "div",
      {
        class: "label" + (r.track < 0 ? " group" : ""),
        role: "treeitem",
        tabindex: i === this.focusRow ? 0 : -1,
        data: { row: String(i) },
        title: `${printable(r.label)} (${printable(r.detail)})`,
        aria: {
          label: [
            r.label,
            r.detail,
            edges ? (edges.low === "" ? edges.high : `${edges.low} to ${edges.high}`) : "",
            hidden,
          ]
            .filter((x) => x !== "")
            .map(printable)
            .join(", "),
          level: r.level + 1,
          ...(r.expandable ? { expanded: !r.collapsed } : {}),
        },
        style: { top: r.y + "px", height: r.height + "px", "padding-left": 4 + 12 * r.level + "px" },
      },
      arrow,
      name(r.label, "text"),
      r.track < 0 ? " " : null,
      r.track < 0 ? el("span", { class: "detail" }, name(r.detail)) : null,
      more,
      values,
    );
  }

  /** rateEdges updates the values at the edges of rates. They change with the window. */
  private rateEdges(): void {
    for (const [i, e] of this.labelOf) {
      const r = this.view.lane.rows[i];
      if (!r || r.track < 0 || !this.app.store.state.choices.has(rateKey(this.view.lane.index, r.track))) continue;
      const edges = this.view.edges(r),
        boxes = e.querySelectorAll<HTMLElement>(".range [data-text]");
      [edges?.high ?? "", edges?.low ?? ""].forEach((text, k) => {
        if (boxes[k] && boxes[k].dataset.text !== text) boxes[k].dataset.text = text;
      });
    }
  }

  /** focus moves the keyboard focus to the label of focusRow. */
  focus(): void {
    this.element.querySelector<HTMLElement>(`[data-row="${this.focusRow}"]`)?.focus({ preventScroll: true });
  }
}
