// The call tree: time by call path, to be opened level by level.
import type { CallNode } from "../api";
import { button, count, el, name, percent, rove } from "../dom";
import type { Panel } from "../dock";
import { csv } from "../export";
import { short } from "../time";

/** calltree makes the panel of the call tree; which paths are open stays over changes of the window. */
export function calltree(): Panel {
  const open = new Set<string>();
  let fresh = true;
  return {
    id: "calltree", title: "Call tree", of: "range",
    async render(app, { lane, window: w }, tools) {
      const r = await app.client.json<{ roots: CallNode[] | null }>(`traces/${encodeURIComponent(lane.meta.id)}/calltree`, { from: w.from, to: w.to }, tools.signal);
      const roots = r.roots ?? [];
      const total = roots.reduce((s, n) => s + BigInt(n.inclusive), 0n);
      const part = (t: string): number => (total > 0n ? Number(BigInt(t)) / Number(total) : 0);
      if (fresh) {
        // the heaviest path stands open at first
        fresh = false;
        let list = roots, path = "";
        while (list.length > 0 && path.split("/").length < 6) { path += "/" + list[0].name; open.add(path); list = list[0].children ?? []; }
      }
      const body = el("tbody", {});
      const fill = (): void => {
        const out: HTMLElement[] = [];
        const walk = (nodes: readonly CallNode[], level: number, above: string): void => {
          for (const n of nodes) {
            if (out.length > 3000) return;
            const path = above + "/" + n.name, kids = n.children ?? [], is = open.has(path);
            const flip = (): void => { if (!open.delete(path)) open.add(path); fill(); };
            const color = lane.colors.css[n.region] ?? app.colors.other;
            const tr = el("tr", { tabindex: out.length === 0 ? 0 : -1, title: "highlight this region", data: { path }, aria: { level: level + 1, ...(kids.length > 0 ? { expanded: is } : {}) } },
              el("td", { class: "text" }, el("span", { style: { display: "inline-block", width: 16 * level + "px" } }), kids.length > 0 ? el("button", { type: "button", class: "twist", tabindex: -1, aria: { label: is ? "close" : "open" }, on: { click: (e) => { e.stopPropagation(); flip(); } } }, is ? "▾" : "▸") : el("span", { class: "twist", style: { display: "inline-block" } }), el("span", { class: "swatch", style: { background: color } }), name(n.name)),
              el("td", { class: "barcell" }, el("span", { class: "bar", style: { width: `${100 * part(n.inclusive)}%`, background: color } })),
              el("td", {}, percent(part(n.inclusive))), el("td", {}, short(BigInt(n.inclusive), lane.clock)), el("td", {}, short(BigInt(n.exclusive), lane.clock)), el("td", {}, count(n.count)), el("td", {}, short(BigInt(n.min), lane.clock)), el("td", {}, short(BigInt(n.max), lane.clock)));
            tr.addEventListener("click", () => app.highlight(n.name));
            tr.addEventListener("keydown", (e) => {
              if ((e.key === "ArrowRight" && !is && kids.length > 0) || (e.key === "ArrowLeft" && is)) { flip(); body.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)?.focus(); }
              else if (e.key === "Enter") app.highlight(n.name); else return;
              e.preventDefault(); e.stopPropagation();
            });
            out.push(tr);
            if (is) walk(kids, level + 1, path);
          }
        };
        walk(roots, 0, "");
        body.replaceChildren(...out);
      };
      rove(body, "tr", { back: ["ArrowUp"], on: ["ArrowDown"] });
      fill();
      const all = (nodes: readonly CallNode[], above: string, f: (path: string, n: CallNode) => void): void => { for (const n of nodes) { const p = above + "/" + n.name; f(p, n); all(n.children ?? [], p, f); } };
      tools.bar.append(button("Open all", "Open all call paths", () => { all(roots, "", (p) => open.add(p)); fill(); }), button("Close all", "Close all call paths", () => { open.clear(); fill(); }));
      const head = (t: string, cls = ""): HTMLElement => el(t === "" ? "td" : "th", { class: cls }, el("span", { style: { padding: "2px 8px" } }, t));
      tools.body.append(roots.length === 0 ? el("p", { class: "faint" }, "No calls in this time.") : el("table", { class: "tree", role: "treegrid" }, el("thead", {}, el("tr", {}, head("call path", "text"), head(""), head("part"), head("inclusive"), head("exclusive"), head("count"), head("min"), head("max"))), body));
      tools.csv(() => { const rows: (string | number)[][] = []; all(roots, "", (p, n) => rows.push([p, n.count, n.inclusive, n.exclusive, n.min, n.max])); return csv(["path", "count", "inclusive (ticks)", "exclusive (ticks)", "min (ticks)", "max (ticks)"], rows); });
    },
  };
}
