import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { cancel, runNextTimer, callLater, now, deferred } from "../src/timers";

test("deferred work has a name until it runs or is dropped, and runNextTimer keeps the order", () => {
  vi.useFakeTimers();
  try {
    const did: string[] = [],
      begin = now();
    callLater("second", 300, () => did.push("second"));
    callLater("first", 100, () => {
      did.push("first");
      callLater("third", 250, () => did.push("third"));
    });
    cancel(callLater("never", 50, () => did.push("never")));
    expect(deferred()).toEqual(["second", "first"]);
    runNextTimer();
    expect([did, deferred(), now() - begin]).toEqual([["first"], ["second", "third"], 100]);
    runNextTimer();
    // patient work is not hurried, and nothing before it
    callLater("answer", 1000, () => did.push("answer"), true);
    runNextTimer();
    expect([did, now() - begin]).toEqual([["first", "second"], 300]);
    vi.runAllTimers();
    expect([did, deferred()]).toEqual([["first", "second", "third", "answer"], []]);
  } finally {
    vi.useRealTimers();
  }
});

test("the page defers no work without a name", () => {
  const src = path.join(path.dirname(fileURLToPath(import.meta.url)), "../src"),
    found: string[] = [];
  for (const f of readdirSync(src, { recursive: true, encoding: "utf8" })) {
    if (!f.endsWith(".ts")) continue;
    for (const line of readFileSync(path.join(src, f), "utf8").split("\n"))
      if (/(setTimeout|setInterval|requestAnimationFrame|requestIdleCallback)\(/.test(line))
        found.push(`${f}: ${line.trim().slice(0, 50)}`);
  }
  // Two uses of timers are allowed outside of timers.ts: export.ts releases a saved file, and page.ts
  // publishes the state of the page.
  expect(found.sort()).toEqual(
    [
      "export.ts: setTimeout(() => URL.revokeObjectURL(url), 10000);",
      "page.ts: this.stateTimer = window.setTimeout(() => {",
      "timers.ts: requestAnimationFrame(() => {",
      "timers.ts: timers.set(key, { name, at: now() + ms, patient, w",
    ].map((x) => x.slice(0, x.indexOf(": ") + 52)),
  );
});
