// Functions that create elements. They insert text only as text, because names from a trace may contain
// markup or scripts.

type Child = Node | string | null | undefined | false;
interface Props {
  class?: string;
  id?: string;
  title?: string;
  role?: string;
  tabindex?: number;
  type?: string;
  value?: string;
  placeholder?: string;
  href?: string;
  download?: string;
  disabled?: boolean;
  hidden?: boolean;
  checked?: boolean;
  min?: string;
  max?: string;
  for?: string;
  colspan?: number;
  label?: string;
  aria?: Record<string, string | number | boolean>;
  data?: Record<string, string>;
  style?: Record<string, string>;
  on?: { [K in keyof HTMLElementEventMap]?: (e: HTMLElementEventMap[K]) => void };
}

/** el creates an element with the given properties and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v === undefined) continue;
    if (k === "aria") for (const [a, x] of Object.entries(props.aria ?? {})) e.setAttribute("aria-" + a, String(x));
    else if (k === "data") for (const [a, x] of Object.entries(props.data ?? {})) e.dataset[a] = x;
    else if (k === "style") for (const [a, x] of Object.entries(props.style ?? {})) e.style.setProperty(a, x);
    else if (k === "on") for (const [a, x] of Object.entries(props.on ?? {})) e.addEventListener(a, x as EventListener);
    else if (typeof v === "boolean") {
      if (v) e.setAttribute(k, "");
    } else e.setAttribute(k, String(v));
  }
  e.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return e;
}

/**
 * name returns an element with a text from a trace. Characters in it cannot change the direction of
 * the text around it.
 */
export function name(text: string, cls = ""): HTMLElement {
  const e = document.createElement("bdi");
  e.textContent = printable(text);
  if (cls) e.className = cls;
  return e;
}

/**
 * replaceContent replaces the content of e. If a field in e has the focus, the field with the same label in the new
 * content gets the focus and the text that has been typed.
 */
export function replaceContent(e: HTMLElement, ...children: HTMLElement[]): void {
  const fields = "input, select, textarea",
    old = e.querySelector<HTMLElement>(`:is(${fields}):focus`),
    typed = old instanceof HTMLInputElement && ["text", "search"].includes(old.type) ? old : null,
    selected = [typed?.selectionStart ?? 0, typed?.selectionEnd ?? 0] as const;
  e.replaceChildren(...children);
  const label = old?.getAttribute("aria-label") ?? null,
    field = [...e.querySelectorAll<HTMLElement>(fields)].find((x) => x.getAttribute("aria-label") === label);
  if (label === null || !field) return;
  field.focus({ preventScroll: true });
  if (!typed || !(field instanceof HTMLInputElement)) return;
  const changed = field.value !== typed.value;
  field.value = typed.value;
  field.setSelectionRange(...selected);
  if (!changed) return;
  field.dataset.kept = typed.value;
  // The browser sends no events for a text that a program has set. A text that the content does not take is sent once.
  if (typed.dataset.kept === typed.value) return;
  for (const event of ["input", "change"]) field.dispatchEvent(new Event(event));
}

/** nameless is the text in place of an empty name. */
export const nameless = "no name";

/** nameElement returns an element with a name from a trace, or with the text nameless if the name is empty. */
export function nameElement(text: string): HTMLElement {
  return text === "" ? el("span", { class: "faint" }, nameless) : name(text);
}

/**
 * printable replaces control characters, and characters that change the direction of text. Use it
 * for canvases and tooltips, where no element can isolate the text.
 */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, "\uFFFD");
}

/**
 * maxDrawn is the greatest number of characters of a name that are drawn. Longer names never fit, and measuring them
 * takes long.
 */
const maxDrawn = 300;

/** shortenName returns the start of a name, for canvases, pictures and tooltips. */
export function shortenName(text: string): string {
  if (text.length <= maxDrawn) return printable(text);
  // half of a surrogate pair at the end would appear as a box
  return printable(text.slice(0, maxDrawn).replace(/[\uD800-\uDBFF]$/, "")) + "…";
}

/**
 * setText sets the text of an element, unless it is the same. Setting the same text would make the
 * browser compute the layout of the page again.
 */
export function setText(e: HTMLElement, text: string): void {
  if (e.textContent !== text) e.textContent = text;
}

