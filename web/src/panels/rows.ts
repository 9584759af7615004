// The rows of a long table. Only rows near the visible part are elements of the page. Therefore, a
// table with thousands of rows costs as much as one with fifty.
import { el } from "../dom";
import { nextFrame } from "../timers";

/**
 * rowsBeyond is the number of rows that exist above and below the visible ones. rowsAtFirst is the number
 * of rows that exist while the visible height is unknown.
 */
const rowsBeyond = 12,
  rowsAtFirst = 60;

/** Rows fills the body of a table with rows. */
export class Rows {
  readonly body = el("tbody", {});
  private count = 0;
  private held = new Map<number, HTMLElement>();
  /** stop is the row at which the Tab key stops. */
  private stop = 0;
  /** high is the height of a row in CSS pixels. It is a guess until measured is set. */
  private high = 22;
  private measured = false;
  private box: HTMLElement | null = null;
  private width = 0;
  private frameRequest = 0;

  /**
   * make creates the element of a row. stops reports whether the keyboard can stop at a row. If
   * `whole` is set, all rows exist as elements, because they differ in height.
   */
  constructor(
    private columns: number,
    private make: (i: number) => HTMLElement,
    private stops: (i: number) => boolean,
    private whole = false,
  ) {
    const watch = new ResizeObserver(() => {
      if (this.body.isConnected) this.attach(watch);
      else {
        watch.disconnect();
        this.box?.removeEventListener("scroll", this.schedulePlace);
        this.box = null;
      }
    });
    watch.observe(this.body);
    this.body.addEventListener("focusin", (e) => {
      const i = this.indexOf(e.target);
      if (i >= 0) this.stopAt(i);
    });
    this.body.addEventListener("keydown", (e) => {
      const i = this.indexOf(e.target);
      if (i < 0) return;
      const to =
        e.key === "ArrowUp"
          ? this.next(i - 1, -1)
          : e.key === "ArrowDown"
            ? this.next(i + 1, 1)
            : e.key === "Home"
              ? this.next(0, 1)
              : e.key === "End"
                ? this.next(this.count - 1, -1)
                : -2;
      if (to === -2) return;
      if (to >= 0) this.focus(to);
      e.preventDefault();
      e.stopPropagation();
    });
  }

  /** show replaces all rows. count is the new number of rows. */
  show(count: number): void {
    const had = this.indexOf(document.activeElement);
    this.count = count;
    this.held.clear();
    this.body.replaceChildren();
    this.stop = Math.max(0, this.next(Math.min(this.stop, count - 1), 1));
    for (const h of this.heads()) h.style.minWidth = "";
    this.place();
    if (had >= 0 && count > 0) this.focus(Math.min(had, count - 1));
  }

  /** focus moves the keyboard focus to row i and scrolls to it. */
  focus(i: number): void {
    const box = this.box,
      head = this.body.previousElementSibling;
    // up to here, the height of rows may have been a guess
    if (box && !this.measured) this.place(true);
    this.stopAt(i);
    for (let again = 0; again < 2; again++) {
      this.place();
      const row = this.held.get(i)?.getBoundingClientRect(),
        room = box?.getBoundingClientRect();
      if (!box || !row || !room) break;
      const top = room.top + (head?.getBoundingClientRect().height ?? 0),
        bottom = room.top + box.clientHeight;
      if (row.top < top) box.scrollTop += row.top - top;
      else if (row.bottom > bottom) box.scrollTop += row.bottom - bottom;
      else break;
    }
    this.held.get(i)?.focus({ preventScroll: true });
  }

  /**
   * next returns the first row at which the keyboard can stop, starting from i in steps of `by`. It
   * returns -1 if there is none.
   */
  private next(i: number, by: number): number {
    for (; i >= 0 && i < this.count; i += by) if (this.stops(i)) return i;
    return -1;
  }

  private indexOf(e: EventTarget | null): number {
    if (e instanceof HTMLElement && e.parentElement === this.body)
      for (const [i, x] of this.held) if (x === e) return i;
    return -1;
  }

  private stopAt(i: number): void {
    const was = this.held.get(this.stop),
      is = this.held.get(i);
    if (was?.hasAttribute("tabindex")) was.tabIndex = -1;
    if (is?.hasAttribute("tabindex")) is.tabIndex = 0;
    this.stop = i;
  }

