// Opens a trace that is still being indexed: the page tells how far that is, and then shows the picture.
import { script } from "./page.mjs";

await script(async (input, open) => {
  const w = await open("progress", input.url);
  const seen = [];
  for (;;) {
    const s = await w.page.evaluate(() => ({ state: document.documentElement.dataset.state ?? "", value: document.querySelector("progress")?.value ?? null, text: document.querySelector("main.start")?.innerText ?? "", title: document.title }));
    if (s.value !== null) seen.push(s);
    if (seen.length === 2) await w.shot("indexing");
    if (s.state === "ready") break;
    await w.page.waitForTimeout(60);
  }
  await w.shot("whole");
  return { seen, view: await w.view(), errors: w.errors };
});
