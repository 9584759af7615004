// Looks at why a run is slow: the panel of waits, and where it leads.

/** rows returns the cells of the rows of a table in the panel. */
function rows(w, table) {
  return w.page
    .locator(".panel table")
    .nth(table)
    .locator("tbody tr:not(.room)")
    .evaluateAll((l) => l.map((tr) => [...tr.children].map((td) => td.innerText)));
}

/** panel opens a panel. */
async function panel(w, title) {
  await w.page.getByRole("tab", { name: title }).click();
  await w.ready();
}

/** waits goes through the panel of waits. */
async function waits(w) {
  await panel(w, "Waits");
  await w.shot("waits");
  const out = { patterns: await rows(w, 0), worst: await rows(w, 2) };
  await w.page.getByLabel("Waits are broken down by").selectOption("pairs");
  await w.ready();
  await w.page.locator(".panel table").first().locator("tbody tr").first().click();
  await w.ready();
  out.pairs = await rows(w, 1);
  const second = w.page.locator(".panel table").nth(2).locator("tbody tr").nth(1);
  await second.click();
  await w.ready();
  out.selection = (await w.view()).selection;
  out.details = (await w.details()).facts;
  await second.locator("button").click();
  await w.ready();
  out.cause = (await w.view()).selection;
  out.listed = (await rows(w, 2)).length;
  return out;
}

/** chosenRows returns the first row of a panel for a single location, and for the rows that are shown. */
async function chosenRows(w, title) {
  await panel(w, title);
  const choose = w.page.getByLabel("Rows of this table"),
    out = [];
  for (const label of ["MPI Rank 1 · Master thread", "rows shown", "all rows"]) {
    await choose.selectOption({ label });
    await w.ready();
    out.push((await rows(w, 0))[0]?.slice(0, 3) ?? []);
  }
  return out;
}

/** hidden returns the first row of the panel of waits for the rows that are shown, when a filter hides all but one. */
async function hidden(w) {
  await panel(w, "Waits");
  await w.page.getByLabel("Rows of this table").selectOption("shown");
  await w.page.evaluate(() => (location.hash += "&f=Rank+2"));
  await w.ready();
  return (await rows(w, 0))[0].slice(0, 3);
}

/** findings goes to the place and to the panel of each finding. */
async function findings(w) {
  await panel(w, "Findings");
  await w.shot("findings");
  const out = {
    verdict: await w.page.locator(".panel .verdict").innerText(),
    rows: await rows(w, 0),
    places: [],
    panels: [],
  };
  const find = (i) => w.page.locator(".panel tbody tr").nth(i);
  for (let i = 0; i < out.rows.length; i++) {
    await w.page.keyboard.press("Escape");
    await find(i).locator("b").click();
    await w.ready();
    out.places.push((await w.view()).selection ?? "");
    await find(i).locator("button").click();
    await w.ready();
    out.panels.push(await w.page.locator("[role=tab][aria-selected=true]").innerText());
    await panel(w, "Findings");
  }
  return out;
}

/** efficiency returns the factors of the whole trace and of phases, and the window that a click on a phase shows. */
async function efficiency(w) {
  await w.page.getByRole("button", { name: "use window" }).click();
  await w.page.keyboard.press("Home");
  await panel(w, "Efficiency");
  await w.page.keyboard.press("Escape");
  await w.ready();
  await w.shot("efficiency");
  const out = { whole: await rows(w, 0) };
  const choose = w.page.getByLabel("The time that has the factors");
  await choose.selectOption("time");
  await w.ready();
  await w.shot("efficiency-time");
  out.time = await rows(w, 0);
  await w.page.locator(".panel tbody tr").nth(1).click();
  await w.ready();
  const { from, to } = await w.view();
  out.within = BigInt(from) <= 91n && BigInt(to) >= 182n && BigInt(to) - BigInt(from) < 300n;
  out.kept = (await rows(w, 0))[0];
  await choose.selectOption("visits");
  await w.page.getByLabel("Region whose visits are the phases").fill("work");
  await w.page.keyboard.press("Enter");
  await w.ready();
  out.visits = await rows(w, 0);
  await choose.selectOption("loop");
  await w.ready();
  out.loop = await w.page.locator(".panel .faint").first().innerText();
  await choose.selectOption("");
  await w.ready();
  await w.page.getByRole("button", { name: "use window" }).click();
  await w.page.keyboard.press("Home");
  await w.page.keyboard.press("Escape");
  await w.ready();
  return out;
}

