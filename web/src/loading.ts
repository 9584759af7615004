// Loads the traces of the page, and shows the progress of indexing, or a failure.
import { ApiError, baseID, type Client, errorText, sleep, type TraceMeta } from "./api";
import type { App } from "./app";
import { button, el, name } from "./dom";
import { Indexing } from "./indexing";
import { nextFrame } from "./timers";
import { cutShort, writeFragment } from "./url";

/** serverTimer is the name of the timer that waits before the page asks for the progress again. */
export const serverTimer = "server";

/** load waits until all traces have been indexed, and shows the progress. It returns null after a failure. */
export async function load(
  client: Client,
  ids: readonly string[],
  reject: (piece: string, instead: string) => void,
  fail: (title: string, text: string) => void,
): Promise<TraceMeta[] | null> {
  const out: TraceMeta[] = [];
  const view = new Indexing();
  document.body.replaceChildren(view.element);
  for (let id of ids) {
    for (let wait = 150; ; wait = Math.min(2000, wait * 1.3)) {
      let m: TraceMeta;
      try {
        m = await client.json<TraceMeta>("traces/" + encodeURIComponent(id));
      } catch (e) {
        if (e instanceof ApiError && e.status === 404 && baseID(id) !== id) {
          reject(cutShort(`t=${id}`), `colours are by region: ${errorText(e)}`);
          id = baseID(id);
          continue;
        }
        // indexing takes minutes, in which a server that does not answer may recover
        if (e instanceof ApiError && e.status < 500) {
          fail(id, errorText(e));
          return null;
        }
        view.lost(errorText(e));
        await sleep(serverTimer, Math.max(1000, wait));
        continue;
      }
      if (m.state === "failed") {
        fail(m.name, m.error || "reading failed");
        return null;
      }
      if (m.state === "ready") {
        out.push(m);
        break;
      }
      view.show(m);
      await new Promise<void>((done) => nextFrame("progress", done));
      await sleep("index", wait);
    }
  }
  return out;
}

/** showFailure fills the page with a message. */
export function showFailure(app: App, title: string, text: string): void {
  const traces = app.store.state.traces,
    plain = traces.map(baseID);
  document.body.replaceChildren(
    el(
      "main",
      { class: "start" },
      el("h1", {}, name(title)),
      el("p", { class: "error", role: "alert" }, name(text)),
      button("Try again", "Load the page again", () => location.reload()),
      plain.join() !== traces.join()
        ? button("Colours by region", "Show the trace by region instead of by an attribute", () => {
            location.hash = writeFragment({ ...app.store.state, traces: plain });
          })
        : null,
      app.list.traces.length > 1
        ? button("All traces", "Show the list of traces", () => {
            location.hash = "";
            location.reload();
          })
        : null,
    ),
  );
}
