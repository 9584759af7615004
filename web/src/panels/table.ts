// A sortable table: the one way rows of numbers are shown.
import { el, name, rove } from "../dom";
import { csv } from "../export";

/** Column is one column of a table; sort gives what to compare, csv what to export. */
export interface Column<R> {
  title: string; hint?: string;
  /** text columns are set at the left and isolated as names. */
  text?: boolean;
  /** bar columns take the room that is left. */
  bar?: boolean;
  /** wrap columns have text that is broken into lines. */
  wrap?: boolean;
  show: (r: R) => string | Node;
  sort?: (r: R) => number | bigint | string;
  csv?: (r: R) => string | number | bigint;
  /** unit is added to the title in the export, where times are whole ticks. */
  unit?: string;
}

/** TableOptions say what a click does and how the table begins; left says what it lacks, "" for nothing: below it, and in the last line of its export. */
export interface TableOptions<R> { order?: number; ascending?: boolean; click?: (r: R) => void; clickHint?: string; chosen?: (r: R) => boolean; filter?: (r: R) => string; most?: number; memory?: TableMemory; left?: string }
/** TableMemory keeps order and filter over a table's being made again: the order as the title of a column, behind "-" if the greatest comes first; "" is that which it begins with. */
export interface TableMemory { get(what: "sort" | "filter"): string; set(what: "sort" | "filter", value: string): void }

/** Table is the element and its export. */
export interface Table { element: HTMLElement; csv: () => string; filter: HTMLInputElement | null }

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** makeTable builds a table; with many rows the first `most` are shown, and the filter finds the rest. */
export function makeTable<R>(columns: readonly Column<R>[], rows: readonly R[], o: TableOptions<R> = {}): Table {
  const kept = o.memory?.get("sort") ?? "", find = (title: string): number => columns.findIndex((c) => c.sort !== undefined && c.title === title);
  const memory = { order: o.order ?? 0, ascending: o.ascending ?? false, filter: o.memory?.get("filter") ?? "" };
  if (find(kept) >= 0) { memory.order = find(kept); memory.ascending = true; }
  else if (kept.startsWith("-") && find(kept.slice(1)) >= 0) { memory.order = find(kept.slice(1)); memory.ascending = false; }
  const most = o.most ?? 500;
  const body = el("tbody", {}), foot = el("p", { class: "faint" });
  const heads = columns.map((c, i) => {
    const b = el("button", { type: "button", title: c.hint ?? `sort by ${c.title}`, on: { click: () => { if (memory.order === i) memory.ascending = !memory.ascending; else { memory.order = i; memory.ascending = c.text === true; } o.memory?.set("sort", (memory.ascending ? "" : "-") + c.title); fill(); } } }, c.title);
    return el(c.title === "" ? "td" : "th", { class: c.text || c.bar ? "text" : "" }, c.sort ? b : el("span", { style: { padding: "2px 8px" }, title: c.hint }, c.title));
  });
  const sorted = (): R[] => {
    const c = columns[memory.order], needle = memory.filter.trim().toLocaleLowerCase();
    const list = needle !== "" && o.filter ? rows.filter((r) => o.filter?.(r).toLocaleLowerCase().includes(needle)) : [...rows];
    const key = c?.sort;
    if (!key) return list;
    const sign = memory.ascending ? 1 : -1;
    return list.map((r) => ({ r, k: key(r) })).sort((a, b) => sign * (typeof a.k === "string" && typeof b.k === "string" ? collator.compare(a.k, b.k) : a.k < b.k ? -1 : a.k > b.k ? 1 : 0)).map((x) => x.r);
  };
  const fill = (): void => {
    heads.forEach((h, i) => { if (i === memory.order) h.setAttribute("aria-sort", memory.ascending ? "ascending" : "descending"); else h.removeAttribute("aria-sort"); const b = h.firstElementChild; if (b && columns[i].sort) b.textContent = columns[i].title + (i === memory.order ? (memory.ascending ? " ▲" : " ▼") : ""); });
    const list = sorted();
    body.replaceChildren(...list.slice(0, most).map((r, i) => {
      const go = o.click;
      const tr = el("tr", { class: o.chosen?.(r) ? "chosen" : "", ...(go ? { tabindex: i === 0 ? 0 : -1, title: o.clickHint } : {}) }, ...columns.map((c) => { const v = c.show(r); return el("td", { class: c.wrap ? "text wrap" : c.text ? "text" : c.bar ? "barcell" : "" }, typeof v === "string" && c.text ? name(v) : v); }));
      if (go) { tr.addEventListener("click", () => go(r)); tr.addEventListener("keydown", (e) => { if (e.key === "Enter" && e.target === tr) { go(r); e.preventDefault(); e.stopPropagation(); } }); }
      return tr;
    }));
    foot.textContent = [list.length > most ? `the first ${most} of ${list.length} rows; the filter and the export have ${o.left ? "these" : "all"}` : list.length === 0 ? (rows.length === 0 ? "nothing in this time" : "no row matches the filter") : "", o.left ?? ""].filter((x) => x !== "").join("; ");
  };
  let filter: HTMLInputElement | null = null;
  if (o.filter) {
    const input = el("input", { type: "search", placeholder: "filter", value: memory.filter, aria: { label: "Filter the table" } });
    input.addEventListener("input", () => { memory.filter = input.value; o.memory?.set("filter", input.value); fill(); });
    filter = input;
  }
  rove(body, "tr", { back: ["ArrowUp"], on: ["ArrowDown"] });
  fill();
  return {
    element: el("div", {}, el("table", { class: "sortable" }, el("thead", {}, el("tr", {}, ...heads)), body), foot), filter,
    csv: () => { const cols = columns.filter((c) => c.csv); return csv(cols.map((c) => c.title + (c.unit ? ` (${c.unit})` : "")), [...sorted().map((r) => cols.map((c) => c.csv?.(r) ?? "")), ...(o.left ? [cols.map((_, i) => (i === 0 ? o.left ?? "" : ""))] : [])]); },
  };
}