/** over returns the colour that lies over a row at a time, some pixels above its lower edge; "" for none. */
async function over(w, track, time, above) {
  const v = await w.view(),
    row = (await w.layout()).rows.find((r) => r.track === track),
    box = await w.page.locator(".plot").boundingBox();
  return w.page.locator("canvas.over").evaluate(
    (c, [x, y]) => {
      const [r, g, b, a] = c.getContext("2d").getImageData(Math.round(x), Math.round(y), 1, 1).data;
      return a === 0 ? "" : "#" + [r, g, b].map((n) => n.toString(16).padStart(2, "0")).join("");
    },
    [w.across(box, v, time) - box.x, row.y + row.height - above],
  );
}

/** path goes through the panel of the critical path, and looks at its line. */
async function path(w) {
  await panel(w, "Path");
  const line = async () => {
    const out = [];
    // in each piece, and beside the path
    for (const [track, time] of [
      [0, 300],
      [1, 650],
      [2, 850],
      [0, 1100],
      [2, 1500],
      [1, 300],
      [2, 1100],
    ])
      out.push(await over(w, track, time, 4));
    return out;
  };
  const out = { regions: await rows(w, 0), before: await line() };
  // rows out of sight are not made
  await w.page.locator(".panel table").nth(3).scrollIntoViewIfNeeded();
  await w.ready();
  out.pieces = await rows(w, 3);
  await w.page.keyboard.press("p");
  await w.ready();
  out.drawn = await line();
  await w.shot("path");
  await w.page.getByRole("button", { name: "Path" }).click();
  await w.ready();
  out.after = await line();
  // the shortest piece first
  await w.page.locator(".panel table").nth(3).locator("th button").first().click();
  await w.ready();
  await w.page.locator(".panel table").nth(3).locator("tbody tr:not(.room)").first().click();
  await w.ready();
  out.clicked = await over(w, 1, 650, 4);
  out.selection = (await w.view()).selection;
  await w.page.keyboard.press("p");
  await w.ready();
  return out;
}

/** hatched returns the part of a strip from one time to another over which something is drawn. */
async function hatched(w, track, depth, from, to) {
  const v = await w.view(),
    strip = (await w.layout()).rows
      .find((r) => r.track === track)
      .strips.find((s) => s.depth === depth && s.kind === 0),
    box = await w.page.locator(".plot").boundingBox(),
    [a, b] = [from, to].map((t) => Math.round(w.across(box, v, t) - box.x));
  return w.page.locator("canvas.over").evaluate(
    (c, [x, y, wide, high]) => {
      const d = c.getContext("2d").getImageData(x, y, wide, high).data;
      let n = 0;
      for (let i = 3; i < d.length; i += 4) if (d[i] > 0) n++;
      return n / (wide * high);
    },
    [a, strip.y + 1, b - a, strip.height - 2],
  );
}

/** hatching switches the hatching of waits on and off. */
async function hatching(w) {
  await w.page.keyboard.press("Home");
  await w.page.keyboard.press("Escape");
  await w.ready();
  // the pointer draws a line
  await w.page.mouse.move(2, 2);
  const see = async () => {
    await w.frame();
    // while rank 1 waits in MPI_Recv, behind the name; after that; and in main around it
    return [await hatched(w, 1, 2, 450, 590), await hatched(w, 1, 2, 606, 630), await hatched(w, 1, 1, 450, 590)];
  };
  const out = { before: await see() };
  await w.page.keyboard.press("x");
  await w.ready();
  out.on = await see();
  await w.shot("hatching");
  await w.page.getByRole("button", { name: "Waits" }).click();
  await w.page.mouse.move(2, 2);
  await w.ready();
  out.after = await see();
  return out;
}

export async function run(input, open) {
  const w = await open("reasons", input.url);
  await w.ready();
  const out = {
    findings: await findings(w),
    waits: await waits(w),
    efficiency: await efficiency(w),
    path: await path(w),
    hatching: await hatching(w),
    chosen: [
      await chosenRows(w, "Waits"),
      await chosenRows(w, "Efficiency"),
      await chosenRows(w, "Findings"),
      await chosenRows(w, "Path"),
    ],
    hidden: await hidden(w),
  };
  await w.close();
  const second = await open("second finding", input.finding);
  await second.ready();
  const tab = second.page.locator("[role=tab][aria-selected=true]");
  out.second = [(await second.view()).selection, await tab.innerText()];
  out.address = second.page.url();
  await second.close();
  return { ...out, errors: [...w.errors, ...second.errors] };
}
