// Prints the seconds that speedscope takes to show a profile, in the browser that web/test/bench.mjs measures weft in.
//
//   node web/test/bench-speedscope.mjs trace.speedscope.json
import { createReadStream } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../node_modules/speedscope/dist/release", import.meta.url));
const types = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".wasm": "application/wasm",
};
const server = createServer((q, a) => {
  const path = q.url.split(/[?#]/)[0];
  const file =
    path === "/profile.json" ? process.argv[2] : join(root, path === "/" ? "index.html" : path.replaceAll("..", ""));
  a.setHeader("Content-Type", types[extname(file)] ?? "application/octet-stream");
  createReadStream(file)
    .on("error", () => {
      a.statusCode = 404;
      a.end();
    })
    .pipe(a);
});
await new Promise((r) => server.listen(0, "127.0.0.1", r));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const page = await (await browser.newContext({ viewport: { width: 1600, height: 900 } })).newPage();
  const address = `http://127.0.0.1:${server.address().port}`;
  const begin = performance.now();
  await page.goto(`${address}/index.html#profileURL=${encodeURIComponent(address + "/profile.json")}&title=trace`);
  // The views to choose from are there when the profile is.
  await page.waitForFunction(
    () => document.body.innerText.includes("Left Heavy") && document.querySelectorAll("canvas").length > 0,
    null,
    { timeout: 600000, polling: 50 },
  );
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
  console.log(((performance.now() - begin) / 1000).toFixed(3));
} finally {
  await browser.close();
  server.close();
}
