// A sortable table, used by all panels with rows of numbers.
import { count, el, name } from "../dom";
import { csv } from "../export";
import { runAtOnce, each, type Run, sorted } from "../slices";
import { Rows } from "./rows";

/**
 * Column is a column of a table. sort returns the sort key of a row, and csv its text in the
 * export.
 */
export interface Column<R> {
  title: string;
  hint?: string;
  /** text is set for texts, which are aligned to the left and isolated like names. */
  text?: boolean;
  /** bar is set for a column of bars, which takes the remaining width. */
  bar?: boolean;
  /** wrap is set if texts may have several lines. */
  wrap?: boolean;
  show: (r: R) => string | Node;
  sort?: (r: R) => number | bigint | string;
  csv?: (r: R) => string | number | bigint;
  /** unit is added to the title in the export, where times are numbers of ticks. */
  unit?: string;
}

/**
 * TableOptions holds the options of a table. order is the index of the column that sorts it at
 * first. click is called for a row that the user clicks; idle returns the reason why a click on a
 * row has no effect, or "". run does long work in slices. left describes rows that the table leaves
 * out, or is ""; it appears below the table and in the last line of the export.
 */
export interface TableOptions<R> {
  order?: number;
  ascending?: boolean;
  click?: (r: R) => void;
  clickHint?: string;
  idle?: (r: R) => string;
  chosen?: (r: R) => boolean;
  filter?: (r: R) => string;
  memory?: TableMemory;
  left?: string;
  run?: Run;
}
/**
 * TableMemory keeps the order and the filter of a table for the next time that it is created. The
 * order is the title of the sorting column, with "-" before it if the largest value comes first; ""
 * is the initial order.
 */
export interface TableMemory {
  get(what: "sort" | "filter"): string;
  set(what: "sort" | "filter", value: string): void;
}

/** Table is a table's element and its export. */
export interface Table {
  element: HTMLElement;
  csv: () => string;
  filter: HTMLInputElement | null;
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Order states by which column a table is sorted, and which text the shown rows contain (filter). */
interface Order {
  index: number;
  ascending: boolean;
  filter: string;
}

/** orderAtFirst returns the kept order of a table, or the initial one. */
function orderAtFirst<R>(columns: readonly Column<R>[], o: TableOptions<R>): Order {
  const kept = o.memory?.get("sort") ?? "",
    filter = o.memory?.get("filter") ?? "",
    find = (title: string): number => columns.findIndex((c) => c.sort !== undefined && c.title === title);
  if (find(kept) >= 0) return { index: find(kept), ascending: true, filter };
  if (kept.startsWith("-") && find(kept.slice(1)) >= 0) return { index: find(kept.slice(1)), ascending: false, filter };
  return { index: o.order ?? 0, ascending: o.ascending ?? false, filter };
}

/** compareKeys compares two sort keys: texts as people sort them, and numbers by value. */
function compareKeys(a: number | bigint | string, b: number | bigint | string): number {
  if (typeof a === "string" && typeof b === "string") return a === b ? 0 : collator.compare(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}

/** rowElement returns the element of a row, which reacts to a click if a click has an effect. */
function rowElement<R>(columns: readonly Column<R>[], r: R, o: TableOptions<R>): HTMLElement {
  const go = o.click,
    why = o.idle?.(r) ?? "";
  const tr = el(
    "tr",
    { class: o.chosen?.(r) ? "chosen" : "", ...(go ? { title: why || o.clickHint } : {}) },
    ...columns.map((c) => {
      const v = c.show(r);
      return el(
        "td",
        { class: c.wrap ? "text wrap" : c.text ? "text" : c.bar ? "barcell" : "" },
        typeof v === "string" && c.text ? name(v) : v,
      );
    }),
  );
  if (go && why === "") {
    tr.addEventListener("click", () => go(r));
    tr.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && e.target === tr) {
        go(r);
        e.preventDefault();
        e.stopPropagation();
      }
    });
  }
  return tr;
}

/** headElement returns the head of a column; sort is called when the user clicks it. */
function headElement<R>(c: Column<R>, sort: () => void): HTMLElement {
  const b = el("button", { type: "button", title: c.hint ?? `sort by ${c.title}`, on: { click: sort } }, c.title);
  return el(
    c.title === "" ? "td" : "th",
    { class: c.text || c.bar ? "text" : "" },
    c.sort ? b : el("span", { style: { padding: "2px 8px" }, title: c.hint }, c.title),
  );
}

/** SortedTable is a table with its order and the rows that it shows. */
class SortedTable<R> {
  private readonly order: Order;
  private readonly heads: HTMLElement[];
  private readonly body: Rows;
  private readonly foot = el("p", { class: "faint" });
  /** keys has the sort keys of each column that has sorted the table. */
  private readonly keys = new Map<Column<R>, readonly (number | bigint | string)[]>();
  private list: readonly R[] = [];
  private stop = (): void => undefined;

