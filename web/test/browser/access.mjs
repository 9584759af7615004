// Goes through the page with the keyboard: what axe finds, where Tab leads, what keys do, and what
// screen readers get.
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** check runs axe on the current page. */
async function check(w, state, out) {
  await w.ready();
  await judge(w, state, out);
}

/** judge runs axe on any page. */
async function judge(w, state, out) {
  await w.page.evaluate(axe);
  const r = await w.page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const v of r.violations)
    out.push({
      state,
      rule: v.id,
      impact: v.impact ?? "",
      help: v.help,
      nodes: v.nodes
        .slice(0, 4)
        .map((n) => n.html.slice(0, 160) + " " + (n.failureSummary ?? "").replace(/\s+/g, " ").slice(0, 200)),
    });
  await w.shot(state.replace(/\W+/g, "-"));
}

/** focused describes the focused element, and whether it is visible. */
function focused(w) {
  return w.page.evaluate(() => {
    const e = document.activeElement;
    if (!e || e === document.body) return { name: "", role: "", seen: false };
    const c = getComputedStyle(e),
      box = e.getBoundingClientRect();
    const outline = (c.outlineStyle !== "none" && parseFloat(c.outlineWidth) > 0) || e.matches(".splitter, .labelgrip");
    return {
      name: e.getAttribute("aria-label") ?? e.textContent.slice(0, 40),
      role: e.getAttribute("role") ?? e.tagName.toLowerCase(),
      region: ["header", ".legend", ".top", "main", ".splitter", ".tabs", ".scope", ".panel", ".details"].findIndex(
        (s) => e.closest(s),
      ),
      seen: outline && box.width > 0 && box.height > 0,
    };
  });
}

export async function run(input, open) {
  const violations = [],
    w = await open("access", input.url);
  await check(w, "whole", violations);
  // the tooltip describes what the pointer is over
  const row = (await w.layout()).rows.find((r) => r.track >= 0 && r.strips.some((s) => s.kind === 0)),
    box = await w.page.locator(".plot").boundingBox();
  await w.page.mouse.move(box.x + box.width / 2, box.y + row.y + row.height / 2);
  await w.page.waitForSelector(".tip:visible");
  await check(w, "pointer", violations);
  await w.page.mouse.move(2, 2);
  const stops = await tabStops(w);
  const acts = await operate(w, input.search, violations);
  const small = await open("access-small", input.small);
  const outside = await outsideOfPanels(small, violations);
  const long = await open("access-long", input.long);
  outside.push(...(await resultsOutside(long)));
  // the page of weft report is no wider than a narrow window
  const report = await open("access-report", input.report),
    narrow = 320;
  await report.page.setViewportSize({ width: narrow, height: 600 });
  const wide = await report.page.evaluate(() => document.documentElement.scrollWidth);
  await judge(report, "report", violations);
  if (wide > narrow) outside.push(`the report, ${wide} pixels wide in a window of ${narrow},`);
  const list = await open("access-list", input.folder);
  await list.page.waitForSelector("main.start");
  await check(list, "list of traces", violations);
  const errors = [w, small, long, report, list].flatMap((page) => page.errors);
  return { violations, stops, acts, outside, errors };
}

/** tabStops presses Tab from the top of the page until the keyboard leaves it, and returns what had the focus. */
async function tabStops(w) {
  const stops = [];
  await w.page.evaluate(() => {
    const d = document.createElement("div");
    d.tabIndex = -1;
    document.body.prepend(d);
    d.focus();
  });
  for (let i = 0; i < 120; i++) {
    await w.page.keyboard.press("Tab");
    const f = await focused(w);
    if (f.name === "" && f.role === "") break;
    if (stops.length > 2 && stops[0].name === f.name && stops[0].role === f.role) break;
    stops.push(f);
  }
  return stops;
}

