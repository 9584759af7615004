// When a page is at rest.

/** quiet runs in the page: it gives what is still pending after a few looks, nothing once that was so for a frame. */
async function quiet() {
  // a task behind a frame sees what layout, observers and scrolling did in it
  const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
  for (let looks = 0; looks < 40; ) {
    await frame();
    if (!window.weft) return ["the program of the page"];
    let still = true;
    for (; looks < 40 && window.weft.pending().length > 0; looks++) {
      still = false;
      window.weft.hurry();
      await new Promise((r) => setTimeout(r, 4));
    }
    if (still) return [];
  }
  return window.weft.pending();
}

/** rest waits until nothing is pending in a page, whose clock it puts forward; waits is told what for. */
export async function rest(page, waits = () => undefined) {
  for (;;) {
    let left;
    try { left = await page.evaluate(quiet); } catch (e) {
      // the page has been left for another one
      if (page.isClosed() || !/context was destroyed|Cannot find context|navigat/i.test(e.message)) throw e;
      left = ["a navigation"];
    }
    waits(left);
    if (left.length === 0) return;
  }
}