  constructor(
    private readonly columns: readonly Column<R>[],
    private readonly rows: readonly R[],
    private readonly o: TableOptions<R>,
  ) {
    this.order = orderAtFirst(columns, o);
    this.heads = columns.map((c, i) => headElement(c, () => this.sortBy(i)));
    this.body = new Rows(
      columns.length,
      (i) => rowElement(columns, this.list[i], o),
      (i) => o.click !== undefined && (o.idle?.(this.list[i]) ?? "") === "",
      columns.some((c) => c.wrap),
    );
  }

  /** element returns the element of the page that contains the table and its foot. */
  element(): HTMLElement {
    return el(
      "div",
      {},
      el("table", { class: "sortable" }, el("thead", {}, el("tr", {}, ...this.heads)), this.body.body),
      this.foot,
    );
  }

  /** filter returns the field of the filter, or null. */
  filter(): HTMLInputElement | null {
    if (!this.o.filter) return null;
    const input = el("input", {
      type: "search",
      placeholder: "filter",
      value: this.order.filter,
      aria: { label: "Filter the table" },
    });
    input.addEventListener("input", () => {
      this.order.filter = input.value;
      this.o.memory?.set("filter", input.value);
      this.fill();
    });
    return input;
  }

  /** csv returns all rows that the filter leaves, in their order. */
  csv(): string {
    let all: readonly R[] = [];
    const ordered = this.ordered();
    runAtOnce(
      (function* () {
        all = yield* ordered;
      })(),
    );
    const columns = this.columns.filter((c) => c.csv),
      { left } = this.o;
    return csv(
      columns.map((c) => c.title + (c.unit ? ` (${c.unit})` : "")),
      [
        ...all.map((r) => columns.map((c) => c.csv?.(r) ?? "")),
        ...(left ? [columns.map((_, i) => (i === 0 ? left : ""))] : []),
      ],
    );
  }

  /** fill shows the rows again, sorted and filtered as `order` states. */
  fill(): void {
    const { index, ascending } = this.order;
    this.heads.forEach((h, i) => {
      if (i === index) h.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else h.removeAttribute("aria-sort");
      const b = h.firstElementChild;
      if (b && this.columns[i].sort)
        b.textContent = this.columns[i].title + (i === index ? (ascending ? " ▲" : " ▼") : "");
    });
    this.stop();
    this.stop = (this.o.run ?? runAtOnce)(this.show());
  }

  /** sortBy sorts by a column or, if it sorts the table already, in the other direction. */
  private sortBy(i: number): void {
    const { order, columns, o } = this;
    if (order.index === i) order.ascending = !order.ascending;
    else {
      order.index = i;
      order.ascending = columns[i].text === true;
    }
    o.memory?.set("sort", (order.ascending ? "" : "-") + columns[i].title);
    this.fill();
  }

  private *show(): Generator<void, void> {
    const { rows, o } = this;
    this.list = yield* this.ordered();
    const n = this.list.length;
    this.body.show(n);
    this.foot.textContent = [
      n === 0
        ? rows.length === 0
          ? "nothing in this time"
          : "no row matches the filter"
        : n < rows.length
          ? `${count(n)} of ${count(rows.length)} rows`
          : "",
      o.left ?? "",
    ]
      .filter((x) => x !== "")
      .join("; ");
  }

  /** ordered returns the rows that match the filter, sorted. */
  private *ordered(): Generator<void, R[]> {
    const { rows, o, order } = this,
      c = this.columns[order.index],
      needle = order.filter.trim().toLocaleLowerCase();
    const found: number[] = [];
    yield* each(rows.length, (i) => {
      if (needle === "" || !o.filter || o.filter(rows[i]).toLocaleLowerCase().includes(needle)) found.push(i);
    });
    if (!c?.sort) return found.map((i) => rows[i]);
    const keys = yield* this.keysOf(c, c.sort),
      sign = order.ascending ? 1 : -1;
    return (yield* sorted(found, (i, j) => sign * compareKeys(keys[i], keys[j]))).map((i) => rows[i]);
  }

  /** keysOf returns the sort keys of a column, which are computed once. */
  private *keysOf(
    c: Column<R>,
    key: (r: R) => number | bigint | string,
  ): Generator<void, readonly (number | bigint | string)[]> {
    const known = this.keys.get(c);
    if (known) return known;
    const keys: (number | bigint | string)[] = [];
    yield* each(this.rows.length, (i) => keys.push(key(this.rows[i])));
    this.keys.set(c, keys);
    return keys;
  }
}

/** makeTable creates a table. */
export function makeTable<R>(columns: readonly Column<R>[], rows: readonly R[], o: TableOptions<R> = {}): Table {
  const t = new SortedTable(columns, rows, o);
  const table: Table = { element: t.element(), filter: t.filter(), csv: () => t.csv() };
  t.fill();
  return table;
}
