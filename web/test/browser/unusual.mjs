// Opens unusual traces and uses each a bit: nothing may fail, whatever the trace.
import { each } from "./page.mjs";

async function use(w) {
  const box = await w.page.locator(".plot").boundingBox();
  if (!box) return; // the page explains why there is no picture
  const strip = (await w.layout()).rows.flatMap((r) => r.strips)[0];
  const y = box.y + (strip ? strip.y + strip.height / 2 : box.height / 2);
  for (const part of [0, 0.1, 0.5, 0.9, 0.9999]) await w.page.mouse.move(box.x + part * (box.width - 1), y);
  await w.page.mouse.click(box.x + box.width / 2, y);
  await w.ready();
  await w.page.keyboard.press("l");
  await w.ready();
  await w.shot("links");
  for (let i = 0; i < 8; i++) await w.page.mouse.wheel(0, -300);
  await w.ready();
  await w.page.mouse.click(box.x + box.width / 2 + 1, y);
  await w.ready();
  for (const key of ["n", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "z", "c", "r"]) {
    await w.page.keyboard.press(key);
    await w.ready();
  }
  await w.shot("near");
  await w.page.keyboard.press("Escape");
  await w.page.keyboard.press("Home");
  await w.ready();
  for (const tab of await w.page.locator("[role=tab]").all()) {
    await tab.click();
    await w.ready();
  }
}

export const run = (input, open) =>
  each(input.traces, async (t) => {
    const w = await open(t.name, t.url);
    let failure = "";
    try {
      await w.ready();
      await w.shot("whole");
      await use(w);
    } catch (e) {
      failure = String(e);
    }
    await w.shot("end");
    const page = await w.page.evaluate(() => ({
      text: document.body.innerText.slice(0, 20000),
      images: document.querySelectorAll("img, script:not([src])").length,
      view: window.weft.view(),
      drawn: document.querySelector("canvas.pixels") !== null,
    }));
    await w.close();
    return { name: t.name, failure, errors: w.errors, ...page };
  });
