// The flame graph of the call tree. The width of a box is inclusive time, and a call is below its
// caller.
import type { CallNode, CallTree } from "../api";
import { button, count, el, nameless, percent, printable, rove, titled } from "../dom";
import type { Panel } from "../dock";
import { short } from "../time";

/**
 * flame creates the panel. The user can zoom to a call path, which stays when the window changes.
 */
export function flame(): Panel {
  let zoomed: string[] = [];
  return {
    id: "flame",
    title: "Flame graph",
    of: "range",
    async render(app, { lane, window: w }, tools) {
      const r = await app.client.json<CallTree>(
        `traces/${encodeURIComponent(lane.meta.id)}/calltree`,
        { from: w.from, to: w.to },
        tools.signal,
      );
      const box = el("div", { class: "flame", role: "tree", aria: { label: "Flame graph" } }),
        crumbs = el("div", { class: "crumbs" }),
        info = el("span", { class: "faint" });
      const label = (n: CallNode): string => lane.regionLabel(n.region, n.name);
      const draw = (): void => {
        let roots = r.roots ?? [];
        const found: CallNode[] = [];
        for (const n of zoomed) {
          const x = roots.find((y) => label(y) === n);
          if (!x) break;
          found.push(x);
          roots = x.children ?? [];
        }
        const top = found[found.length - 1];
        const list = top ? [top] : (r.roots ?? []);
        const total = Number(list.reduce((s, n) => s + BigInt(n.inclusive), 0n)) || 1;
        const out: HTMLElement[] = [];
        let deepest = 0,
          narrow = r.left.paths;
        const put = (n: CallNode, x: number, depth: number, path: string[]): void => {
          const width = Number(BigInt(n.inclusive)) / total;
          if (width < 0.0008 || out.length > 4000) {
            narrow++;
            return;
          }
          deepest = Math.max(deepest, depth);
          const dim = app.store.state.highlight !== null && app.store.state.highlight !== n.name;
          const text =
            `${printable(label(n)) || nameless}: ${short(BigInt(n.inclusive), lane.clock)} inclusive (` +
            `${percent(width)}), ${short(BigInt(n.exclusive), lane.clock)} exclusive, ${count(n.count)} times`;
          const go = (): void => {
            zoomed = path;
            draw();
            box.querySelector("div")?.focus();
          };
          out.push(
            el(
              "div",
              {
                role: "treeitem",
                tabindex: out.length === 0 ? 0 : -1,
                title: text,
                style: {
                  left: `${100 * x}%`,
                  width: `${100 * width}%`,
                  top: `${depth * 18}px`,
                  background: dim ? app.colors.other : (lane.colors.css[n.region] ?? app.colors.other),
                  color: lane.colors.ink[n.region] ?? "#000",
                },
                on: {
                  click: go,
                  mouseenter: () => {
                    info.textContent = text;
                  },
                  focus: () => {
                    info.textContent = text;
                  },
                  keydown: (e) => {
                    if (e.key === "Enter") {
                      go();
                      e.stopPropagation();
                      e.preventDefault();
                    }
                  },
                },
              },
              width > 0.012 ? titled(label(n)) : "",
            ),
          );
          let cx = x;
          for (const c of n.children ?? []) {
            put(c, cx, depth + 1, [...path, label(c)]);
            cx += Number(BigInt(c.inclusive)) / total;
          }
        };
        let x = 0;
        for (const n of list) {
          put(n, x, 0, top ? found.map(label) : [label(n)]);
          x += Number(BigInt(n.inclusive)) / total;
        }
        box.replaceChildren(...out);
        box.style.height = `${(deepest + 1) * 18 + 4}px`;
        crumbs.replaceChildren(
          ...(narrow > 0 ? [el("span", { class: "note" }, "calls too narrow to see are not drawn")] : []),
          button(
            "all",
            "The whole flame graph",
            () => {
              zoomed = [];
              draw();
            },
            "link",
          ),
          ...found.flatMap((f, i) => [
            " › ",
            button(
              titled(label(f)),
              printable(label(f)) || nameless,
              () => {
                zoomed = zoomed.slice(0, i + 1);
                draw();
              },
              "link",
            ),
          ]),
        );
        if (list.length === 0) box.replaceChildren(el("p", { class: "faint" }, "No calls in this time."));
      };
      rove(box, "[role=treeitem]", { back: ["ArrowLeft", "ArrowUp"], on: ["ArrowRight", "ArrowDown"] });
      draw();
      tools.bar.append(info);
      tools.body.append(crumbs, box);
      tools.csv(null);
    },
  };
}