/**
 * accessibleName returns the accessible name of a control. It begins with the visible label, which users of
 * speech recognition say, followed by the purpose of the control. Arrows and pictograms around the label, and an
 * ellipsis after it, are left out. Other symbols stay, because they may belong to a name of the trace.
 */
export function accessibleName(label: string, title: string): string {
  const words = /[\p{L}\p{N}]/u.test(label) ? label.replace(/^[\s←-⇿■-➿]+|[\s…←-⇿■-➿]+$/gu, "") : "";
  return words === "" || title.toLowerCase().startsWith(words.toLowerCase()) ? title : `${words}: ${title}`;
}

/** button creates a push button. title is its tooltip, and label its content. */
export function button(label: string | Node, title: string, click: () => void, cls = ""): HTMLButtonElement {
  return el(
    "button",
    {
      type: "button",
      title,
      class: cls,
      aria: { label: accessibleName(typeof label === "string" ? label : (label.textContent ?? ""), title) },
      on: { click: () => click() },
    },
    label,
  );
}

/**
 * roveFocus makes a list of elements a single stop of the Tab key. Inside the list, the arrow keys, Home
 * and End move the focus. The first element must have tabindex 0, and all others -1.
 */
export function roveFocus(
  box: HTMLElement,
  selector: string,
  keys: { back: readonly string[]; on: readonly string[] },
): void {
  box.addEventListener("focusin", (e) => {
    const t = e.target;
    if (!(t instanceof HTMLElement) || !t.matches(selector)) return;
    for (const x of box.querySelectorAll<HTMLElement>(`${selector}[tabindex="0"]`)) if (x !== t) x.tabIndex = -1;
    t.tabIndex = 0;
  });
  box.addEventListener("keydown", (e) => {
    const t = e.target;
    if (!(t instanceof HTMLElement) || !t.matches(selector)) return;
    const items = [...box.querySelectorAll<HTMLElement>(selector)],
      i = items.indexOf(t);
    const n = keys.back.includes(e.key)
      ? i - 1
      : keys.on.includes(e.key)
        ? i + 1
        : e.key === "Home"
          ? 0
          : e.key === "End"
            ? items.length - 1
            : -2;
    if (n === -2) return;
    items[Math.max(0, Math.min(items.length - 1, n))]?.focus();
    e.preventDefault();
    e.stopPropagation();
  });
}

/**
 * replace replaces the children of an element. If one of the old buttons had the focus, the new
 * button at its place gets it, or else the element.
 */
export function replace(box: HTMLElement, ...children: Node[]): void {
  const held = box.contains(document.activeElement) ? document.activeElement : null;
  box.replaceChildren(...children);
  if (!(held instanceof HTMLElement)) return;
  (
    [...box.querySelectorAll<HTMLElement>("button")].find(
      (b) => b.title === held.title && b.textContent === held.textContent,
    ) ?? box
  ).focus({ preventScroll: true });
}

/** select creates a drop-down list. Each of its options has a value and a text. */
export function select(
  label: string,
  options: readonly (readonly [string, string])[],
  value: string,
  change: (v: string) => void,
): HTMLSelectElement {
  const s = el(
    "select",
    { title: label, aria: { label } },
    ...options.map(([v, t]) => {
      const o = el("option", { value: v });
      o.textContent = t;
      return o;
    }),
  );
  s.value = value;
  s.addEventListener("change", () => change(s.value));
  return s;
}

/**
 * count formats an integer with thin spaces between groups of three digits. It formats other
 * numbers with four digits.
 */
export function count(n: number): string {
  return Number.isInteger(n) ? String(n).replace(/\B(?=(\d{3})+$)/g, "\u202F") : n.toPrecision(4);
}

/** countWords formats a number with a noun, which is in the singular if n is 1. */
export function countWords(n: number, one: string, many = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** bytesText formats a number of bytes with a binary unit. */
export function bytesText(n: number): string {
  const u = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (n >= 1024 && i < u.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i === 0 ? n : n.toFixed(n >= 100 ? 0 : n >= 10 ? 1 : 2)} ${u[i]}`;
}

/** percent formats a fraction of 1 as a percentage. */
export function percent(part: number): string {
  return `${(100 * part).toFixed(part >= 0.0995 ? 1 : 2)} %`;
}
