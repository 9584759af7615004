// The process that the Go tests start. It runs one browser and the servers, and runs the scripts of
// this folder. It reads requests from its standard input, a line of JSON each, and answers in
// the same way, in any order:
//   {id, serve: [program, argument…], env}   starts a server and returns the line that it prints
//   {id, npm: [argument…], env}              runs npm and returns its output, and whether it succeeded
//   {id, script, input}                      calls run(input, open) of a script, and returns the result
//   {id, stop: true}                         ends npm or a script, which fails with what it waits for
// When its standard input ends, it ends the browser, the servers and itself.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { launch } from "./launch.mjs";
import { Watched } from "./page.mjs";

const servers = [],
  npms = new Map(),
  jobs = new Map();
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");

const browser = await launch(process.env.CHROMIUM);
// for the tests of the page that vitest runs
const { endpoint } = await browser.bind("tests of the page", { host: "127.0.0.1", port: 0 });

async function end() {
  for (const s of servers) s.kill("SIGTERM");
  for (const c of npms.values()) stopAll(c);
  await browser.close();
  process.exit();
}

/** stopAll ends a program and all its children. */
function stopAll(c) {
  try {
    process.kill(process.platform === "win32" ? c.pid : -c.pid, "SIGTERM");
  } catch {
    /* it has ended */
  }
}

/** npm runs npm and returns its output. */
function npm(id, args, env) {
  const options = { shell: process.platform === "win32", detached: process.platform !== "win32" };
  const c = spawn("npm", args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env }, ...options });
  npms.set(id, c);
  let text = "";
  for (const from of [c.stdout, c.stderr])
    from.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
  return new Promise((resolve, reject) => {
    c.once("error", reject);
    c.once("exit", (code) => {
      npms.delete(id);
      stopAll(c);
      resolve({ text, failed: code !== 0 });
    });
  });
}

/** serve starts a server and returns its first line. */
function serve([program, ...args], env) {
  const s = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  servers.push(s);
  return new Promise((resolve, reject) => {
    createInterface({ input: s.stdout }).once("line", resolve);
    s.once("error", reject);
    s.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code} before it printed an address`)));
  });
}

/** run runs a script in its own pages. It reuses closed pages, because a new one takes long. */
async function run(id, script, input) {
  const job = { pages: [], over: false };
  jobs.set(id, job);
  const open = async (name, url) => {
    let w = job.pages.find((p) => p.free);
    if (w) w.free = false;
    else {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
      context.setDefaultTimeout(0);
      w = new Watched(await context.newPage(), input.artifacts);
      job.pages.push(w);
      await w.watch();
    }
    if (job.over) await w.end();
    await w.begin(name, url);
    return w;
  };
  try {
    return await (await import(`./${script}.mjs`)).run(input, open);
  } catch (e) {
    const waits = job.pages.filter((w) => w.waits.length > 0).map((w) => `${w.name} waits for ${w.waits.join(", ")}`);
    throw new Error(
      [...(job.over ? ["the time of the tests is over"] : []), ...waits, e.stack ?? String(e)].join("\n"),
      { cause: e },
    );
  } finally {
    jobs.delete(id);
    await Promise.all(job.pages.map((w) => w.end()));
  }
}

/** stop makes a script fail with what it waits for, and ends npm. */
function stop(id) {
  const job = jobs.get(id),
    c = npms.get(id);
  if (c) stopAll(c);
  if (!job) return;
  job.over = true;
  for (const w of job.pages) void w.end();
}

const input = createInterface({ input: process.stdin });
input.on("close", () => void end());
process.on("SIGTERM", () => void end());
process.on("SIGINT", () => void end());
input.on("line", (line) => {
  const q = JSON.parse(line);
  if (q.stop) {
    stop(q.id);
    return;
  }
  (q.serve ? serve(q.serve, q.env) : q.npm ? npm(q.id, q.npm, q.env) : run(q.id, q.script, q.input)).then(
    (out) => say({ id: q.id, out }),
    (e) => say({ id: q.id, error: e.message }),
  );
});
say({ id: 0, out: endpoint });
