// Returns the canvas of some views, with the layout that it was drawn by.
import { each } from "./page.mjs";

export const run = async (input, open) =>
  (
    await each(input.traces, async (t) => {
      const w = await open(t.name, t.url),
        out = [];
      await w.ready();
      for (const fragment of t.fragments) {
        await w.page.evaluate((f) => {
          location.hash = f;
        }, fragment);
        await w.ready();
        await w.shot("view");
        out.push({ name: t.name, fragment, view: await w.view(), layout: await w.layout(), pixels: await w.pixels() });
      }
      if (w.errors.length > 0) throw new Error(w.errors.join("\n"));
      await w.close();
      return out;
    })
  ).flat();
