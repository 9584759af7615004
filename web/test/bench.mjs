// Measures the page in a browser that runs already: from starting the command that prints the address to the first
// picture, frames while zooming and panning, and the longest task of the main thread. Prints JSON; see pageTimes in
// internal/bench/viewer.go.
//
//   node web/test/bench.mjs weft view --no-open trace.otf2
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [command, ...args] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await (await browser.newContext({ viewport: { width: 1600, height: 900 } })).newPage();
await page.addInitScript(() => {
  globalThis.longTasks = [];
  new PerformanceObserver((l) => {
    for (const e of l.getEntries()) globalThis.longTasks.push(e.duration);
  }).observe({ entryTypes: ["longtask"] });
});
const ready = () =>
  page.waitForFunction(() => document.documentElement.dataset.state === "ready", null, {
    timeout: 60000,
    polling: "raf",
  });

const begin = performance.now();
const server = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
try {
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", resolve);
    server.once("exit", (code) => reject(new Error(`${command} ended with ${code}`)));
  });
  await page.goto(address);
  await page.waitForFunction(() => document.documentElement.dataset.picture === "drawn", null, {
    timeout: 60000,
    polling: "raf",
  });
  const first = (performance.now() - begin) / 1000;
  await ready();

  // Events are dispatched inside the page, one per frame, so that their transport is not measured.
  const measured = await page.evaluate(async (seconds) => {
    const canvas = document.querySelector("canvas.over"),
      box = canvas.getBoundingClientRect();
    const x = box.left + box.width * 0.6,
      y = box.top + box.height / 2;
    const frame = () => new Promise((r) => requestAnimationFrame(r));
    async function during(act) {
      globalThis.longTasks.length = 0;
      const begin = performance.now();
      let frames = 0;
      while (performance.now() - begin < seconds * 1000) {
        act(frames++);
        await frame();
      }
      const fps = frames / ((performance.now() - begin) / 1000);
      await new Promise((r) => setTimeout(r, 100)); // tasks are reported late
      return { fps, longest: Math.max(0, ...globalThis.longTasks) };
    }
    const pointer = (type, x, buttons) =>
      canvas.dispatchEvent(
        new PointerEvent(type, {
          bubbles: true,
          cancelable: true,
          clientX: x,
          clientY: y,
          pointerId: 1,
          button: type === "pointermove" ? -1 : 0,
          buttons,
        }),
      );
    const zoom = await during((i) =>
      canvas.dispatchEvent(
        new WheelEvent("wheel", {
          bubbles: true,
          cancelable: true,
          clientX: x,
          clientY: y,
          deltaY: Math.floor(i / 60) % 3 === 2 ? 40 : -40,
        }),
      ),
    );
    pointer("pointerdown", x, 1);
    const pan = await during((i) => pointer("pointermove", x + 300 * Math.sin(i / 30), 1));
    pointer("pointerup", x, 0);
    return { zoom: zoom.fps, pan: pan.fps, longest: Math.max(zoom.longest, pan.longest) / 1000 };
  }, 3);
  console.log(JSON.stringify({ first, ...measured }));
} finally {
  server.kill("SIGINT");
  await browser.close();
}
