// Chooses an attribute in the menu of colours, follows the link of that view in another page, and goes back to regions.
import { each, script } from "./page.mjs";

await script((input, open) => each(input.traces, async (t) => {
  const w = await open(t.name, t.url);
  await w.ready();
  await w.page.evaluate(() => { location.hash += "&a=0"; });
  await w.ready();
  const menu = (x) => x.page.getByRole("combobox", { name: "Colours by" });
  const see = async (x) => { await x.ready(); return { chosen: await menu(x).inputValue(), legend: await x.page.locator(".legend button").allInnerTexts(), pixels: (await x.pixels()).data, view: await x.view() }; };
  // the page is loaded anew; the one before has the same address for a moment
  const choose = async (option) => { await w.page.evaluate(() => { window.before = true; }); await menu(w).selectOption(option); };
  const chosen = (value, other) => w.page.waitForFunction(([v, o]) => window.before === undefined && /t=[^&]*~/.test(location.hash) === o && document.querySelector(".plot") && document.querySelector("select optgroup")?.closest("select").value === v, [value, other], { timeout: 20000, polling: 50 });
  const out = { name: t.name, options: await menu(w).locator("optgroup option").allInnerTexts(), region: await see(w) };
  await choose({ label: t.attribute });
  await chosen("=" + t.attribute, true);
  out.attribute = await see(w);
  await w.shot("attribute");
  const other = await open(t.name + "-link", t.url + new URL(w.page.url()).hash);
  await other.page.waitForSelector(".plot");
  out.link = await see(other);
  await choose("region");
  await chosen("region", false);
  out.back = await see(w);
  out.errors = [...w.errors, ...other.errors];
  await other.page.close();
  await w.page.close();
  return out;
}));
