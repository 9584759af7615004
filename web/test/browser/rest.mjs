// Waiting until a page is at rest.

/**
 * quiet runs in the page. It returns the work that is still pending after a few looks, or nothing
 * if there was none for a frame.
 */
async function quiet() {
  // a task after a frame sees the effects of layout, observers and scrolling
  const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
  for (let looks = 0; looks < 40;) {
    await frame();
    if (!window.weft) return ["the program of the page"];
    let still = true;
    for (; looks < 40 && window.weft.pending().length > 0; looks++) {
      still = false;
      window.weft.runNextTimer();
      await new Promise((r) => setTimeout(r, 4));
    }
    if (still) return [];
  }
  return window.weft.pending();
}

/**
 * rest waits until nothing is pending in a page, and advances its clock. It calls waits with the
 * pending work.
 */
export async function rest(page, waits = () => undefined) {
  for (;;) {
    let left;
    try {
      left = await page.evaluate(quiet);
    } catch (e) {
      // the page was left for another one
      if (page.isClosed() || !/context was destroyed|Cannot find context|navigat/i.test(e.message)) throw e;
      left = ["a navigation"];
    }
    waits(left);
    if (left.length === 0) return;
  }
}
