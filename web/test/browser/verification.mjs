// Types a specification, looks at the verdicts and at the explanation of a check on the time line.

import { content } from "./page.mjs";

/** rows returns the cells of the table in the panel. */
function rows(w) {
  return w.page
    .locator(".panel tbody tr:not(.room)")
    .evaluateAll((l) => l.map((tr) => [...tr.children].map((td) => td.innerText)));
}

/** extras returns the results on the time lines. */
function extras(w) {
  return w.page.evaluate(() => window.weft.extras());
}

/** inView reports whether the first elements of selectors are in the panel and in all boxes around them. */
function inView(w, selectors) {
  return w.page.evaluate(
    (list) =>
      list.every((selector) => {
        const e = document.querySelector(selector),
          { top, bottom } = e.getBoundingClientRect();
        for (let box = e.parentElement; box.id !== "panel"; box = box.parentElement) {
          const b = box.getBoundingClientRect();
          if (getComputedStyle(box).overflowY === "auto" && (top < b.top || bottom > b.bottom + 1)) return false;
        }
        const p = document.querySelector("#panel").getBoundingClientRect();
        return top >= p.top && bottom <= p.bottom + 1;
      }),
    selectors,
  );
}

/** colour returns the colour of the first row of results at a time. */
async function colour(w, row, time) {
  const v = await w.view(),
    canvas = w.page.locator(".extrarow canvas").nth(row),
    box = await canvas.boundingBox();
  return canvas.evaluate(
    (c, [x, y]) => {
      const [r, g, b] = c.getContext("2d").getImageData(Math.round(x), Math.round(y), 1, 1).data;
      return "#" + [r, g, b].map((n) => n.toString(16).padStart(2, "0")).join("");
    },
    [w.across(box, v, time) - box.x, box.height / 2],
  );
}

export async function run(input, open) {
  const w = await open("verification", input.url),
    area = w.page.getByLabel("Specification", { exact: true });
  await w.page.getByRole("tab", { name: "Verification" }).click();
  await w.ready();
  const out = { whole: await w.view() };
  // an error has a place, and a click on it selects the place
  await area.fill("check a : globally\n  ture");
  await w.page.getByRole("button", { name: "Verify" }).click();
  await w.ready();
  await w.shot("error");
  out.fault = await w.page.locator(".panel .error").innerText();
  await w.page.locator(".panel .error button").click();
  out.selected = await area.evaluate(
    (a) => a.value.slice(0, a.selectionStart).split("\n").length + ":" + a.selectionEnd,
  );
  // a file, with a property in plain words behind it
  await w.page
    .getByLabel("Open a file")
    .setInputFiles({ name: "x.etl", mimeType: "text/plain", buffer: Buffer.from(input.spec) });
  await w.ready();
  await w.page.getByLabel("Add a property in plain words").selectOption("response");
  out.example = (await area.inputValue()).split("\n").at(-1);
  await area.press("Control+Enter");
  await w.ready();
  await w.shot("verdicts");
  out.summary = await w.page.locator(".panel .verdict").innerText();
  out.rows = await rows(w);
  await w.page.getByLabel("robustness").check();
  await w.ready();
  out.robust = (await rows(w)).map((cells) => cells[2]);
  await w.page.getByLabel("robustness").uncheck();
  await w.ready();
  // with the keyboard alone: the violated check is first
  await w.page.locator(".panel tbody tr[tabindex]").first().focus();
  await w.page.keyboard.press("Enter");
  await w.ready();
  await w.shot("explained");
  out.reasons = await w.page.locator(".reasons li").allInnerTexts();
  out.extras = await extras(w);
  out.near = await w.view();
  const bar = out.extras[0].rows[0].bars[0];
  out.colour = await colour(w, 0, bar.from);
  out.address = await w.page.evaluate(() => location.hash);
  // in a small window the first check, the first reason and the field are in view together
  const large = w.page.viewportSize();
  out.small = [];
  for (const height of [721, 760, 800]) {
    await w.page.setViewportSize({ width: 1280, height });
    await w.ready();
    await w.shot(`small-${height}`);
    out.small.push(await inView(w, [".result tbody tr[tabindex]", ".reasons li button", ".spec"]));
  }
  await w.page.setViewportSize(large);
  await w.ready();
  // the picture has the rows, too
  await w.page.getByRole("button", { name: "Picture or table as a file" }).click();
  const [download] = await Promise.all([
    w.page.waitForEvent("download"),
    w.page.getByRole("button", { name: /^SVG/ }).click(),
  ]);
  out.picture = (await content(download)).toString();
  // another page with the same address shows the same
  const other = await open("verification-link", input.url.split("#")[0] + out.address);
  await other.ready();
  out.again = await extras(other);
  // semantics
  await w.page.getByLabel("What a verdict takes from the end").selectOption("4");
  await w.ready();
  out.four = (await rows(w)).map((r) => r[0]);
  // removed with the keyboard
  await w.page.getByRole("button", { name: "Remove from the time line" }).focus();
  await w.page.keyboard.press("Enter");
  await w.ready();
  out.removed = (await extras(w)).length;
  out.errors = [...w.errors, ...other.errors];
  await w.close();
  await other.close();
  return out;
}
