// Uses a trace like a user: zooms to a span, reads it, follows a message, selects a range, comes
// back to the same view.
import { content, each } from "./page.mjs";

/** zoomTo shows a span large with the wheel and then the keyboard, while the pointer rests on it. */
async function zoomTo(w, span) {
  const middle = (BigInt(span.start) + BigInt(span.end)) / 2n,
    length = BigInt(span.end) - BigInt(span.start);
  const part = (v) => {
    const d = BigInt(v.to) - BigInt(v.from);
    return { part: Number((length * 1000n) / d) / 1000, d };
  };
  await w.page.keyboard.press("Home");
  await w.ready();
  let steps = 0,
    before = 0n,
    view = await w.view();
  // the position of the row stays the same
  const box = await w.page.locator(".plot").boundingBox(),
    { y } = await w.point(span.track, span.depth, middle);
  for (; ; steps++) {
    const { part: p, d } = part(view);
    if (p > 0.25 || d === before) break; // or no further zoom is possible
    before = d;
    await w.page.mouse.move(w.across(box, view, middle), y);
    // never as far as reload zooms: cached tiles of that scale could be half a pixel off
    if (p > 0.05) await w.page.keyboard.press("w");
    else await w.page.mouse.wheel(0, -280);
    view = await w.frame();
  }
  await w.ready();
  return { steps, part: part(await w.view()).part };
}

/** pick zooms to a span and clicks it. */
async function pick(w, span) {
  const zoomed = await zoomTo(w, span);
  const at = await w.point(span.track, span.depth, (BigInt(span.start) + BigInt(span.end)) / 2n);
  await w.page.mouse.click(at.x, at.y);
  await w.ready();
  return { zoomed, details: await w.details(), view: await w.view() };
}

/** follow clicks the first message that leaves the selected span, and loads the page again. */
async function follow(w) {
  const links = w.page.locator(".details .links button");
  for (let i = 0; i < (await links.count()); i++) {
    if (!(await links.nth(i).innerText()).startsWith("→")) continue;
    await links.nth(i).click();
    await w.ready();
    const out = { details: await w.details(), view: await w.view() };
    await w.page.reload();
    await w.ready();
    return { ...out, reloaded: await w.details() };
  }
  return null;
}

/** table returns the table of the open panel as CSV, or null. */
async function table(w) {
  await w.page.getByRole("button", { name: "Picture or table as a file" }).click();
  const button = w.page.getByRole("button", { name: "the table of the open panel" });
  if ((await button.count()) === 0 || (await button.isDisabled())) {
    await w.page.keyboard.press("Escape");
    return null;
  }
  const [download] = await Promise.all([w.page.waitForEvent("download"), button.click()]);
  return (await content(download)).toString();
}

/** panel opens another panel. */
async function panel(w, title) {
  await w.page.getByRole("tab", { name: title }).click();
  await w.ready();
}

/**
 * range drags over a part of the time line, and returns the profile and the locations as CSV, and
 * the text of utilisation.
 */
async function range(w) {
  await w.page.keyboard.press("Home");
  await w.ready();
  const box = await w.page.locator(".plot").boundingBox(),
    y = box.y + 12;
  await w.page.keyboard.down("Alt");
  await w.page.mouse.move(box.x + box.width * 0.31, y);
  await w.page.mouse.down();
  await w.page.mouse.move(box.x + box.width * 0.5, y, { steps: 4 });
  await w.page.mouse.move(box.x + box.width * 0.64, y);
  await w.page.mouse.up();
  await w.page.keyboard.up("Alt");
  await w.page.waitForFunction(() => /[#&]r=/.test(location.hash));
  await w.ready();
  const [from, to] = /[#&]r=(\d+)~(\d+)/.exec(w.page.url()).slice(1);
  const out = { from, to, panel: await w.page.locator(".panel").innerText(), csv: await table(w) };
  await panel(w, "Locations");
  out.locations = await table(w);
  await panel(w, "Utilisation");
  out.utilisation = (await w.page.locator(".scope").innerText()).replace(/\s+/g, " ");
  out.reason = await w.page.locator(".panel").innerText();
  await w.shot("utilisation");
  await panel(w, "Profile");
  return out;
}

/** reload zooms, reloads, and returns the view before and after. */
async function reload(w) {
  const box = await w.page.locator(".plot").boundingBox();
  await w.page.mouse.move(box.x + box.width * 0.43, box.y + 20);
  for (let i = 0; i < 3; i++) {
    await w.page.mouse.wheel(0, -200);
    await w.frame();
  }
  await w.ready();
  const see = async () => ({ view: await w.view(), pixels: await w.pixels() });
  const before = await see();
  await w.page.reload();
  await w.ready();
  const after = await see();
  return { before: before.view, after: after.view, samePixels: before.pixels.data === after.pixels.data };
}

export const run = (input, open) =>
  each(input.traces, async (t) => {
    const w = await open(t.name, t.url);
    await w.ready();
    await w.shot("whole");
    // without arrows: a click near one would select it
    await w.page.evaluate(() => {
      location.hash += "&a=0";
    });
    await w.ready();
    const seen = { name: t.name, picked: await pick(w, t.span) };
    await w.shot("span");
    if (t.sender) {
      seen.sender = await pick(w, t.sender);
      await w.shot("sender");
      seen.followed = await follow(w);
      await w.shot("receiver");
    }
    seen.range = await range(w);
    await w.shot("range");
    seen.reload = await reload(w);
    await w.shot("reloaded");
    seen.errors = w.errors;
    await w.close();
    return seen;
  });
