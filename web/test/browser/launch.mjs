// How the tests start Chromium.
import { chromium } from "playwright-core";

/** launch starts a browser that waits for as long as it takes. The pages of a context share one process, as to start one takes as long as to load a page. Each window of one with an address bar would have two pages for that, which take as long to start as those of the tests. */
export function launch(executablePath) {
  const unused = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"];
  return chromium.launch({ executablePath, timeout: 0, args: ["--no-sandbox", "--disable-gpu", "--renderer-process-limit=1", "--disable-features=" + unused.join(",")] });
}
