// Looks at the panel of differences.

/** rows returns the cells of the rows of the table; the first one of a call path has its whole path. */
function rows(w) {
  return w.page.locator(".panel table tbody tr:not(.room)").evaluateAll((l) => {
    const path = [];
    return l.map((tr) => {
      const cells = [...tr.children].map((td) => td.innerText.trim()),
        level = Number(tr.getAttribute("aria-level") ?? 1);
      path.splice(level - 1, path.length, cells[0].replace(/^[▾▸]\s*/, ""));
      return [path.join(" > "), ...cells.slice(1)];
    });
  });
}

/** choose chooses something in the bar. */
async function choose(w, label, value) {
  await w.page.getByLabel(label).selectOption(value);
  await w.ready();
}

/** summary returns the text above the table. */
function summary(w) {
  return w.page.locator(".panel p").first().innerText();
}

/** several looks at two traces. */
async function several(w) {
  const out = { summary: await summary(w), regions: await rows(w) };
  await w.shot("regions");
  await choose(w, "Which rows are shown", "all");
  out.all = await rows(w);
  await choose(w, "View of the differences", "tree");
  await w.page.getByRole("button", { name: "Open all" }).click();
  await w.ready();
  out.paths = await rows(w);
  await w.shot("tree");
  await choose(w, "Which rows are shown", "");
  out.reported = await rows(w);
  await choose(w, "View of the differences", "flame");
  await w.shot("flame");
  out.boxes = await w.page
    .locator(".flame > div")
    .evaluateAll((l) =>
      l.map((b) => ({ title: b.title, width: parseFloat(b.style.width), color: b.style.backgroundColor })),
    );
  return out;
}

export async function run(input, open) {
  const w = await open("diff", input.url);
  await w.ready();
  const out = await several(w);
  const ranged = await open("diff-range", `${input.url}&r=${input.range.join("~")}`);
  await ranged.ready();
  out.ranged = await rows(ranged);
  // two times of one trace
  const one = await open("diff-one", `${input.one}&r=${input.range.join("~")}`);
  await one.ready();
  await one.page.getByRole("button", { name: "Keep this time as A" }).click();
  await one.ready();
  await one.page.evaluate((r) => {
    location.hash = location.hash.replace(/r=[^&]*/, `r=${r.join("~")}`);
  }, input.later);
  await one.ready();
  await choose(one, "Which rows are shown", "all");
  out.times = await rows(one);
  const none = await open("diff-none", input.none);
  await none.ready();
  out.none = await none.page.locator(".panel").innerText();
  out.errors = [w, ranged, one, none].flatMap((x) => x.errors);
  for (const x of [w, ranged, one, none]) await x.close();
  return out;
}
