// The start page, which lists the traces of a server.
import type { TraceEntry } from "./api";
import type { App } from "./app";
import { button, el, name, percent } from "./dom";
import { sizeOf } from "./indexing";

/** stateText describes the state of a trace on the server. */
function stateText(t: TraceEntry): string {
  return t.state === "failed"
    ? "failed: " + t.error
    : t.state === "indexing"
      ? "indexing, " + percent(t.progress)
      : t.state === "ready"
        ? "ready"
        : "not opened yet";
}

/** table returns the table of traces around its body. */
function table(body: HTMLElement): HTMLElement {
  const columns = ["Choose", "Name", "Path", "Format", "Size", "State"];
  return el(
    "table",
    {},
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...columns.map((h) =>
          el("th", { class: h === "Size" ? "" : "text" }, el("span", { style: { padding: "2px 8px" } }, h)),
        ),
      ),
    ),
    body,
  );
}

/** startPage lists the traces. The user can open one or several of them. */
export function startPage(app: App, notice: string): void {
  document.title = "weft";
  const chosen = new Set<string>();
  const open = (ids: string[]): void => {
    location.hash = "t=" + ids.map(encodeURIComponent).join(",");
    location.reload();
  };
  const body = el("tbody", {});
  const together = button("Open together", "Open the chosen traces one above the other", () => open([...chosen]));
  together.disabled = true;
  const input = el("input", {
    type: "search",
    placeholder: "Search name, folder or format",
    aria: { label: "Search traces" },
  });
  const fill = (): void => {
    const needle = input.value.trim().toLocaleLowerCase();
    const list = app.list.traces.filter(
      (t) => needle === "" || `${t.path} ${t.name} ${t.format}`.toLocaleLowerCase().includes(needle),
    );
    body.replaceChildren(
      ...list.slice(0, 1000).map((t) => {
        const check = el("input", { type: "checkbox", aria: { label: "choose " + t.name } });
        check.checked = chosen.has(t.id);
        check.addEventListener("change", () => {
          if (check.checked) chosen.add(t.id);
          else chosen.delete(t.id);
          together.disabled = chosen.size < 2;
        });
        return el(
          "tr",
          {},
          el("td", { class: "text" }, check),
          el(
            "td",
            { class: "text" },
            el("button", { type: "button", class: "link", on: { click: () => open([t.id]) } }, name(t.name)),
          ),
          el("td", { class: "text" }, name(t.path)),
          el("td", { class: "text" }, t.format),
          el(
            "td",
            sizeOf(t) === "" ? { title: "not known before it is read: it has several files" } : {},
            sizeOf(t) || "–",
          ),
          el("td", { class: "text" + (t.state === "failed" ? " error" : "") }, name(stateText(t))),
        );
      }),
    );
    if (list.length === 0)
      body.replaceChildren(
        el(
          "tr",
          {},
          el(
            "td",
            { class: "text", colspan: 6 },
            app.list.traces.length === 0 ? "There are no traces here." : "No trace matches.",
          ),
        ),
      );
  };
  input.addEventListener("input", fill);
  document.body.replaceChildren(
    el(
      "main",
      { class: "start" },
      el("h1", {}, "Traces"),
      notice === "" ? null : el("p", { class: "error", role: "alert" }, notice),
      el(
        "div",
        { class: "row" },
        input,
        together,
        el("span", { class: "faint" }, app.list.version ? "weft " + app.list.version : ""),
      ),
      table(body),
    ),
  );
  fill();
  input.focus();
}
