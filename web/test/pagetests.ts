// Helpers for the tests of the page in a browser. They run over the mock server, and are skipped
// without Chromium or a built page.
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launch } from "./browser/launch.mjs";
import { content } from "./browser/page.mjs";
import { rest } from "./browser/rest.mjs";
import { serve } from "./mock";
import { samples } from "./mocktraces";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const built = existsSync(path.join(path.dirname(fileURLToPath(import.meta.url)), "../dist/app.js"));

/**
 * shared is the address of a running browser, or ""; ends is when the suite must have ended, in
 * milliseconds since 1970, or 0.
 */
const shared = process.env.WEFT_BROWSER ?? "",
  ends = Number(process.env.WEFT_ENDS ?? 0);

/** View is the part of the page's view that the tests read. */
export interface View {
  from: string;
  to: string;
  rows: number;
  selection: string | null;
  sharp: boolean;
  width: number;
}

/** Its has the page of a test, the address of a mock server, and functions for them. */
export interface Its {
  page: Page;
  context: BrowserContext;
  url: string;
  /** open loads the page with a fragment; ready waits until nothing is pending in it. */
  open(fragment: string): Promise<void>;
  ready(): Promise<void>;
  view(): Promise<View>;
  /** exported returns the exported table of the open panel: lines of cells. */
  exported(): Promise<string[][]>;
}

export const traces = samples();

/** calls returns the calls of a region in a time, in all rows, those with the longest part first. */
export const calls = (region: string, from = 0, to = Infinity): { track: number; start: number; end: number }[] => {
  const t = traces[0],
    r = t.regions.findIndex((x) => x.name === region);
  return t.tracks.flatMap((x, track) =>
    x.kind === "location"
      ? x.spans
          .flat()
          .filter((s) => s.region === r && s.end > from && s.start < to)
          .map((s) => ({ track, start: s.start, end: s.end }))
      : [],
  );
};

/**
 * partly makes the server's first answer incomplete, as cut says; further answers wait until the
 * result is called.
 */
export function partly(
  page: Page,
  pattern: string,
  cut: (d: Record<string, unknown>) => Record<string, unknown>,
): () => void {
  let first = true,
    release = (): void => undefined;
  const seen = new Promise<void>((r) => {
    release = r;
  });
  page
    .route(pattern, async (r) => {
      if (!first) {
        await seen;
        await r.continue();
        return;
      }
      first = false;
      const d = (await (await r.fetch()).json()) as Record<string, unknown>;
      await r.fulfill({ json: { ...cut(d), partial: true } });
    })
    .catch(() => undefined); // the page may be closed already
  return release;
}

/** exportTable exports the table of the open panel, and returns its lines of cells. */
async function exportTable(page: Page): Promise<string[][]> {
  await page.getByRole("button", { name: "Picture or table as a file" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "the table of the open panel" }).click(),
  ]);
  return (await content(download))
    .toString()
    .trimEnd()
    .split("\r\n")
    .map((l) => l.split(","));
}

/** Check defines a test. fresh asks for a page that no other test uses. */
export type Check = (title: string, work: (its: Its) => Promise<void>, fresh?: boolean) => void;

/** pageTests runs tests that each have a page. */
export function pageTests(title: string, define: (check: Check) => void): void {
  describe.skipIf(!existsSync(executablePath) || !built)(title, () => {
    let browser: Browser;
    // no limit but the suite's own
    beforeAll(async () => {
      browser = shared === "" ? await launch(executablePath) : await chromium.connect(shared, { timeout: 0 });
    }, 0);
    afterAll(async () => {
      await browser.close();
    }, 0);

    /**
     * idle has pages that tests have left, because creating one takes long. Each test has its own
     * server, and thus its own storage.
     */
    const idle: Page[] = [],
      viewport = { width: 1280, height: 720 };

    /**
     * check runs a test concurrently with others, in a page in which nothing may be thrown. A fresh
     * page is used only once.
     */
    const check = (title: string, work: (its: Its) => Promise<void>, fresh = false): void => {
      test.concurrent(title, { timeout: 0 }, async () => {
        const server = await serve(traces.map((t) => ({ ...t })));
        let page = fresh ? undefined : idle.pop();
        if (!page) {
          page = await (await browser.newContext({ viewport })).newPage();
          page.context().setDefaultTimeout(0);
        }
        const own = page,
          context = page.context(),
          url = `http://127.0.0.1:${server.port}/`,
          errors: string[] = [];
        let waits: string[] = [],
          over = false;
        page.on("pageerror", (e) => errors.push(e.message));
        page.on("dialog", (d) => {
          errors.push("dialog " + d.message());
          void d.dismiss();
        });
        // pending waits then fail, with what they wait for
        const end =
          ends === 0
            ? undefined
            : setTimeout(
                () => {
                  over = true;
                  void context.close();
                },
                Math.max(0, ends - Date.now()),
              );
        const ready = (): Promise<void> =>
          rest(own, (left) => {
            waits = left;
          });
        try {
          await work({
            page: own,
            context,
            url,
            ready,
            open: async (fragment) => {
              // a fragment alone would not load the page again
              if (own.url() !== "about:blank") await own.goto("about:blank");
              await own.goto(url + fragment);
              await ready();
            },
            view: () => own.evaluate(() => window.weft.view()),
            exported: () => exportTable(own),
          });
        } catch (e) {
          await context.close();
          if (!over) throw e;
          throw new Error(
            `the suite ends; the page waits for ${waits.join(", ") || "nothing"}, and the test: ` +
              `${e instanceof Error ? e.stack : String(e)}`,
          );
        } finally {
          clearTimeout(end);
          await server.close();
        }
        expect(errors).toEqual([]);
        if (fresh) {
          await context.close();
          return;
        }
        await own.unrouteAll();
        await own.goto("about:blank");
        await own.setViewportSize(viewport);
        own.removeAllListeners();
        idle.push(own);
      });
    };

    define(check);
  });
}
