// The flame graph of the call tree. The width of a box is inclusive time.
import type { CallNode, CallTree } from "../api";
import { count, percent } from "../dom";
import type { Panel } from "../dock";
import { short } from "../time";
import { Graph } from "./flamegraph";

/**
 * flame creates the panel. The user can zoom to a call path, which stays when the window changes.
 */
export function flame(): Panel {
  let zoomed: readonly string[] = [];
  return {
    id: "flame",
    title: "Flame graph",
    timeScope: "range",
    async render(app, { lane, window: w }, tools) {
      const tree = await app.client.json<CallTree>(
        `traces/${encodeURIComponent(lane.meta.id)}/calltree`,
        { from: w.from, to: w.to },
        tools.signal,
      );
      const time = (ticks: string): string => short(BigInt(ticks), lane.clock);
      const graph = new Graph<CallNode>(app, tree.roots ?? [], {
        size: (n) => Number(BigInt(n.inclusive)),
        label: (n) => lane.regionLabel(n.region, n.name),
        text: (n, width) =>
          `${time(n.inclusive)} inclusive (${percent(width)}), ${time(n.exclusive)} exclusive, ` +
          `${count(n.count)} times`,
        color: (n) => ({
          background: lane.colors.css[n.region] ?? app.colors.other,
          color: lane.colors.ink[n.region] ?? "#000",
        }),
        narrow: tree.left.paths > 0,
        zoomed,
        keep: (path) => (zoomed = path),
      });
      tools.bar.append(graph.info);
      tools.body.append(graph.crumbs, graph.element);
      tools.csv(null);
    },
  };
}
