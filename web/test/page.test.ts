// The page in a browser, over the mock server; skipped where there is no Chromium or the page is not built.
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { samples, serve } from "./mock";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const built = existsSync(path.join(path.dirname(fileURLToPath(import.meta.url)), "../dist/app.js"));

describe.skipIf(!existsSync(executablePath) || !built)("the page", () => {
  let browser: Browser, page: Page, url = "", close: () => Promise<void>;
  const errors: string[] = [];
  const ready = async (): Promise<void> => { await page.waitForTimeout(60); await page.waitForFunction(() => document.documentElement.dataset.state === "ready"); };
  const open = async (fragment: string): Promise<void> => { await page.goto("about:blank"); await page.goto(url + fragment); await page.waitForTimeout(150); await ready(); };
  const view = (): Promise<{ from: string; to: string; rows: number; selection: string | null; sharp: boolean; width: number }> => page.evaluate(() => window.weft.view());

  beforeAll(async () => {
    const s = await serve(samples());
    url = `http://127.0.0.1:${s.port}/`; close = s.close;
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    page.on("pageerror", (e) => errors.push(e.message));
    page.on("dialog", (d) => { errors.push("dialog " + d.message()); void d.dismiss(); });
  });
  afterAll(async () => { await browser.close(); await close(); });

  test("lists several traces, tells why one failed", async () => {
    await open("");
    expect(await page.locator("main.start").innerText()).toContain("ring.otf2");
    await open("#t=f1");
    expect(await page.locator("main.start").innerText()).toContain("the file ends at byte 812");
  });

  test("shows the whole trace in full resolution, names as text", async () => {
    await open("#t=a1");
    const v = await view();
    expect(v.from).toBe("0");
    expect(v.sharp).toBe(true);
    expect(v.rows).toBeGreaterThan(64);
    expect(await page.locator(".legend").innerText()).toContain("<img src=x onerror=alert(1)>");
    expect(await page.locator("img").count()).toBe(0);
  });

  test("pixels are the regions' colours", async () => {
    await open("#t=a1&l=1&sh=18");
    // the first level is one span of main: blue from its start to its end
    const pixel = await page.evaluate(() => { const c = document.querySelector<HTMLCanvasElement>(".pixels"); const y = 18 + 18 + 8; return [...(c?.getContext("2d")?.getImageData(400, y, 1, 1).data ?? [])]; });
    expect(pixel).toEqual([0, 0x72, 0xb2, 255]);
  });

  test("wheel zooms at the pointer, the URL keeps it, back goes back", async () => {
    await open("#t=a1");
    const box = await page.locator(".plot").boundingBox();
    if (!box) throw new Error("no time line");
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    await page.mouse.wheel(0, -300);
    await page.waitForTimeout(700);
    await ready();
    const z = await view();
    expect(Number(z.to) - Number(z.from)).toBeLessThan(6000000);
    expect(page.url()).toContain(`w=${z.from}~${z.to}`);
    const link = page.url();
    await page.goBack();
    await page.waitForTimeout(200);
    await ready();
    expect((await view()).from).toBe("0");
    await open(link.slice(link.indexOf("#")));
    expect(await view()).toMatchObject({ from: z.from, to: z.to });
  });

  test("a click selects, keys go on, the details are exact", async () => {
    await open("#t=a1&w=681017~822625&sh=18");
    const box = await page.locator(".plot").boundingBox();
    if (!box) throw new Error("no time line");
    await page.mouse.click(box.x + 100, box.y + 36 + 2 + 3 * 18 + 8);
    await page.waitForTimeout(100);
    await ready();
    expect((await view()).selection).toMatch(/^0\.0\.3\./);
    const details = await page.locator(".details").innerText();
    expect(details).toContain("kernel_b");
    expect(details).toContain("<b>not bold</b>");
    const before = (await view()).selection;
    await page.keyboard.press("n");
    await page.waitForTimeout(100);
    await ready();
    expect((await view()).selection).not.toBe(before);
    await page.keyboard.press("ArrowUp");
    await page.waitForTimeout(100);
    await ready();
    expect((await view()).selection).toMatch(/^0\.0\.2\./);
  });

  test.each(["overview", "profile", "calltree", "flame", "messages", "locations", "utilisation", "structure", "defects", "notes"])("panel %s fills", async (id) => {
    await open(`#t=a1&p=${id}`);
    const panel = page.locator("#panel");
    expect(await panel.locator(".error").count()).toBe(0);
    expect((await panel.innerText()).length).toBeGreaterThan(3);
  });

  test("two traces share the axis", async () => {
    await open("#t=a1,b2&p=compare");
    expect(await page.locator(".lane").count()).toBe(2);
    expect(await page.locator("#panel").innerText()).toContain("MPI_Allreduce");
  });

  test("a bookmark is kept", async () => {
    await open("#t=a1");
    await page.locator(".plot").focus();
    await page.keyboard.press("b");
    await page.waitForTimeout(100);
    await ready();
    await page.locator("#panel textarea").fill("slow <b>here</b>");
    await page.keyboard.press("Tab");
    await page.waitForTimeout(100);
    await ready();
    await open("#t=a1&p=notes");
    expect(await page.locator("#panel textarea").inputValue()).toBe("slow <b>here</b>");
  });

  test("panning keeps the main thread free", async () => {
    await open("#t=a1&w=1000000~3000000&a=1");
    await page.evaluate(() => { const w = window as unknown as { long: number[] }; w.long = []; new PerformanceObserver((l) => { for (const e of l.getEntries()) w.long.push(e.duration); }).observe({ entryTypes: ["longtask"] }); });
    await page.locator(".plot").focus();
    await page.keyboard.down("d");
    await page.waitForTimeout(700);
    await page.keyboard.up("d");
    await ready();
    const long = await page.evaluate(() => (window as unknown as { long: number[] }).long.filter((d) => d > 100));
    expect(long).toEqual([]);
    const cost = await page.evaluate(() => window.weft.frames().map((f) => f.cost).sort((a, b) => a - b));
    expect(cost[Math.floor(cost.length / 2)]).toBeLessThan(33);
  });

  test("nothing was thrown", () => expect(errors).toEqual([]));
});