  private attach(watch: ResizeObserver): void {
    const box = this.body.closest<HTMLElement>(".side, .panel");
    if (box && box !== this.box) {
      this.box = box;
      box.addEventListener("scroll", this.schedulePlace, { passive: true });
      watch.observe(box);
    }
    this.schedulePlace();
  }

  private schedulePlace = (): void => {
    if (this.frameRequest === 0)
      this.frameRequest = nextFrame("rows of the table", () => {
        this.frameRequest = 0;
        if (this.body.isConnected) this.place(true);
      });
  };

  private heads(): HTMLElement[] {
    const h = this.body.previousElementSibling?.firstElementChild;
    return h ? [...h.children].filter((x) => x instanceof HTMLElement) : [];
  }

  /**
   * place creates the elements of the visible rows, and space in place of the others. If the
   * element of a visible row exists already, it stays in the page.
   */
  private place(measured = false): void {
    let a = 0,
      b = Math.min(this.count, this.whole ? this.count : rowsAtFirst);
    if (this.box && !this.whole) {
      const above = this.box.getBoundingClientRect().top - this.body.getBoundingClientRect().top;
      a = Math.max(0, Math.min(this.count, Math.floor(above / this.high) - rowsBeyond));
      b = Math.max(a, Math.min(this.count, Math.ceil((above + this.box.clientHeight) / this.high) + rowsBeyond));
    }
    const focused = this.indexOf(document.activeElement);
    // the row that has the focus and the row at which Tab stops always exist
    const wanted = [...new Set([this.stop, focused])]
      .filter((i) => i >= 0 && i < this.count && (i < a || i >= b))
      .sort((x, y) => x - y);
    wanted.splice(wanted.filter((i) => i < a).length, 0, ...Array.from({ length: b - a }, (_, i) => a + i));
    const keep = new Set(wanted);
    for (const [i, e] of this.held)
      if (!keep.has(i)) {
        e.remove();
        this.held.delete(i);
      }
    for (const e of this.body.querySelectorAll(":scope > .room")) e.remove();
    let before = this.body.firstChild,
      next = 0;
    const room = (rows: number): void => {
      if (rows > 0)
        this.body.insertBefore(
          el(
            "tr",
            { class: "room", aria: { hidden: true } },
            el("td", { colspan: this.columns, style: { height: `${rows * this.high}px` } }),
          ),
          before,
        );
    };
    for (const i of wanted) {
      room(i - next);
      next = i + 1;
      const held = this.held.get(i);
      if (held) {
        before = held.nextSibling;
        continue;
      }
      const e = this.make(i);
      if (this.stops(i)) e.tabIndex = i === this.stop ? 0 : -1;
      if (this.count > rowsAtFirst) e.setAttribute("aria-rowindex", String(i + 2));
      this.held.set(i, e);
      this.body.insertBefore(e, before);
    }
    room(this.count - next);
    const table = this.body.parentElement;
    if (this.count > rowsAtFirst) table?.setAttribute("aria-rowcount", String(this.count + 1));
    else table?.removeAttribute("aria-rowcount");
    if (measured && this.box && !this.whole && b > a) this.measure(a, b);
  }

  /**
   * measure reads the height of a row. It also fixes the widths of the columns, which would
   * otherwise change while the user scrolls.
   */
  private measure(a: number, b: number): void {
    const top = this.held.get(a)?.getBoundingClientRect().top ?? 0,
      bottom = this.held.get(b - 1)?.getBoundingClientRect().bottom ?? 0,
      high = (bottom - top) / (b - a),
      width = this.box?.clientWidth ?? 0;
    if (width !== this.width) {
      this.width = width;
      this.measured = false;
      for (const h of this.heads()) h.style.minWidth = "";
    }
    if (b - a < this.count) {
      const heads = this.heads().filter((h) => h.tagName === "TH"),
        wide = heads.map((h) => h.offsetWidth);
      heads.forEach((h, i) => {
        h.style.minWidth = `${wide[i]}px`;
      });
    }
    // rows differ a little in height; use only the first measurement, so that positions do not depend
    // on which rows are visible
    if (high <= 4 || this.measured) return;
    this.measured = true;
    if (Math.abs(high - this.high) > 0.01) {
      this.high = high;
      this.schedulePlace();
    }
  }
}