/** operate uses the page without the mouse. It returns what the page showed and had in focus after the steps. */
async function operate(w, search, violations) {
  const text = (selector) => w.page.locator(selector).first().innerText();
  const said = () => text("footer .message");
  const acts = {};
  // a span without the mouse
  await w.page.locator(".plot").focus();
  await w.page.keyboard.press("Enter");
  await w.page.waitForFunction(() => window.weft.view().selection !== null);
  await w.ready();
  acts.selected = await said();
  acts.live = await w.page.locator("footer .message").getAttribute("aria-live");
  acts.title = await text(".details h2");
  await check(w, "selection", violations);
  await w.page.keyboard.press("Escape");
  acts.dropped = (await w.view()).selection;
  // tabs
  await w.page.locator("[role=tab][aria-selected=true]").focus();
  await w.page.keyboard.press("ArrowRight");
  await w.ready();
  acts.tab = await w.page.evaluate(() => {
    const t = document.activeElement;
    return {
      selected: t?.getAttribute("aria-selected"),
      panel: document.getElementById(t?.getAttribute("aria-controls") ?? "")?.getAttribute("aria-labelledby") === t?.id,
    };
  });
  for (const tab of await w.page.locator("[role=tab]").all()) {
    await tab.focus();
    await w.page.keyboard.press("Enter");
    await check(w, "panel " + (await tab.innerText()), violations);
  }
  // results on the time line
  await w.page.evaluate(
    (q) => {
      location.hash += q;
    },
    "&v=verification.spec:--never+" + search + "_Barrier&v=verification.check:0+never",
  );
  await w.page.waitForSelector(".extras button");
  await check(w, "results", violations);
  // the search, its list and the way back
  await w.page.locator(".plot").focus();
  await w.page.keyboard.press("/");
  await w.page.keyboard.type(search);
  await w.page.waitForSelector(".found [role=option]");
  await check(w, "search", violations);
  await w.page.keyboard.type(" that nothing is called");
  await w.page.waitForSelector(".found .none");
  await check(w, "search without results", violations);
  await w.page.keyboard.press("Escape");
  acts.searchClosed = await w.page.locator(".found:visible").count();
  // menus return the focus
  const opener = w.page.getByRole("button", { name: "Picture or table as a file" });
  await opener.focus();
  await w.page.keyboard.press("Enter");
  await check(w, "export", violations);
  acts.inMenu = await w.page.evaluate(() => document.activeElement?.closest("dialog") !== null);
  await w.page.keyboard.press("Escape");
  acts.afterMenu = (await focused(w)).name;
  await w.page.locator(".label[tabindex='0']").focus();
  const label = (await focused(w)).name;
  await w.page.keyboard.press("Shift+F10");
  await check(w, "row menu", violations);
  await w.page.keyboard.press("Escape");
  acts.afterRowMenu = (await focused(w)).name === label;
  await w.page.getByRole("button", { name: "Keys and mouse (?)" }).focus();
  await w.page.keyboard.press("Space");
  await check(w, "help", violations);
  await w.page.keyboard.press("Escape");
  acts.afterHelp = (await focused(w)).name;
  acts.dialogs = await w.page.locator("dialog[open]").count();
  await w.page.evaluate(() => {
    location.hash += "&theme=dark";
  });
  await check(w, "dark", violations);
  return acts;
}

/**
 * outsideOfPanels checks the panels of two traces on a small screen; the first trace has no calls. It returns the
 * controls that extend beyond their panel.
 */
async function outsideOfPanels(small, violations) {
  const size = small.page.viewportSize(),
    outside = [];
  await small.page.setViewportSize({ width: 800, height: 600 });
  await small.ready();
  for (const tab of await small.page.locator("[role=tab]").all()) {
    await tab.click();
    const panel = "small panel " + (await tab.innerText());
    await check(small, panel, violations);
    const left = await small.page.evaluate(() => {
      const end = document.querySelector(".dockmain").getBoundingClientRect().right;
      return [...document.querySelectorAll(".scope button, .scope select, .scope input")]
        .filter((e) => e.getBoundingClientRect().right > end)
        .map((e) => e.title || e.ariaLabel || e.placeholder || e.textContent);
    });
    outside.push(...left.map((name) => `${panel}: ${name}`));
  }
  await small.page.setViewportSize(size);
  return outside;
}

/** resultsOutside returns the results of a search that extend beyond a narrow window. */
async function resultsOutside(long) {
  const size = long.page.viewportSize(),
    outside = [];
  for (const width of [1280, 450, 360]) {
    await long.page.setViewportSize({ width, height: 600 });
    for (const text of ["a long name", "nothing is called so"]) {
      await long.page.locator(".search input").fill(text);
      await long.page.waitForSelector(".found:visible");
      const found = await long.page.locator(".found").boundingBox();
      if (found.x < 0 || found.x + found.width > width) outside.push(`the result for "${text}" (${width} pixels)`);
    }
  }
  await long.page.setViewportSize(size);
  return outside;
}
