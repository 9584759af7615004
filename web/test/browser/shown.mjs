// Checks that the page shows what is in traces: spans of few ticks, levels beyond the drawn ones,
// defects, long names, two traces.
import { content } from "./page.mjs";

/** at shows a window. */
async function at(w, from, to) {
  await w.page.evaluate(
    ([a, b]) => {
      location.hash = `${location.hash.replace(/&?w=[^&]*/, "")}&w=${a}~${b}`;
    },
    [from, to],
  );
  await w.ready();
}

/**
 * ticks points at each tick of some windows and clicks shortly after its begin, in its middle and
 * shortly before its end.
 */
async function ticks(open, url) {
  const w = await open("ticks", url),
    out = [];
  await w.ready();
  for (const [from, to] of [
    [0, 8],
    [2, 13],
  ]) {
    await at(w, from, to);
    const box = await w.page.locator(".plot").boundingBox(),
      strip = (await w.layout()).rows.flatMap((r) => r.strips).find((s) => s.depth === 1 && s.kind === 0);
    for (let tick = from; tick < to && tick < 12; tick++)
      for (const part of [0.1, 0.5, 0.9]) {
        const x = box.x + ((tick + part - from) / (to - from)) * box.width,
          y = box.y + strip.y + strip.height / 2;
        await w.page.mouse.move(x, y);
        await w.ready();
        const tip = await w.page.locator(".tip").evaluate((e) => (e.hidden ? "" : e.innerText));
        await w.page.mouse.click(x, y);
        await w.ready();
        const d = await w.details();
        out.push({
          window: `${from}~${to}`,
          tick,
          part,
          tip,
          title: d.title,
          start: d.facts.start ?? "",
          end: d.facts.end ?? "",
        });
      }
  }
  await w.close();
  return { picks: out, errors: w.errors };
}

/** levels returns the text beside the name of a row. */
async function levels(open, url) {
  const w = await open("levels", url),
    mark = () =>
      w.page
        .locator(".label .more")
        .first()
        .evaluate((e) => ({ mark: e.dataset.text, title: e.title }));
  await w.ready();
  const before = await mark();
  await w.page.locator(".label .more").first().click();
  await w.ready();
  const after = await mark();
  await w.shot("all");
  await w.close();
  return { before, after };
}

/** defects returns the text about defects on the first screen, and where a click on it leads. */
async function defects(open, url) {
  const w = await open("defects", url),
    button = w.page.locator(".status .defects");
  await w.ready();
  await w.shot("first");
  const shown = await button.isVisible(),
    words = shown ? await button.innerText() : "",
    tab = await w.page.locator("#tab-defects").innerText(),
    rows = [];
  if (shown) {
    await button.click();
    await w.ready();
    rows.push(...(await w.page.locator(".panel tbody tr td:first-child").allInnerTexts()));
  }
  const selected = await w.page.locator("[role=tab][aria-selected=true]").innerText();
  await w.close();
  return { shown, words, tab, selected, rows };
}

/**
 * pictures exports a picture of each kind, and returns its size and the number of letters measured
 * for it.
 */
async function pictures(open, url) {
  const w = await open("names", url),
    out = { errors: w.errors };
  await w.ready();
  await w.page.evaluate(() => {
    const measure = CanvasRenderingContext2D.prototype.measureText;
    CanvasRenderingContext2D.prototype.measureText = function (text) {
      window.measured += text.length;
      return measure.call(this, text);
    };
  });
  for (const kind of ["PNG", "SVG"]) {
    await w.page.getByRole("button", { name: "Picture or table as a file" }).click();
    await w.page.evaluate(() => {
      window.measured = 0;
    });
    const [file] = await Promise.all([
      w.page.waitForEvent("download"),
      w.page.locator("dialog button", { hasText: kind }).click(),
    ]);
    out[kind] = { letters: await w.page.evaluate(() => window.measured), bytes: (await content(file)).length };
  }
  await w.close();
  return out;
}

