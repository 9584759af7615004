// The panel of structure. It shows the repeating patterns of the trace as text.
import { el, printable } from "../dom";
import type { Panel } from "../dock";

/** structure creates the panel of repeating patterns. */
export function structure(): Panel {
  return {
    id: "structure",
    title: "Structure",
    timeScope: "trace",
    whole: "the whole trace, regardless of range and window",
    async render(app, { lane }, tools) {
      const r = await app.client.json<{ text: string }>(
        `traces/${encodeURIComponent(lane.meta.id)}/structure`,
        {},
        tools.signal,
      );
      const pre = el("pre");
      pre.textContent = r.text.split("\n").map(printable).join("\n");
      tools.body.append(r.text === "" ? el("p", { class: "faint" }, "Nothing repeats in this trace.") : pre);
      tools.csv(null);
    },
  };
}
