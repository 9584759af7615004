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

/** makeTable creates a table. */
export function makeTable<R>(columns: readonly Column<R>[], rows: readonly R[], o: TableOptions<R> = {}): Table {
  const kept = o.memory?.get("sort") ?? "",
    find = (title: string): number => columns.findIndex((c) => c.sort !== undefined && c.title === title);
  const memory = { order: o.order ?? 0, ascending: o.ascending ?? false, filter: o.memory?.get("filter") ?? "" };
  if (find(kept) >= 0) {
    memory.order = find(kept);
    memory.ascending = true;
  } else if (kept.startsWith("-") && find(kept.slice(1)) >= 0) {
    memory.order = find(kept.slice(1));
    memory.ascending = false;
  }
  const foot = el("p", { class: "faint" }),
    go = o.click;
  let list: readonly R[] = [];
  const body = new Rows(
    columns.length,
    (i) => {
      const r = list[i],
        why = o.idle?.(r) ?? "",
        tr = el(
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
    },
    (i) => go !== undefined && (o.idle?.(list[i]) ?? "") === "",
    columns.some((c) => c.wrap),
  );
  const heads = columns.map((c, i) => {
    const b = el(
      "button",
      {
        type: "button",
        title: c.hint ?? `sort by ${c.title}`,
        on: {
          click: () => {
            if (memory.order === i) memory.ascending = !memory.ascending;
            else {
              memory.order = i;
              memory.ascending = c.text === true;
            }
            o.memory?.set("sort", (memory.ascending ? "" : "-") + c.title);
            fill();
          },
        },
      },
      c.title,
    );
    return el(
      c.title === "" ? "td" : "th",
      { class: c.text || c.bar ? "text" : "" },
      c.sort ? b : el("span", { style: { padding: "2px 8px" }, title: c.hint }, c.title),
    );
  });
  // the sort keys of a column are computed once
  const keys = new Map<Column<R>, readonly (number | bigint | string)[]>();
  const order = function* (): Generator<void, R[]> {
    const c = columns[memory.order],
      needle = memory.filter.trim().toLocaleLowerCase(),
      key = c?.sort;
    const found: number[] = [];
    yield* each(rows.length, (i) => {
      if (needle === "" || !o.filter || o.filter(rows[i]).toLocaleLowerCase().includes(needle)) found.push(i);
    });
    if (!key) return found.map((i) => rows[i]);
    let k = keys.get(c);
    if (!k) {
      const made: (number | bigint | string)[] = [];
      yield* each(rows.length, (i) => made.push(key(rows[i])));
      keys.set(c, made);
      k = made;
    }
    const by = k,
      sign = memory.ascending ? 1 : -1;
    const compare = (i: number, j: number): number => {
      const a = by[i],
        b = by[j];
      return (
        sign *
        (typeof a === "string" && typeof b === "string"
          ? a === b
            ? 0
            : collator.compare(a, b)
          : a < b
            ? -1
            : a > b
              ? 1
              : 0)
      );
    };
    return (yield* sorted(found, compare)).map((i) => rows[i]);
  };
  const work = function* (): Generator<void, void> {
    list = yield* order();
    body.show(list.length);
    foot.textContent = [
      list.length === 0
        ? rows.length === 0
          ? "nothing in this time"
          : "no row matches the filter"
        : list.length < rows.length
          ? `${count(list.length)} of ${count(rows.length)} rows`
          : "",
      o.left ?? "",
    ]
      .filter((x) => x !== "")
      .join("; ");
  };
  let stop = (): void => undefined;
  const fill = (): void => {
    heads.forEach((h, i) => {
      if (i === memory.order) h.setAttribute("aria-sort", memory.ascending ? "ascending" : "descending");
      else h.removeAttribute("aria-sort");
      const b = h.firstElementChild;
      if (b && columns[i].sort)
        b.textContent = columns[i].title + (i === memory.order ? (memory.ascending ? " ▲" : " ▼") : "");
    });
    stop();
    stop = (o.run ?? runAtOnce)(work());
  };
  let filter: HTMLInputElement | null = null;
  if (o.filter) {
    const input = el("input", {
      type: "search",
      placeholder: "filter",
      value: memory.filter,
      aria: { label: "Filter the table" },
    });
    input.addEventListener("input", () => {
      memory.filter = input.value;
      o.memory?.set("filter", input.value);
      fill();
    });
    filter = input;
  }
  const element = el(
    "div",
    {},
    el("table", { class: "sortable" }, el("thead", {}, el("tr", {}, ...heads)), body.body),
    foot,
  );
  fill();
  return {
    element,
    filter,
    csv: () => {
      let all: readonly R[] = [];
      runAtOnce(
        (function* () {
          all = yield* order();
        })(),
      );
      const cols = columns.filter((c) => c.csv);
      return csv(
        cols.map((c) => c.title + (c.unit ? ` (${c.unit})` : "")),
        [
          ...all.map((r) => cols.map((c) => c.csv?.(r) ?? "")),
          ...(o.left ? [cols.map((_, i) => (i === 0 ? (o.left ?? "") : ""))] : []),
        ],
      );
    },
  };
}