/** minimap returns which of its lines have colours, from top to bottom, as fractions of its height. */
async function minimap(open, url) {
  const w = await open("two", url);
  await w.ready();
  await w.shot("minimap");
  const lines = await w.page.locator(".minimap canvas").evaluate((c) => {
    const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data,
      out = [];
    // grey is not a colour of a region
    for (let y = 0; y < c.height; y++) {
      let n = 0;
      for (let x = 0; x < c.width; x++) {
        const o = 4 * (y * c.width + x);
        if (Math.max(d[o], d[o + 1], d[o + 2]) - Math.min(d[o], d[o + 1], d[o + 2]) > 60) n++;
      }
      out.push(n / c.width);
    }
    return out;
  });
  await w.close();
  return lines;
}

/**
 * again selects a bundle of messages and opens call paths of the second trace. It returns what is
 * shown then, and in a new page of the same address.
 */
async function again(open, url) {
  const w = await open("again", url);
  await w.ready();
  await w.page.evaluate(() => {
    location.hash = `${location.hash}&a=1&p=calltree`;
  });
  await w.ready();
  const box = await w.page.locator(".plot").first().boundingBox(),
    bundle = (await w.layout()).arrows.find((a) => a.count > 9);
  await w.page.mouse.click(box.x + (bundle.x0 + bundle.x1) / 2, box.y + (bundle.y0 + bundle.y1) / 2);
  await w.ready();
  await w.page.getByLabel("Trace of this table").selectOption("1");
  await w.ready();
  await w.page.getByRole("button", { name: "Close all" }).click();
  await w.page.locator(".panel tr[data-path] .twist").first().click();
  await w.ready();
  const seen = async (p) => ({
    details: (await p.details()).text,
    paths: await p.page
      .locator(".panel tr[data-path]")
      .evaluateAll((l) => l.map((tr) => `${tr.dataset.path} ${tr.getAttribute("aria-expanded")}`)),
    trace: await p.page.getByLabel("Trace of this table").inputValue(),
  });
  const first = await seen(w);
  const v = await open("again", url.split("#")[0] + (await w.page.evaluate(() => location.hash)));
  await v.ready();
  const second = await seen(v);
  await v.shot("linked");
  // beyond the end of the second trace nothing is pending
  const x = await open("behind", url.split("#")[0] + "#" + new URL(url).hash.slice(1) + "&w=100000000~150000000");
  await x.ready();
  await x.close();
  await w.close();
  await v.close();
  return { first, second, errors: [...w.errors, ...v.errors, ...x.errors] };
}

/** steps presses an arrow key at some calls, in some windows, and returns what each selects. */
async function steps(open, url) {
  const w = await open("steps", url),
    selections = [];
  await w.ready();
  const start = await w.page.evaluate(() => location.hash);
  for (const [key, window, span] of [
    ["ArrowLeft", "0~4000000", "1.2200000"],
    ["ArrowRight", "0~4000000", "1.2200000"],
    ["ArrowDown", "2500100~2600000", "0.2550000"],
    ["ArrowDown", "0~4000000", "1.3200000"],
  ]) {
    await w.page.evaluate(
      ([hash, window, span]) => {
        location.hash = `${hash.replace(/&?w=[^&]*/, "")}&w=${window}&s=0.0.${span}`;
      },
      [start, window, span],
    );
    await w.ready();
    await w.page.keyboard.press(key);
    await w.ready();
    selections.push((await w.view()).selection);
  }
  await w.close();
  return { selections, errors: w.errors };
}

export const run = async (input, open) => ({
  ticks: await ticks(open, input.ticks),
  levels: await levels(open, input.levels),
  sound: await defects(open, input.sound),
  damaged: await defects(open, input.damaged),
  pictures: await pictures(open, input.names),
  minimap: await minimap(open, input.two),
  again: await again(open, input.again),
  steps: await steps(open, input.steps),
});
