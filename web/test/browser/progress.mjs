// Opens a trace that is still being indexed: the page tells how far that is, and then shows the picture. The server is
// started when the browser is there, so as to see the beginning.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { script } from "./page.mjs";

await script(async (input, open) => {
  const server = spawn(input.command[0], input.command.slice(1), { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...input.env } });
  try {
    const url = await new Promise((resolve, reject) => {
      createInterface({ input: server.stdout }).once("line", resolve);
      server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    const w = await open("progress", url);
    const seen = [];
    for (;;) {
      const s = await w.page.evaluate(() => ({ state: document.documentElement.dataset.state ?? "", value: document.querySelector("progress")?.value ?? null, text: document.querySelector("main.start")?.innerText ?? "", title: document.title }));
      if (s.value !== null && s.text !== "") seen.push(s); // before, it has only just begun to ask
      if (seen.length === 3) await w.shot("indexing");
      if (s.state === "ready") break;
      await w.page.waitForTimeout(30);
    }
    await w.shot("whole");
    return { seen, view: await w.view(), errors: w.errors };
  } finally { server.kill("SIGTERM"); }
});
