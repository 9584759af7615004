// Helpers of the browser tests. A script acts on a page like a user, and returns what it saw.
// driver.mjs runs the scripts; the Go tests start them and judge the results.
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { rest } from "./rest.mjs";

/** content returns a download, wherever the browser runs. */
export async function content(download) {
  return buffer(await download.createReadStream());
}

/** each runs work for all items of a list, a few at a time, because most of the time is spent waiting. */
export async function each(list, work) {
  const out = Array(list.length),
    next = list.keys();
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (const i of next) out[i] = await work(list[i]);
    }),
  );
  return out;
}

/** Watched is a page that records all errors in it. */
export class Watched {
  errors = [];
  shots = 0;
  /** waits has the pending work at the last look. */
  waits = [];
  /** free reports whether the page is closed and may be opened again. */
  free = false;
  constructor(page, artifacts) {
    this.page = page;
    this.artifacts = artifacts;
  }

  /** watch records errors from now on. */
  async watch() {
    const note = (what) => {
      if (this.errors.length < 20) this.errors.push(what);
    };
    this.page.on("pageerror", (e) => note("page error: " + (e.stack ?? e.message)));
    this.page.on("console", (m) => {
      if (m.type() === "error") note(`console: ${m.text()} ${m.location().url ?? ""}`);
    });
    this.page.on("dialog", (d) => {
      note("dialog: " + d.message());
      void d.dismiss();
    });
    this.page.on("request", (r) => {
      const u = new URL(r.url());
      if (u.protocol.startsWith("http") && u.host !== this.host) note("request to " + r.url());
    });
    await this.page.addInitScript(() =>
      document.addEventListener("securitypolicyviolation", (e) =>
        console.error(`policy violated: ${e.violatedDirective} by ${e.blockedURI}`),
      ),
    );
  }

  /** begin opens an address. */
  async begin(name, url) {
    this.name = name;
    this.errors = [];
    this.shots = 0;
    this.host = new URL(url).host;
    await this.page.goto(url);
  }
  /** close leaves the page and clears its storage. */
  async close() {
    await this.page.unrouteAll();
    await this.page.evaluate(() => {
      localStorage.clear();
      sessionStorage.clear();
    });
    await this.page.goto("about:blank");
    this.free = true;
  }
  /** end closes the page at once. */
  end() {
    return this.page.context().close();
  }

  /** frame waits until the page has drawn its data, and returns the view. */
  frame() {
    return this.page.evaluate(
      () => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(window.weft.view())))),
    );
  }
  /** ready waits until nothing is pending in the page. */
  ready() {
    return rest(this.page, (left) => {
      this.waits = left;
    });
  }
  view() {
    return this.page.evaluate(() => window.weft.view());
  }
  layout() {
    return this.page.evaluate(() => window.weft.layout());
  }
  details() {
    return this.page.evaluate(() => {
      const d = document.querySelector(".details"),
        lists = [...d.querySelectorAll("dl")].map((l) =>
          [...l.querySelectorAll("dt")].map((t) => [t.textContent, t.nextElementSibling.textContent]),
        );
      return {
        title: d.querySelector("h2")?.textContent ?? "",
        facts: Object.fromEntries(lists[0] ?? []),
        attributes: lists[1] ?? [],
        links: [...d.querySelectorAll(".links li")].map((l) => l.innerText),
        text: d.innerText,
      };
    });
  }
  /** pixels returns the canvas: its RGBA bytes as gzip in base64. */
  pixels() {
    return this.page.evaluate(async () => {
      const c = document.querySelector("canvas.pixels"),
        { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
      const zip = new Blob([data]).stream().pipeThrough(new CompressionStream("gzip"));
      const d = new Uint8Array(await new Response(zip).arrayBuffer());
      let s = "";
      for (let i = 0; i < d.length; i += 0x8000) s += String.fromCharCode(...d.subarray(i, i + 0x8000));
      return { width: c.width, height: c.height, data: btoa(s) };
    });
  }
  /** shot saves a picture if pictures are wanted. */
  async shot(step) {
    if (this.artifacts)
      await this.page.screenshot({ path: path.join(this.artifacts, `${this.name}-${++this.shots}-${step}.png`) });
  }

  /** point returns where a time is on the strip of a track, in CSS pixels of the window. */
  async point(track, depth, time) {
    const v = await this.view(),
      box = await this.page.locator(".plot").boundingBox();
    const row = (await this.layout()).rows.find((r) => r.track === track),
      strip = row?.strips.find((s) => s.depth === depth && s.kind === 0);
    if (!strip) throw new Error(`${this.name}: track ${track}, depth ${depth} is not on the screen`);
    return { x: this.across(box, v, time), y: box.y + strip.y + strip.height / 2 };
  }

  /** across returns the horizontal position of a time in a view. */
  across(box, view, time) {
    // subtract first: times exceed the range of numbers
    const part =
      Number(((BigInt(time) - BigInt(view.from)) * 1000000n) / (BigInt(view.to) - BigInt(view.from))) / 1000000;
    // stay away from the edge, which changes the width of the names
    return box.x + Math.min(box.width - 1, Math.max(8, part * box.width));
  }
}
