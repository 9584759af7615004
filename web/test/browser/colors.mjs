// Chooses an attribute in the menu of colours, follows the link of that view in another page, and goes back to regions.
import { each } from "./page.mjs";

export const run = (input, open) =>
  each(input.traces, async (t) => {
    const w = await open(t.name, t.url);
    await w.ready();
    await w.page.evaluate(() => {
      location.hash += "&a=0";
    });
    await w.ready();
    const menu = (x) => x.page.getByRole("combobox", { name: "Colours by" });
    const see = async (x) => {
      await x.ready();
      return {
        chosen: await menu(x).inputValue(),
        legend: await x.page.locator(".legend button").allInnerTexts(),
        pixels: (await x.pixels()).data,
        view: await x.view(),
      };
    };
    // the page is loaded again, which is pending until then
    const choose = async (option) => {
      const anew = w.page.waitForEvent("load");
      await menu(w).selectOption(option);
      await anew;
    };
    const out = {
      name: t.name,
      options: await menu(w).locator("optgroup option").allInnerTexts(),
      region: await see(w),
    };
    await choose({ label: t.attribute });
    out.attribute = await see(w);
    await w.shot("attribute");
    const other = await open(t.name + "-link", t.url.split("#")[0] + new URL(w.page.url()).hash);
    out.link = await see(other);
    await choose("region");
    out.back = await see(w);
    out.errors = [...w.errors, ...other.errors];
    await other.close();
    await w.close();
    return out;
  });
