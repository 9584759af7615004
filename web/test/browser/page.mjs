// What the browser tests share: a script reads one JSON value from its standard input, does with a page what a user
// would, and writes what it saw as JSON. web/browser_test.go starts the scripts and judges what they saw.
import { text } from "node:stream/consumers";
import path from "node:path";
import { chromium } from "playwright-core";

/** script runs work(input, open) in a new browser; open(name, url) gives a watched page. */
export async function script(work) {
  const input = JSON.parse(await text(process.stdin));
  const browser = await chromium.launch({ executablePath: input.chromium, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const open = async (name, url) => {
      const w = new Watched(await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" }), name, input.artifacts);
      await w.watch(url);
      await w.page.goto(url);
      return w;
    };
    process.stdout.write(JSON.stringify(await work(input, open)));
  } finally { await browser.close(); }
}

/** each runs work for all of a list, a few at a time: most of the time is spent waiting. */
export async function each(list, work) {
  const out = Array(list.length), next = list.keys();
  await Promise.all(Array.from({ length: 4 }, async () => { for (const i of next) out[i] = await work(list[i]); }));
  return out;
}

/** Watched is a page that notes whatever goes wrong in it. */
class Watched {
  errors = [];
  shots = 0;
  constructor(page, name, artifacts) { this.page = page; this.name = name; this.artifacts = artifacts; }

  async watch(url) {
    const own = new URL(url).host;
    const note = (what) => { if (this.errors.length < 20) this.errors.push(what); };
    this.page.on("pageerror", (e) => note("page error: " + (e.stack ?? e.message)));
    this.page.on("console", (m) => { if (m.type() === "error") note(`console: ${m.text()} ${m.location().url ?? ""}`); });
    this.page.on("dialog", (d) => { note("dialog: " + d.message()); void d.dismiss(); });
    this.page.on("request", (r) => { const u = new URL(r.url()); if (u.protocol.startsWith("http") && u.host !== own) note("request to " + r.url()); });
    await this.page.addInitScript(() => document.addEventListener("securitypolicyviolation", (e) => console.error(`policy violated: ${e.violatedDirective} by ${e.blockedURI}`)));
  }

  /** frame waits until what was done is drawn, as far as the page has it. */
  frame() { return this.page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))); }
  /** ready waits until nothing is in flight, the last frame is drawn and the URL tells the view. */
  async ready(timeout = 30000) {
    await this.frame();
    try {
      await this.page.waitForFunction(() => document.documentElement.dataset.state === "ready", null, { timeout, polling: 20 });
    } catch (e) {
      await this.shot("never-ready");
      throw new Error(`${this.name}: not ready after ${timeout} ms: ${e.message} ${JSON.stringify(await this.view())} ${this.page.url()} ${this.errors.join("; ")}`);
    }
  }
  view() { return this.page.evaluate(() => window.weft.view()); }
  layout() { return this.page.evaluate(() => window.weft.layout()); }
  details() {
    return this.page.evaluate(() => {
      const d = document.querySelector(".details"), lists = [...d.querySelectorAll("dl")].map((l) => [...l.querySelectorAll("dt")].map((t) => [t.textContent, t.nextElementSibling.textContent]));
      return { title: d.querySelector("h2")?.textContent ?? "", facts: Object.fromEntries(lists[0] ?? []), attributes: lists[1] ?? [], links: [...d.querySelectorAll(".links li")].map((l) => l.innerText), text: d.innerText };
    });
  }
  /** pixels is the canvas as base64 of its RGBA bytes. */
  pixels() {
    return this.page.evaluate(() => {
      const c = document.querySelector("canvas.pixels"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
      let s = "";
      for (let i = 0; i < d.length; i += 0x8000) s += String.fromCharCode(...d.subarray(i, i + 0x8000));
      return { width: c.width, height: c.height, data: btoa(s) };
    });
  }
  async shot(step) { await this.page.screenshot({ path: path.join(this.artifacts, `${this.name}-${++this.shots}-${step}.png`) }); }

  /** point is where a time lies on the strip of a track, in CSS pixels of the window. */
  async point(track, depth, time) {
    const v = await this.view(), box = await this.page.locator(".plot").boundingBox();
    const row = (await this.layout()).rows.find((r) => r.track === track), strip = row?.strips.find((s) => s.depth === depth && s.kind === 0);
    if (!strip) throw new Error(`${this.name}: track ${track}, depth ${depth} is not on the screen`);
    // the difference first: times are beyond what a number holds
    const part = Number((BigInt(time) - BigInt(v.from)) * 1000000n / (BigInt(v.to) - BigInt(v.from))) / 1000000;
    // the edge is where the width of the names is dragged
    return { x: box.x + Math.min(box.width - 1, Math.max(8, part * box.width)), y: box.y + strip.y + strip.height / 2 };
  }
}
