// Chooses colours, names and rows by attributes, and follows the link of that view in another page.

/** see returns what the page shows. */
async function see(w) {
  await w.ready();
  return {
    rows: await w.page.locator(".label .text").allInnerTexts(),
    legend: await w.page.locator(".legend button").allInnerTexts(),
    pixels: (await w.pixels()).data,
  };
}

/** panels opens all panels, and returns their errors: none fails where rows are no locations. */
async function panels(w) {
  const out = [];
  for (const tab of await w.page.locator("[role=tab]").all()) {
    await tab.click();
    await w.ready();
    const error = w.page.locator(".panel .error");
    if ((await error.count()) > 0) out.push(`${await tab.innerText()}: ${await error.first().innerText()}`);
  }
  return out;
}

/** heights returns the heights of what a memory shows, in both ways, and whether a link shows the same. */
async function heights(w, open, input, choose) {
  const see = async (x) => {
    await x.ready();
    const row = (await x.layout()).rows.find((r) => r.track === input.memory),
      spans = row.strips.filter((s) => s.kind === 0);
    return { spans: spans.map((s) => s.height), pixels: (await x.pixels()).data };
  };
  const by = await see(w);
  await choose([["Heights of claims", ""]], "", false);
  const same = await see(w),
    link = await w.page.evaluate(() => location.hash);
  await w.shot("heights");
  const other = await open("configure-heights", input.url.split("#")[0] + link),
    again = await see(other);
  await other.close();
  await choose([["Heights of claims", "amount"]], "", false);
  const stacked = await see(w);
  await w.shot("stacked");
  await choose([["Heights of claims", "offset"]], "", false);
  const back = await see(w);
  return {
    lanes: same.spans,
    changed: same.pixels !== by.pixels,
    link,
    again: again.pixels === same.pixels,
    back: back.pixels === by.pixels,
    // on each other, claims are neither at their offsets nor as high as their lanes
    stacked: stacked.pixels !== by.pixels && stacked.pixels !== same.pixels,
  };
}

export async function run(input, open) {
  const w = await open("configure", input.url);
  await w.ready();
  const out = { before: await see(w), whole: await w.view() };
  const opener = w.page.getByRole("button", { name: /^View/ }),
    choose = async (choices, filter = "", loads = choices.length > 0, values = "") => {
      // with the keyboard alone
      await opener.focus();
      await w.page.keyboard.press("Enter");
      for (const [label, option] of choices)
        await w.page.getByRole("dialog").getByLabel(label, { exact: true }).selectOption(option);
      if (values !== "") await w.page.getByLabel("Values of the attribute").fill(values);
      if (filter !== "") await w.page.getByLabel("Only rows whose name contains").last().fill(filter);
      await w.shot("dialog");
      const anew = loads ? w.page.waitForEvent("load") : null;
      await w.page.getByRole("button", { name: "Apply" }).press("Enter");
      await anew;
      await w.ready();
    };
  await opener.click();
  const dialog = w.page.getByRole("dialog");
  out.colors = await dialog.getByLabel("Colours of spans", { exact: true }).locator("option").allTextContents();
  await w.page.keyboard.press("Escape");
  await choose([
    ["Colours of spans", "=id"],
    ["Names in spans", "name"],
    ["Rows", "id"],
  ]);
  out.after = await see(w);
  await w.shot("rows");
  await w.page.getByRole("tab", { name: "Profile" }).click();
  await w.ready();
  out.names = await w.page.locator(".panel tbody tr:not(.room) td:first-child").allInnerTexts();
  // a span of a row has its attributes
  const row = (await w.layout()).rows.find((r) => r.strips.some((s) => s.kind === 0)),
    at = await w.point(row.track, 0, input.time);
  await w.page.mouse.click(at.x, at.y);
  await w.ready();
  out.count = (await w.view()).rows;
  out.details = await w.details();
  out.link = await w.page.evaluate(() => location.hash);
  const other = await open("configure-link", input.url.split("#")[0] + out.link.replace(/&s=[^&]*/, ""));
  out.again = await see(other);
  await other.close();
  out.panels = await panels(w);
  await choose([], "1");
  out.filtered = (await see(w)).rows;
  await choose([
    ["Colours of spans", "region"],
    ["Names in spans", ""],
    ["Rows", ""],
  ]);
  await w.page.getByLabel("Show only rows").fill("");
  out.back = await see(w);
  // two objects alone, from the dialog, from a link, and without them again
  await choose([["Only spans with", "id"]], "", true, "0,1*");
  out.only = { ...(await see(w)), ids: await w.page.evaluate(() => location.hash) };
  await w.shot("only");
  const alone = await open("configure-only", input.url.split("#")[0] + out.only.ids);
  out.onlyLink = (await see(alone)).pixels === out.only.pixels;
  await alone.close();
  const all = w.page.waitForEvent("load");
  await w.page.getByRole("button", { name: /^id=0,1/ }).click();
  await all;
  out.all = (await see(w)).pixels === out.back.pixels;
  // claims of memory M1 as high as their amounts, and all as high as their lanes
  out.heights = await heights(w, open, input, choose);
  // calls in rows by an attribute, from a link
  const calls = await open("configure-calls", input.calls);
  await calls.ready();
  out.calls = { ...(await see(calls)), panels: await panels(calls) };
  await calls.shot("calls");
  out.errors = [...w.errors, ...other.errors, ...calls.errors];
  await calls.close();
  await w.close();
  return out;
}
