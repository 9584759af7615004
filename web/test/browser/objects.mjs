// Looks at the panels of behaviour, distance and flow, and at what they show on the time line.

/** rows returns the cells of the rows of a table in the panel. */
function rows(w, table = 0) {
  return w.page
    .locator(".panel table")
    .nth(table)
    .locator("tbody tr:not(.room)")
    .evaluateAll((l) => l.map((tr) => [...tr.children].map((td) => td.innerText)));
}

/** panel opens a panel. */
async function panel(w, title) {
  await w.page.getByRole("tab", { name: title, exact: true }).click();
  await w.ready();
}

/** extras returns the results on the time lines. */
function extras(w) {
  return w.page.evaluate(() => window.weft.extras());
}

/** press presses Enter on a row of a table. */
async function press(w, table, row) {
  await w.page.locator(".panel table").nth(table).locator("tbody tr[tabindex]").nth(row).focus();
  await w.page.keyboard.press("Enter");
  await w.ready();
}

/** again returns what a new page with the same address shows. */
async function again(w, open, url) {
  const other = await open("objects-link", url.split("#")[0] + (await w.page.evaluate(() => location.hash)));
  await other.ready();
  const out = await extras(other);
  await other.close();
  return out;
}

async function behaviour(w, open, url) {
  await panel(w, "Behaviour");
  const out = { text: await w.page.locator(".panel p").first().innerText(), rows: await rows(w) };
  await press(w, 0, 0);
  await w.shot("behaviour");
  out.words = await w.page.locator(".reasons li").allInnerTexts();
  out.extras = await extras(w);
  out.view = await w.view();
  // a click on a difference goes there
  await w.page.keyboard.press("Home");
  await w.page.locator(".reasons li button").first().click();
  await w.ready();
  out.there = await w.view();
  out.again = await again(w, open, url);
  await w.page.getByRole("button", { name: "Remove from the time line" }).click();
  await w.ready();
  out.removed = (await extras(w)).length;
  await w.page.getByLabel("What the objects are").selectOption("locations");
  await w.ready();
  out.none = await w.page.locator(".panel").innerText();
  return out;
}

async function distance(w, open, url) {
  await panel(w, "Distance");
  const out = { rows: await rows(w) };
  await press(w, 0, 0);
  await w.shot("distance");
  out.words = await w.page.locator(".reasons li").allInnerTexts();
  out.extras = await extras(w);
  out.again = await again(w, open, url);
  await w.page.getByRole("button", { name: "Remove from the time line" }).first().click();
  await w.ready();
  out.removed = (await extras(w)).length;
  return out;
}

async function flow(w, open, url) {
  await panel(w, "Flow");
  await w.page.getByLabel("Time unit of throughput").selectOption("ms");
  await w.ready();
  const out = { text: await w.page.locator(".panel p").first().innerText(), signals: await rows(w, 0) };
  out.latencies = await rows(w, 1);
  out.longest = await rows(w, 3);
  await w.page.keyboard.press("Home");
  await press(w, 0, 1);
  await w.shot("flow");
  out.extras = await extras(w);
  out.again = await again(w, open, url);
  await press(w, 0, 0);
  out.both = (await extras(w))[0].rows.map((r) => r.label);
  await w.page.getByRole("button", { name: "Remove from the time line" }).click();
  await w.ready();
  out.removed = (await extras(w)).length;
  const begin = w.page.getByLabel("Events at which objects enter");
  await begin.fill("{'name' = ");
  await begin.press("Enter");
  await w.ready();
  out.fault = await w.page.locator(".panel .error").innerText();
  const [first, last] = [begin, w.page.getByLabel("Events at which objects leave")];
  await first.fill("start A");
  await first.press("Enter");
  await w.ready();
  await last.fill("end G");
  await last.press("Enter");
  await w.ready();
  out.chosen = await rows(w, 0);
  return out;
}

/** messages looks at the panel Flow of a trace in which the messages are the objects. */
async function messages(w) {
  await panel(w, "Flow");
  await w.page.getByLabel("What the objects are").selectOption("messages");
  await w.page.getByLabel("Time unit of throughput").selectOption("ms");
  await w.ready();
  return rows(w, 0);
}

/** choose shows the range of a page in a panel. */
async function choose(w, title) {
  await panel(w, title);
  await w.page.getByLabel("Time of this table").selectOption("window");
  await w.ready();
}

/** ranged looks at the panels for a range of the trace, and at what a click and a link make of it. */
async function ranged(open, input) {
  const w = await open("objects-range", `${input.url}&r=${input.range.join("~")}`);
  await w.ready();
  await choose(w, "Behaviour");
  const out = { scope: await w.page.locator(".scope .what").innerText(), behaviour: await rows(w) };
  await press(w, 0, 0);
  await choose(w, "Flow");
  await w.page.getByLabel("Time unit of throughput").selectOption("ms");
  await w.ready();
  out.flow = await rows(w, 0);
  await press(w, 0, 1);
  await choose(w, "Verification");
  await w.page.getByRole("textbox", { name: "Specification" }).fill(input.spec);
  await w.page.getByRole("button", { name: /^Verify/ }).click();
  await w.ready();
  out.verification = await rows(w);
  out.summary = await w.page.locator(".panel .verdict").first().innerText();
  await w.shot("range");
  out.extras = await extras(w);
  out.again = await again(w, open, input.url);
  // without a range the panel follows the window, and the whole trace is a choice, too
  await w.page.getByRole("button", { name: "use window" }).click();
  await w.page.keyboard.press("Home");
  await w.ready();
  out.all = await w.page.locator(".panel .verdict").first().innerText();
  await w.page.getByLabel("Time of this table").selectOption("");
  await w.ready();
  out.whole = await w.page.locator(".panel .verdict").first().innerText();
  const two = await open("objects-range-two", `${input.two}&r=${input.ordered.join("~")}`);
  await two.ready();
  await choose(two, "Distance");
  out.distance = await rows(two);
  out.errors = [...w.errors, ...two.errors];
  await w.close();
  await two.close();
  return out;
}

export async function run(input, open) {
  const w = await open("objects", input.url);
  await w.ready();
  const out = { behaviour: await behaviour(w, open, input.url), flow: await flow(w, open, input.url) };
  const two = await open("objects-two", input.two);
  await two.ready();
  out.distance = await distance(two, open, input.two);
  out.ranged = await ranged(open, input);
  const hand = await open("objects-messages", input.messages);
  await hand.ready();
  out.messages = await messages(hand);
  out.errors = [...w.errors, ...two.errors, ...hand.errors, ...out.ranged.errors];
  await w.close();
  await hand.close();
  await two.close();
  return out;
}
