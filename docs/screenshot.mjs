// Makes the pictures of the viewer in the documents, from a trace of the repository: docs/viewer.png and, if asked
// for, one in dark colours. See "make screenshot".
//
//   node docs/screenshot.mjs bin/weft TRACE docs/viewer.png [docs/viewer-dark.png]
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const { chromium } = createRequire(new URL("../web/package.json", import.meta.url))("playwright-core");
const [weft, trace, light, dark] = process.argv.slice(2);
const cache = await mkdtemp(path.join(tmpdir(), "weft-"));
const server = spawn(weft, ["view", "--no-open", "--quiet", trace], {
  stdio: ["ignore", "pipe", "inherit"],
  env: { ...process.env, WEFT_CACHE: cache },
});
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", resolve);
    server.once("exit", (code) => reject(new Error(`${weft} ended with ${code}`)));
  });
  const page = await browser.newPage({ viewport: { width: 1180, height: 720 }, deviceScaleFactor: 2 });
  const ready = async () => {
    await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
    await page.waitForFunction(() => document.documentElement.dataset.state === "ready");
  };
  await page.goto(address);
  await ready();
  const {
    traces: [id],
    tracks,
  } = await page.evaluate(() => window.weft.view());
  const rank = await page.evaluate(
    () => window.weft.layout().rows.find((r) => r.strips.some((s) => s.kind === 0)).track,
  );
  if (!tracks.includes(rank)) throw new Error(`${trace} shows no spans`);
  // one counter of each rank is enough
  const hidden = await page.evaluate(
    async (trace) =>
      (await (await fetch(`api/traces/${trace}`)).json()).tracks.flatMap((t, i) =>
        ["markers", "user time"].includes(t.name) ? [`0/t${i}`] : [],
      ),
    id,
  );
  for (const [file, theme] of [
    [light, "light"],
    [dark, "dark"],
  ]) {
    if (!file) continue;
    // some iterations of the computation, with the messages between the ranks and the waits for them
    await page.evaluate((f) => {
      location.hash = f;
    }, `t=${id}&w=2040000~2420000&s=0.${rank}.0.2200000&h=${hidden.join()}&sh=18&a=1&d=196&theme=${theme}`);
    await ready();
    await page.screenshot({ path: file });
  }
} finally {
  server.kill("SIGTERM");
  await browser.close();
  await rm(cache, { recursive: true, force: true });
}
