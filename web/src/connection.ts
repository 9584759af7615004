// The banner that appears while the server does not answer.
import { type Client, sleep, type TraceList } from "./api";
import { button, el } from "./dom";
import { serverTimer } from "./loading";

/** Connection shows a banner while the server does not answer, and tries to reach it again. */
export class Connection {
  banner: HTMLElement | null = null;
  private why = "";

  /** restored is called when the server answers again. */
  constructor(
    private client: Client,
    private restored: () => void,
  ) {}

  /** report shows the reason why the server cannot be reached. The reason "" means that it answers again. */
  report(why: string): void {
    if (why === this.why) return;
    this.why = why;
    this.banner?.remove();
    this.banner = null;
    if (why === "") {
      this.restored();
      return;
    }
    this.banner = el(
      "div",
      { class: "banner", role: "alert" },
      el("span", {}, why, " What is shown stays."),
      button("Reload", "Load the page again", () => location.reload()),
    );
    document.body.prepend(this.banner);
    void this.retry();
  }

  /** retry sends requests until the server answers. After that, the client calls report. */
  private async retry(): Promise<void> {
    for (let wait = 1500; this.why !== ""; wait = Math.min(15000, wait * 1.5)) {
      await sleep(serverTimer, wait);
      try {
        await this.client.json<TraceList>("traces");
      } catch {
        // the loop tries again
      }
    }
  }
}
