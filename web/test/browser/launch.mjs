// How the tests start Chromium.
import { chromium } from "playwright-core";

/**
 * launch starts a browser without time limits. The pages of a context share one process, because
 * starting a process takes as long as loading a page. It has no windows with an address bar, which
 * would need two more pages each.
 */
export function launch(executablePath) {
  const unused = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"];
  return chromium.launch({
    executablePath,
    timeout: 0,
    args: ["--no-sandbox", "--disable-gpu", "--renderer-process-limit=1", "--disable-features=" + unused.join(",")],
  });
}
