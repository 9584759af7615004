// The page in a browser, over the mock server; skipped where there is no Chromium or the page is not built.
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page, type Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launch } from "./browser/launch.mjs";
import { content } from "./browser/page.mjs";
import { rest } from "./browser/rest.mjs";
import { samples, serve, synthetic } from "./mock";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const built = existsSync(path.join(path.dirname(fileURLToPath(import.meta.url)), "../dist/app.js"));

/** shared is where a browser listens that is there already; ends is when the suite has to have ended, in milliseconds since 1970, 0 for never. */
const shared = process.env.WEFT_BROWSER ?? "",
  ends = Number(process.env.WEFT_ENDS ?? 0);

/** View is what the tests read of the page's view. */
interface View {
  from: string;
  to: string;
  rows: number;
  selection: string | null;
  sharp: boolean;
  width: number;
}

/** Its is what a test has for its own: a page, the address of a mock server, and what is done with them. */
interface Its {
  page: Page;
  context: BrowserContext;
  url: string;
  /** open loads the page with a fragment; ready waits until nothing is pending in it. */
  open(fragment: string): Promise<void>;
  ready(): Promise<void>;
  view(): Promise<View>;
  /** exported is the table of the open panel, taken as a file: its lines, and the cells of them. */
  exported(): Promise<string[][]>;
}

const traces = samples();

/** partly has a server answer in part at first, as cut says, and in whole once the result is called. */
function partly(page: Page, pattern: string, cut: (d: Record<string, unknown>) => Record<string, unknown>): () => void {
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
    .catch(() => undefined); // a page that is closed already
  return release;
}

describe.skipIf(!existsSync(executablePath) || !built)("the page", () => {
  let browser: Browser;
  // no limit but the suite's own
  beforeAll(async () => {
    browser = shared === "" ? await launch(executablePath) : await chromium.connect(shared, { timeout: 0 });
  }, 0);
  afterAll(async () => {
    await browser.close();
  }, 0);

  /** idle are pages that tests have left: a new one takes its time. Each test has a server, and thus a storage, of its own. */
  const idle: Page[] = [],
    viewport = { width: 1280, height: 720 };

  /** check is a test that runs beside others, in a page of its own, in which nothing may be thrown; a fresh one is not used before or after. */
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
      // what is waited for then fails, and says what that is
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
            await own.goto("about:blank");
            await own.goto(url + fragment);
            await ready();
          },
          view: () => own.evaluate(() => window.weft.view()),
          exported: async () => {
            await own.getByRole("button", { name: "Picture or table as a file" }).click();
            const [download] = await Promise.all([
              own.waitForEvent("download"),
              own.getByRole("button", { name: "the table of the open panel" }).click(),
            ]);
            return (await content(download))
              .toString()
              .trimEnd()
              .split("\r\n")
              .map((l) => l.split(","));
          },
        });
      } catch (e) {
        await context.close();
        if (!over) throw e;
        throw new Error(
          `the suite ends; the page waits for ${waits.join(", ") || "nothing"}, and the test: ${e instanceof Error ? e.stack : String(e)}`,
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

  check("lists several traces, tells why one failed", async ({ page, open }) => {
    await open("");
    expect(await page.locator("main.start").innerText()).toContain("ring.otf2");
    await open("#t=f1");
    expect(await page.locator("main.start").innerText()).toContain("the file ends at byte 812");
  });

  check("shows the whole trace in full resolution, names as text", async ({ page, open, view }) => {
    await open("#t=a1");
    const v = await view();
    expect(v.from).toBe("0");
    expect(v.sharp).toBe(true);
    expect(v.rows).toBeGreaterThan(64);
    expect(await page.locator(".legend").innerText()).toContain("<img src=x onerror=alert(1)>");
    expect(await page.locator("img").count()).toBe(0);
  });

  check("pixels are the regions' colours", async ({ page, open }) => {
    await open("#t=a1&l=1&sh=18");
    // the first level is one span of main: blue from its start to its end
    const pixel = await page.evaluate(() => {
      const c = document.querySelector<HTMLCanvasElement>(".pixels");
      const y = 18 + 18 + 8;
      return [...(c?.getContext("2d")?.getImageData(400, y, 1, 1).data ?? [])];
    });
    expect(pixel).toEqual([0, 0x72, 0xb2, 255]);
  });

  check("what is measured says which of its ends lie on edges", async ({ page, open, ready }) => {
    await open("#t=a1&l=1&sh=18&a=0");
    const box = await page.locator(".plot").boundingBox(),
      footer = page.locator("footer");
    if (!box) throw new Error("no time line");
    await page.keyboard.press("m");
    // main begins at the left edge, and ends far away
    await page.mouse.click(box.x + 6, box.y + 44);
    await page.getByText("(an edge): click the second place").waitFor();
    await page.mouse.click(box.x + 500, box.y + 44);
    await page.getByText("the second end is on no edge").waitFor();
    await page.waitForURL(/[&]m=\d+~\d+&mu=2/);
    const link = page.url();
    await open(link.slice(link.indexOf("#")));
    expect(await footer.innerText()).toContain("the second end is on no edge");
    await page.keyboard.press("Escape");
    await ready();
    expect(await footer.innerText()).not.toContain("edge");
  });

  check("the legend names the colours on the screen, whatever was shown before", async ({ page, open, ready }) => {
    const named = (): Promise<string[]> => page.locator(".legend button").allInnerTexts();
    const colors = (selector: string): Promise<string[]> =>
      page.evaluate((s) => {
        const c = document.querySelector<HTMLCanvasElement>(s),
          d = c?.getContext("2d")?.getImageData(0, 0, c.width, c.height).data ?? [],
          n = new Map<string, number>();
        for (let i = 0; i < d.length; i += 4) {
          const k = `rgb(${d[i]}, ${d[i + 1]}, ${d[i + 2]})`;
          n.set(k, (n.get(k) ?? 0) + 1);
        }
        const own = window.weft.layout().regions.map((x) => {
          const v = parseInt(x.slice(1), 16);
          return `rgb(${v >> 16}, ${(v >> 8) & 255}, ${v & 255})`;
        });
        return [...n].filter(([k]) => own.includes(k)).map(([k]) => k);
      }, selector);
    const address = "#t=a1&l=2&sh=18&a=0&w=600000~900000&p=structure";
    await open(address);
    const first = await named();
    const swatches = await page
      .locator(".legend .swatch")
      .evaluateAll((l) => l.map((e) => getComputedStyle(e).backgroundColor));
    for (const c of [...(await colors(".pixels")), ...(await colors(".minimap canvas"))]) expect(swatches).toContain(c);
    await open("#t=a1&sh=18&a=0&w=600000~900000&p=structure");
    await page.getByLabel("Levels of nesting").selectOption("2");
    await ready();
    expect(await named()).toEqual(first);
  });

  check("wheel zooms at the pointer, the URL keeps it, back goes back", async ({ page, open, ready, view }) => {
    await open("#t=a1");
    const box = await page.locator(".plot").boundingBox();
    if (!box) throw new Error("no time line");
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    await page.mouse.wheel(0, -300);
    await ready();
    const z = await view();
    expect(Number(z.to) - Number(z.from)).toBeLessThan(6000000);
    expect(page.url()).toContain(`w=${z.from}~${z.to}`);
    const link = page.url();
    await page.goBack();
    await ready();
    expect((await view()).from).toBe("0");
    await open(link.slice(link.indexOf("#")));
    expect(await view()).toMatchObject({ from: z.from, to: z.to });
  });

  check(
    "a table is that of the window, also when one comes back to it at once",
    async ({ page, open, ready, view }) => {
      await open("#t=a1&p=profile");
      const box = await page.locator(".plot").boundingBox(),
        scope = await page.locator(".scope .what").innerText();
      if (!box) throw new Error("no time line");
      await page.mouse.move(box.x + box.width / 2, box.y + 60);
      await page.mouse.wheel(0, -300);
      await page.waitForFunction(() => window.weft.view().from !== "0");
      await page.keyboard.press("Home");
      await ready();
      expect((await view()).from).toBe("0");
      expect(await page.locator(".scope .what").innerText()).toBe(scope);
    },
  );

  check(
    "the address has the view at once, also before one leaves, and a motion is one step back",
    async ({ page, open, ready, view }) => {
      // time stands still: what is put off for long is counted, and done when the page is hurried
      await page.addInitScript(() => {
        const w = window as unknown as { late: number },
          timeout = window.setTimeout;
        w.late = 0;
        performance.now = () => 1000;
        window.setTimeout = ((work: () => void, ms = 0) =>
          ms < 400 ? timeout(work, ms) : -++w.late) as typeof window.setTimeout;
      });
      await open("#t=a1");
      const box = await page.locator(".plot").boundingBox(),
        entries = await page.evaluate(() => history.length);
      if (!box) throw new Error("no time line");
      await page.mouse.move(box.x + box.width / 2, box.y + 60);
      const fragment = async (): Promise<string> => {
        const v = await view();
        return `w=${v.from}~${v.to}`;
      };
      const late = (): Promise<number> => page.evaluate(() => (window as unknown as { late: number }).late);
      const wheel = async (by: number): Promise<void> => {
        const { to } = await view();
        await page.mouse.wheel(0, by);
        await page.waitForFunction((was) => window.weft.view().to !== was, to);
      };
      await wheel(-60);
      await page.waitForURL(new RegExp(await fragment()));
      for (let i = 0; i < 3; i++) await wheel(-60);
      const before = await view();
      // the address is behind: it will be written in a while, or when one leaves
      expect(page.url()).not.toContain(await fragment());
      await page.reload();
      await ready();
      expect(await view()).toMatchObject({ from: before.from, to: before.to });
      expect(await page.evaluate(() => history.length)).toBe(entries + 1);
      // while something goes on changing the time at which it is written stays the same
      await wheel(-20);
      await page.waitForURL(new RegExp(await fragment()));
      const was = await late();
      for (let i = 0; i < 8; i++) await wheel(-20);
      expect(await late()).toBe(was + 1);
      expect(page.url()).not.toContain(await fragment());
      await ready();
      expect(page.url()).toContain(await fragment());
      // what is chosen does not wait for that
      await wheel(-20);
      await page.getByRole("tab", { name: "Locations" }).click();
      await page.waitForURL(/p=locations/);
      expect(page.url()).toContain(await fragment());
    },
    true,
  );

  check("a click selects, keys go on, the details are exact", async ({ page, open, ready, view }) => {
    await open("#t=a1&w=681017~822625&sh=18");
    const box = await page.locator(".plot").boundingBox();
    if (!box) throw new Error("no time line");
    await page.mouse.click(box.x + 100, box.y + 36 + 2 + 3 * 18 + 8);
    await ready();
    expect((await view()).selection).toMatch(/^0\.0\.3\./);
    const details = await page.locator(".details").innerText();
    expect(details).toContain("kernel_b");
    expect(details).toContain("<b>not bold</b>");
    const before = (await view()).selection;
    await page.keyboard.press("n");
    await ready();
    expect((await view()).selection).not.toBe(before);
    await page.keyboard.press("ArrowUp");
    await ready();
    expect((await view()).selection).toMatch(/^0\.0\.2\./);
  });

  check("each panel fills", async ({ page, open, ready }) => {
    const panel = page.locator("#panel");
    await open("#t=a1&p=overview");
    for (const id of [
      "overview",
      "profile",
      "calltree",
      "flame",
      "messages",
      "locations",
      "utilisation",
      "counters",
      "structure",
      "defects",
      "notes",
    ]) {
      await page.evaluate((p) => {
        location.hash = "#t=a1&p=" + p;
      }, id);
      await ready();
      expect(await page.locator("[role=tab][aria-selected=true]").getAttribute("id")).toBe("tab-" + id);
      expect(await panel.locator(".error").count(), id).toBe(0);
      expect((await panel.innerText()).length, id).toBeGreaterThan(3);
    }
  });

  check("two traces share the axis", async ({ page, open }) => {
    await open("#t=a1,b2&p=compare");
    expect(await page.locator(".lane").count()).toBe(2);
    expect(await page.locator("#panel").innerText()).toContain("MPI_Allreduce");
  });

  check("a bookmark is kept", async ({ page, open, ready }) => {
    await open("#t=a1");
    await page.locator(".plot").focus();
    await page.keyboard.press("b");
    await ready();
    await page.locator("#panel textarea").fill("slow <b>here</b>");
    await page.keyboard.press("Tab");
    await ready();
    await open("#t=a1&p=notes");
    expect(await page.locator("#panel textarea").inputValue()).toBe("slow <b>here</b>");
  });

  check("links are shown where there are few, one can be selected", async ({ page, open, ready }) => {
    await open("#t=a1&sh=4&l=1");
    expect(await page.locator("footer").innerText()).toContain("links: L shows them");
    await open("#t=a1&w=100000~420000&sh=8");
    const words = await page.locator("footer").innerText();
    expect(words).toMatch(/\d+ links/);
    expect(words).not.toContain("L shows");
    // look for an arrow with the pointer
    const box = await page.locator(".plot").boundingBox(),
      arrows = await page.evaluate(() => window.weft.layout().arrows);
    if (!box) throw new Error("no time line");
    // the server still reads when it is asked first, and has read once that was seen
    const seen = partly(page, "**/api/traces/a1/link?**", (d) => ({
      ...d,
      from: { kind: "", name: "", attributes: [] },
      to: { kind: "", name: "", attributes: [] },
      link: { ...(d.link as object), attributes: [] },
    }));
    const hit = await (async () => {
      for (const a of arrows)
        for (const part of [0.5, 0.3, 0.7]) {
          const x = a.x0 + part * (a.x1 - a.x0),
            y = a.y0 + part * (a.y1 - a.y0);
          if (Math.min(x, y) < 10 || x > box.width || y > box.height - 10) continue;
          await page.mouse.move(box.x + x, box.y + y);
          const text = await page.locator(".tip").innerText();
          if (text.startsWith("message")) {
            await page.mouse.click(box.x + x, box.y + y);
            return true;
          }
        }
      return false;
    })();
    expect(hit).toBe(true);
    const details = page.locator(".details");
    await details.getByText("still being read").waitFor();
    await details.getByText("in MPI_Send").waitFor();
    await details.getByText("in MPI_Recv").waitFor();
    expect(await details.innerText()).toMatch(/message[\s\S]*From[\s\S]*in MPI_Send[\s\S]*To[\s\S]*in MPI_Recv/);
    expect(await details.innerText()).not.toContain("the message");
    seen();
    await ready();
    const whole =
      /note\s*<i>the message<\/i> \d+\.\d+[\s\S]*From[\s\S]*send\s*note\s*<i>sent<\/i>[\s\S]*To[\s\S]*recv\s*note\s*<i>received<\/i>/;
    expect(await details.innerText()).toMatch(whole);
    expect(await details.innerText()).not.toContain("still being read");
    await details.getByText("go to").nth(1).click();
    await ready();
    expect(await details.locator("h2").innerText()).toBe("MPI_Recv");
    expect(await details.innerText()).toMatch(new RegExp("Followed here[\\s\\S]*" + whole.source));
    // another selection has nothing of that message
    await page.locator(".plot").focus();
    await page.keyboard.press("ArrowUp");
    await ready();
    expect(await details.innerText()).not.toContain("Followed here");
    await page.locator(".plot").focus();
    await page.keyboard.press("l");
    await page.keyboard.press("l");
    await ready();
    expect(page.url()).toContain("a=0");
  });

  check("many arrows do not keep one from selecting spans", async ({ page, open, ready, view }) => {
    await open("#t=a1&a=1&sh=18&l=1");
    const box = await page.locator(".plot").boundingBox();
    if (!box) throw new Error("no time line");
    const rows = await page.evaluate(() =>
      window.weft
        .layout()
        .rows.filter((r) => r.strips.some((s) => s.kind === 0))
        .map((r) => r.strips[0].y + 6),
    );
    let clicks = 0,
      spans = 0;
    for (const y of rows.slice(0, 4))
      for (let x = 140; x < box.width - 140; x += 97) {
        await page.keyboard.press("Escape");
        await page.mouse.click(box.x + x, box.y + y);
        clicks++;
        // of several spans in a pixel the server is asked
        if ((await view()).selection === null) await ready();
        if ((await view()).selection !== null) spans++;
      }
    expect(clicks).toBeGreaterThan(30);
    expect(spans / clicks).toBeGreaterThan(0.9);
  });

  check("a row says that it is deeper than it shows, and shows all", async ({ page, open, ready }) => {
    await open("#t=a1&l=2&sh=12");
    const row = page.locator(".label", { has: page.locator(".more") }).first();
    expect(await row.getAttribute("aria-label")).toMatch(/, 2 more levels below$/);
    const strips = (): Promise<number> =>
      page.evaluate(
        () =>
          window.weft
            .layout()
            .rows.find((r) => r.track === 0)
            ?.strips.filter((s) => s.kind === 0).length ?? 0,
      );
    await row.locator(".more").click();
    await ready();
    await page.waitForURL(/[&]l=4[&]/);
    expect(await page.locator(".more").count()).toBe(0);
    expect(await strips()).toBe(4);
    // by the keyboard
    await open("#t=a1&l=1&sh=12");
    await page
      .locator(".label", { has: page.locator(".more") })
      .first()
      .focus();
    await page.keyboard.press("ContextMenu");
    await page.keyboard.press("Enter");
    await ready();
    expect(await page.locator(".more").count()).toBe(0);
  });

  check("the profile has claims, the legend those regions too", async ({ page, open }) => {
    await open("#t=a1&f=CPU&p=profile");
    expect(await page.locator("#panel").innerText()).toContain("claims");
    expect(await page.locator(".legend").innerText()).toContain("job 1");
  });

  check("a profile of many rows says what it leaves out, in its export too", async ({ page, open, ready }) => {
    await open("#t=a1&p=profile");
    expect(await page.locator("#panel").innerText()).not.toContain("left out");
    await page.getByLabel("Rows of the profile").selectOption("location");
    await ready();
    // 64 processes, each with the regions of the mock
    const says = /(\d+) rows with less exclusive time are left out/,
      text = await page.locator("#panel").innerText();
    const left = Number(says.exec(text)?.[1] ?? 0);
    expect(left).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Picture or table as a file" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "the table of the open panel" }).click(),
    ]);
    const lines = (await content(download)).toString().trimEnd().split("\r\n");
    expect(lines.length).toBe(1 + 600 + 1);
    expect(lines[601]).toMatch(new RegExp(`^${left} rows with less exclusive time are left out,+$`));
    // only rows near to what is seen are in the page; the keyboard reaches all, and those that scroll by are the table's
    const rows = page.locator("#panel tbody tr[tabindex]"),
      cells = async (): Promise<string[]> => (await rows.last().locator("td").allInnerTexts()).slice(0, 3);
    expect(await rows.count()).toBeLessThan(100);
    expect(await page.locator("#panel table").getAttribute("aria-rowcount")).toBe("601");
    await rows.first().focus();
    await page.keyboard.press("End");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-rowindex"))).toBe("601");
    expect(await cells()).toEqual(lines[600].replace("\u202E", "\uFFFD").split(",").slice(0, 3));
    const room = await page.evaluate(() => {
      const p = document.getElementById("panel")?.getBoundingClientRect(),
        r = document.activeElement?.getBoundingClientRect();
      return p && r ? [r.top - p.top, p.bottom - r.bottom] : [];
    });
    expect(Math.min(...room)).toBeGreaterThan(-1);
    await page.keyboard.press("ArrowUp");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-rowindex"))).toBe("600");
    await page.locator("#panel").evaluate((e) => {
      e.scrollTop = 300 * 21;
    });
    await ready();
    const seen = await page.evaluate(() => {
      const p = document.getElementById("panel")?.getBoundingClientRect();
      const e = p && document.elementFromPoint(p.left + 40, p.top + p.height / 2)?.closest("tr");
      return e ? [Number(e.getAttribute("aria-rowindex")), e.children[0].textContent, e.children[1].textContent] : [];
    });
    expect(seen.slice(1)).toEqual(lines[Number(seen[0]) - 1].replace("\u202E", "\uFFFD").split(",").slice(0, 2));
    expect(Number(seen[0])).toBeGreaterThan(250);
    // what has the keyboard stays, however far away
    await page.keyboard.press("Home");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-rowindex"))).toBe("2");
  });

  check("rows are sorted by the window, and again when asked", async ({ page, open, ready }) => {
    const first = async (): Promise<number> => {
      const t = await page.evaluate(() => window.weft.view().tracks);
      return t.find((x) => x >= 0) ?? -1;
    };
    await open("#t=a1&o=busy");
    await page.getByRole("button", { name: "Sort again" }).click();
    await ready();
    expect(await page.locator("footer").innerText()).toContain("rows sorted by busy time from 0 s");
    expect(await first()).toBeGreaterThanOrEqual(0);
  });

  check("the address brings back how far the rows were scrolled, and their order", async ({ page, open, ready }) => {
    const seen = (): Promise<{ tracks: number[]; scroll: number; from: string; to: string }> =>
      page.evaluate(() => {
        const { tracks, scroll, from, to } = window.weft.view();
        return { tracks, scroll, from, to };
      });
    await open("#t=a1&sh=12&w=2000000~2600000");
    await page.getByLabel("Order of rows").selectOption("busy");
    await ready();
    // another window than that of the order
    await page.locator(".plot").focus();
    for (const k of ["Home", "w", "w", "PageDown", "PageDown"]) {
      await page.keyboard.press(k);
      await ready();
    }
    await ready();
    const before = await seen();
    expect(before.scroll).toBeGreaterThan(200);
    expect(page.url()).toContain("&ow=2000000~2600000&y=0/");
    await open(page.url().slice(page.url().indexOf("#")));
    expect(await seen()).toEqual(before);
    // sorted by what is seen now, the order would be another
    await page.getByRole("button", { name: "Sort again" }).click();
    await ready();
    expect(page.url()).toContain(`&ow=${before.from}~${before.to}`);
  });

  check(
    "an address that is not understood is said to be so, and takes nothing away",
    async ({ page, open, ready, view }) => {
      await open("#t=a1,nope&w=5~x&color=red&zz=1");
      const hint = page.locator(".hint");
      expect(await hint.innerText()).toContain(
        "Not understood in this address: w=5~x (the whole is shown); color=red (colours are by region); zz=1 and 1 more.",
      );
      expect(await hint.getAttribute("title")).toContain("t=nope: that trace is not served here: ring.otf2 is shown");
      const box = await page.locator(".plot").boundingBox();
      if (!box) throw new Error("no time line");
      await hint.getByRole("button").click();
      expect(await hint.isVisible()).toBe(false);
      const fits = async (fragment: string): Promise<string> => {
        await page.evaluate((f) => {
          location.hash = f;
        }, fragment);
        await ready();
        return (await hint.isVisible()) ? await hint.innerText() : "";
      };
      expect(await fits("t=a1&w=90000000000~90000000005")).toMatch(/the whole is shown: the trace spans 0 s to \d/);
      expect((await view()).from).toBe("0");
      expect(await fits("t=a1&w=0~90000000005")).toContain("what of it lies in the trace is shown");
      expect(await fits("t=a1&s=0.9999.0.5")).toContain("nothing is selected: there is no such row");
      expect(await fits("t=a1&h=0/t9999")).toContain("there is no such row");
      expect(await fits("t=a1&hl=nothing")).toContain("there is no such region");
      expect(await fits("t=a1&p=nothing")).toContain("the first table is shown");
      expect(await fits("t=a1&r=-9~-5&at=-5")).toMatch(/no range is selected.*no place is marked/);
      expect(await fits("t=a1&k=0.1.5.9")).toContain("there is no such message");
      expect(await fits("t=a1&w=100~90000")).toBe("");
    },
  );

  check("search goes to a time and marks it, and says what is not there", async ({ page, open, ready, view }) => {
    await open("#t=a1");
    const say = page.locator("footer .message"),
      box = page.locator(".search input"),
      go = async (text: string): Promise<void> => {
        await box.fill(text);
        await page.keyboard.press("Enter");
        await ready();
      };
    const all = await view();
    await go("2 ms");
    const v = await view();
    expect(Math.abs(Number(v.from) + Number(v.to) - 4000000)).toBeLessThanOrEqual(1);
    expect(Number(v.to) - Number(v.from)).toBeLessThan(Number(all.to) / 5);
    await page.waitForURL(/&at=2000000(&|$)/);
    // the mark is on the time line and its time on the axis
    const marked = await page.evaluate(() => {
      const c = document.querySelector<HTMLCanvasElement>(".over"),
        d = c?.getContext("2d")?.getImageData(Math.round(c.width / 2) - 3, 0, 6, 40).data ?? [];
      let n = 0;
      for (let i = 0; i < d.length; i += 4) if (d[i] === 0x0b && d[i + 1] === 0x62 && d[i + 2] === 0xc4) n++;
      return n;
    });
    expect(marked).toBeGreaterThan(15);
    await page.keyboard.press("Escape");
    await ready();
    expect(page.url()).not.toContain("at=");
    await go("99 s");
    expect(await say.innerText()).toMatch(/^99 s: the trace spans 0 s to \d/);
    expect(await view()).toMatchObject({ from: v.from, to: v.to });
    await box.fill("no such thing");
    expect(await page.locator(".found").innerText()).toContain("no region, row or time is called no such thing");
    await page.keyboard.press("Enter");
    expect(await say.innerText()).toContain("no region, row or time is called no such thing");
    // a row that is folded away and filtered out comes back
    await open("#t=a1&c=0/g4&f=process%201");
    await go("process 63");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("process 63");
  });

  check("the legend names what the colours stand for, the mini-map has the same", async ({ page, open, ready }) => {
    const legend = page.locator(".legend"),
      colors = (): Promise<string[]> =>
        page.evaluate(() => {
          const c = document.querySelector<HTMLCanvasElement>(".minimap canvas"),
            d = c?.getContext("2d")?.getImageData(0, 0, c.width, c.height).data ?? [];
          const n = new Map<string, number>();
          for (let i = 0; i < d.length; i += 4) {
            const k = [d[i], d[i + 1], d[i + 2]].join();
            n.set(k, (n.get(k) ?? 0) + 1);
          }
          return [...n].filter(([, m]) => m > 40).map(([k]) => k);
        });
    await open("#t=a1&color=group");
    expect((await legend.innerText()).split("\n")).toEqual(expect.arrayContaining(["application", "MPI"]));
    expect(await legend.innerText()).not.toContain("kernel_a");
    await legend.getByText("MPI").click();
    await page.waitForURL(/hl=MPI/);
    expect(await legend.locator("[aria-pressed=true]").innerText()).toBe("MPI");
    // which no region is called
    await page.locator(".plot").focus();
    await page.keyboard.press("c");
    await ready();
    expect(page.url()).toMatch(/color=track/);
    expect(page.url()).not.toMatch(/hl=/);
    expect(await legend.innerText()).toMatch(/^each row has its own colour:\s+.*process 0/);
    // from its first row on, each of those it has room for in its own colour
    const own = await legend
      .locator(".swatch")
      .evaluateAll((list) => list.map((x) => getComputedStyle(x).backgroundColor.replace(/[^\d,]/g, "")));
    expect(new Set(own).size).toBeGreaterThan(3);
    expect((await colors()).filter((c) => own.includes(c)).length).toBeGreaterThan(3);
    expect(await colors()).toContain(own[0]);
    // what has no room is counted, and can be seen
    await open("#t=a1&color=track&sh=4");
    const others = page.locator(".legendbox .rest");
    expect(await others.innerText()).toMatch(/^\+\d+$/);
    await others.click();
    expect(await others.getAttribute("aria-expanded")).toBe("true");
    expect((await legend.boundingBox())?.height).toBeGreaterThan(40);
  });

  check("pictures have their axis over the rows, and all names as text", async ({ page, open, view }) => {
    await open("#t=a1&w=681017~822625&sh=18");
    const save = async (title: RegExp): Promise<Buffer> => {
      await page.getByRole("button", { name: "Picture or table as a file" }).click();
      const [d] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: title }).click()]);
      return content(d);
    };
    const svg = (await save(/the same/)).toString("utf8");
    for (const text of ["ring.otf2", "process 0", "kernel_b", "MPI_Recv", "700 µs", "681.017 µs to 822.625 µs"])
      expect(svg.includes(`>${text}</text>`), text).toBe(true);
    // the marks of the axis lie between its ends, which are those of the rows
    const width = (await view()).width,
      path = /<g transform="translate\(200 24\)">.*?<path d="([^"]+)"/s.exec(svg)?.[1] ?? "",
      xs = [...path.matchAll(/[ML]([-\d.]+) /g)].map((m) => Number(m[1]));
    expect(xs.length).toBeGreaterThan(10);
    expect(Math.min(...xs)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...xs)).toBeLessThanOrEqual(width);
    expect(Number(/width="(\d+)" height/.exec(svg)?.[1])).toBe(200 + width + 6);
    // 700 µs is where the window says
    const at = 200 + ((700000 - 681017) / (822625 - 681017)) * width;
    const png = (await save(/^the time lines|PNG/)).toString("base64");
    const ticks = await page.evaluate(async (data) => {
      const i = new Image();
      i.src = "data:image/png;base64," + data;
      await i.decode();
      const c = document.createElement("canvas");
      c.width = i.width;
      c.height = i.height;
      const g = c.getContext("2d");
      g?.drawImage(i, 0, 0);
      // a line of pixels through the long marks, and one through all
      const dark = (y: number): number[] => {
        const d = g?.getImageData(0, y, c.width, 1).data ?? [];
        const out: number[] = [];
        for (let x = 0; 4 * x < d.length; x++) if (d[4 * x] < 150) out.push(x);
        return out;
      };
      return { long: dark(24 + 28 - 7), all: dark(24 + 28 - 3) };
    }, png);
    expect(Math.min(...ticks.all)).toBeGreaterThanOrEqual(199);
    expect(ticks.long.some((x) => Math.abs(x - at) <= 1)).toBe(true);
  });

  check("a message that nobody received can be selected", async ({ page, open, ready }) => {
    await open("");
    const first = await page.evaluate(
      async () =>
        (await (await fetch("api/traces/a1/find?region=5&track=1&time=0&direction=next")).json()) as {
          span: { start: string; depth: number };
        },
    );
    await open(`#t=a1&s=0.1.${first.span.depth}.${first.span.start}`);
    const details = page.locator(".details");
    await details.getByText("never received").waitFor();
    await details.getByTitle("Select this message").click();
    await ready();
    expect(await details.innerText()).toMatch(
      /^message[\s\S]*77 B[\s\S]*From[\s\S]*process 1[\s\S]*To[\s\S]*process 0\s*The trace has no receive of it/,
    );
    await page.waitForURL(/&k=0\.1\.\d+\.lost/);
    await open(page.url().slice(page.url().indexOf("#")));
    await details.getByText("The trace has no receive of it").waitFor();
  });

  check("a click on nothing asks for nothing that is an error", async ({ page, open, ready }) => {
    const failed: string[] = [],
      note = (m: { type(): string; text(): string }): void => {
        if (m.type() === "error") failed.push(m.text());
      };
    page.on("console", note);
    await open("#t=a1&w=681017~822625&sh=18&p=overview");
    const box = await page.locator(".plot").boundingBox();
    if (!box) throw new Error("no time line");
    for (let x = 3; x < box.width; x += 122)
      for (const dy of [1, 19, 47, 66]) await page.mouse.click(box.x + x, box.y + 36 + dy);
    await page.keyboard.press("m");
    for (let x = 3; x < box.width; x += 211) await page.mouse.click(box.x + x, box.y + 36 + 66);
    await page.keyboard.press("Escape");
    await ready();
    page.off("console", note);
    expect(failed).toEqual([]);
  });

  check(
    "an index on its way shows how far it is and what is known, then the trace",
    async ({ page, url, ready, view }) => {
      // each answer about the trace waits until the one before it was looked at
      const asked: Route[] = [],
        coming: ((r: Route) => void)[] = [];
      let through = false;
      await page.route("**/api/traces/s1", (r) => {
        const next = coming.shift();
        if (next) next(r);
        else if (through) void r.continue();
        else asked.push(r);
      });
      const request = (): Promise<Route> => {
        const r = asked.shift();
        return r ? Promise.resolve(r) : new Promise((next) => coming.push(next));
      };
      await page.goto(url + "#t=s1");
      for (let tenths = 1; tenths < 10; tenths++) {
        await (await request()).continue();
        await page
          .locator("main.indexing p", { hasText: `${10 * tenths}` })
          .first()
          .waitFor();
        const bar = page.locator("progress"),
          text = await page.locator("main.indexing").innerText();
        expect(Number(await bar.evaluate((e) => (e as HTMLProgressElement).value))).toBeCloseTo(tenths / 10, 9);
        expect(text).toContain("Indexing slow.otf2");
        expect(text).toMatch(new RegExp(`^${10 * tenths}(\\.0*)? %`, "m"));
        expect(await page.title()).toMatch(/^\d+ % slow\.otf2$/);
        if (tenths < 4) continue;
        expect(text).toContain("kernel_a");
        expect(text).toContain("process 3");
        expect(text).toContain("of its clock; of its events they count visits and messages");
        expect(text).toContain("Locations with most visits and messages");
        expect(text).not.toMatch(/(events|Regions|Locations.*) so far/);
      }
      through = true;
      await (await request()).continue();
      await page.waitForSelector(".plot");
      await ready();
      expect((await view()).rows).toBeGreaterThan(4);
    },
  );

  check(
    "a server that is gone, a token that is not valid any more, an index made anew",
    async ({ page, open, ready, view }) => {
      await open("#t=a1");
      const box = await page.locator(".plot").boundingBox();
      if (!box) throw new Error("no time line");
      const zoom = async (): Promise<void> => {
        await page.mouse.move(box.x + 300, box.y + 60);
        await page.mouse.wheel(0, -240);
      };
      await page.route("**/api/**", (r) => r.abort("connectionrefused"));
      await zoom();
      await page.waitForSelector(".banner");
      expect(await page.locator(".banner").innerText()).toContain("The server does not answer: is weft still running?");
      await page.unroute("**/api/**");
      await page.waitForSelector(".banner", { state: "detached" });
      await ready();
      expect((await view()).sharp).toBe(true);
      await page.route("**/api/**", (r) => r.fulfill({ status: 401, contentType: "application/json", body: "{}" }));
      await zoom();
      await page.waitForSelector(".banner");
      expect(await page.locator(".banner").innerText()).toContain("open the address that weft printed");
      await page.unroute("**/api/**");
      await page.waitForSelector(".banner", { state: "detached" });
      // else a tile of the view as it was may be the one that is answered so, before anybody waits for the load
      await ready();
      await page.route(
        "**/api/traces/a1/tiles**",
        (r) => r.fulfill({ status: 409, contentType: "application/json", body: '{"error":"being indexed"}' }),
        { times: 1 },
      );
      // the page waits for the new index, and loads again
      const anew = page.waitForEvent("load");
      await zoom();
      await anew;
      await ready();
      expect((await view()).sharp).toBe(true);
      await page.unroute("**/api/traces/a1/tiles**");
    },
  );

  check(
    "the first picture comes in slices, on the page's background",
    async ({ page, open }) => {
      await page.addInitScript(() => {
        // a row takes a millisecond: a slice, of eight, has a few
        let time = 0;
        performance.now = () => ++time;
        const w = window as unknown as { puts: { y: number; h: number; below: number[] }[] },
          put = CanvasRenderingContext2D.prototype.putImageData;
        w.puts = [];
        CanvasRenderingContext2D.prototype.putImageData = function (
          this: CanvasRenderingContext2D,
          ...a: [ImageData, number, number, number, number, number, number]
        ) {
          if (this.canvas.className === "pixels")
            w.puts.push({
              y: a[4] ?? 0,
              h: a[6] ?? this.canvas.height,
              below: [...this.getImageData(5, this.canvas.height - 1, 1, 1).data],
            });
          put.apply(this, a);
        } as typeof put;
      });
      await open("#t=a1");
      const { puts, height } = await page.evaluate(() => ({
        puts: (window as unknown as { puts: { y: number; h: number; below: number[] }[] }).puts,
        height: document.querySelector<HTMLCanvasElement>("canvas.pixels")?.height ?? 0,
      }));
      // rows follow each other without a gap, then the whole
      expect(puts[0].y).toBe(0);
      const whole = puts.findIndex((p) => p.h === height);
      expect(whole).toBeGreaterThan(5);
      for (let i = 1; i < whole; i++) expect(puts[i].y).toBe(puts[i - 1].y + puts[i - 1].h);
      expect(puts[whole - 1].y + puts[whole - 1].h).toBe(height);
      expect(puts[0].below).toEqual([255, 255, 255, 255]);
    },
    true,
  );

  check(
    "a zoom lays out the page once a frame",
    async ({ page, context, open }) => {
      await open("#t=a1");
      const cdp = await context.newCDPSession(page);
      await cdp.send("Performance.enable");
      const layouts = async (): Promise<number> =>
        (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "LayoutCount")?.value ?? 0;
      const before = await layouts();
      const frames = await page.evaluate(async () => {
        // no timer runs meanwhile: what comes beside, such as tiles, would depend on how long frames take
        window.setTimeout = (() => 0) as unknown as typeof window.setTimeout;
        const canvas = document.querySelector("canvas.over"),
          box = canvas?.getBoundingClientRect(),
          first = window.weft.frames().length;
        for (let i = 0; i < 40; i++) {
          canvas?.dispatchEvent(
            new WheelEvent("wheel", {
              bubbles: true,
              cancelable: true,
              clientX: (box?.left ?? 0) + 400,
              clientY: (box?.top ?? 0) + 60,
              deltaY: -30,
            }),
          );
          await new Promise((r) => requestAnimationFrame(r));
        }
        return window.weft.frames().length - first;
      });
      const done = (await layouts()) - before;
      expect(frames).toBeGreaterThan(30);
      // and a few for what comes beside
      expect(done).toBeLessThan(frames * 1.4);
    },
    true,
  );

  check("back leads to the view before, however soon, and not out of the page", async ({ page, open, ready }) => {
    await open("#t=a1&w=1000000~3000000&a=1");
    await page.locator(".plot").focus();
    await page.keyboard.press("Home");
    await page.waitForFunction(() => window.weft.view().from === "0");
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => window.weft.view().from === "1000000");
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => document.body.innerText.includes("this is the first view"));
    await ready();
    expect(await page.evaluate(() => window.weft.view().from)).toBe("1000000");
  });

  check("a note takes what is typed next", async ({ page, open }) => {
    await open("#t=a1&w=1000000~3000000&a=1");
    await page.locator(".plot").focus();
    await page.keyboard.press("b");
    await page.waitForFunction(() => document.activeElement instanceof HTMLTextAreaElement);
    await page.keyboard.type("all at rest");
    expect(
      await page.evaluate(() => [(document.activeElement as HTMLTextAreaElement).value, window.weft.view().from]),
    ).toEqual(["all at rest", "1000000"]);
    // all of its lines are seen
    await page.keyboard.press("Enter");
    await page.keyboard.type("but one");
    expect(
      await page.evaluate(() => {
        const a = document.activeElement as HTMLTextAreaElement;
        return [a.rows, a.scrollHeight - a.clientHeight];
      }),
    ).toEqual([2, 0]);
    await page.keyboard.press("Escape");
    // what a note would be for is what is there now
    const add = page.getByRole("button", { name: /^Add for/ });
    expect(await add.innerText()).toBe("Add for window");
    await page.locator(".plot").focus();
    await page.keyboard.press("r");
    await page.getByRole("button", { name: "Add for range" }).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("button", { name: "Add for window" }).waitFor();
  });

  check("on a large screen the tables have the room that rows leave", async ({ page, open, ready }) => {
    const height = (): Promise<number> => page.locator(".dock").evaluate((e) => e.clientHeight);
    await open("#t=a1&f=CPU");
    expect(await height()).toBe(266);
    await page.setViewportSize({ width: 1280, height: 1600 });
    await page.waitForFunction(() => innerHeight === 1600);
    await ready();
    expect(await height()).toBeGreaterThan(600);
    // rows that come need it
    await page.getByLabel("Show only rows").fill("");
    await ready();
    expect(await height()).toBe(266);
  });

  // How fast that is, the benchmark measures.
  check("the view moves while a key is held", async ({ page, open, ready }) => {
    await open("#t=a1&w=1000000~3000000&a=1");
    const before = await page.evaluate(() => ({ from: window.weft.view().from, frames: window.weft.frames().length }));
    await page.locator(".plot").focus();
    await page.keyboard.down("d");
    await page.waitForFunction(
      (b) => window.weft.view().from !== b.from && window.weft.frames().length > b.frames + 5,
      before,
    );
    await page.keyboard.up("d");
    await ready();
    const there = await page.evaluate(() => window.weft.view().from);
    await ready();
    expect(await page.evaluate(() => window.weft.view().from)).toBe(there);
  });

  check("counters of the range, in the export too", async ({ page, open, exported }) => {
    await open("#t=a1&p=counters&r=1000000~2000000");
    expect(await page.locator("#panel table").innerText()).toContain("memory");
    const rows = await exported(),
      t = synthetic("a1", "ring.otf2", 64, 60).tracks.filter((x) => x.kind === "counter");
    expect(rows[0]).toEqual([
      "counter",
      "unit",
      "values",
      "first",
      "last",
      "min",
      "mean",
      "max",
      "increase",
      "per second",
    ]);
    for (const [i, x] of t.entries()) {
      const v = x.values.filter(([at]) => at >= 1000000 && at < 2000000).map(([, y]) => y),
        row = rows.find((r) => r[0].endsWith(x.name) && (i === 3 || r[0].includes(`process ${i} `)));
      expect(row?.slice(1, 6)).toEqual([
        x.unit,
        String(v.length),
        String(v[0]),
        String(v[v.length - 1]),
        String(Math.min(...v)),
      ]);
    }
  });

  check("utilisation and locations are of the range", async ({ page, open, ready, exported }) => {
    const bar = page.locator(".scope"),
      t = synthetic("a1", "ring.otf2", 64, 60),
      from = 1000000,
      to = 2000000;
    const inside = (spans: { start: number; end: number; region: number }[]): number =>
      spans.reduce((n, s) => n + Math.max(0, Math.min(s.end, to) - Math.max(s.start, from)), 0);
    // MPI is overhead, and idle is what is in no region
    let overhead = 0,
      busy = 0,
      all = 0;
    for (const x of t.tracks)
      if (x.kind === "location") {
        const o = inside(x.spans[2].filter((s) => t.regions[s.region].group === "MPI"));
        overhead += o;
        busy += inside(x.spans[0]) - o;
        all += to - from;
      }
    const words = `busy ${((100 * busy) / all).toFixed(1)} % overhead ${((100 * overhead) / all).toFixed(1)} %`;
    await open(`#t=a1&p=utilisation&r=${from}~${to}`);
    expect(await bar.innerText()).toContain("range of 1 ms");
    expect((await bar.innerText()).replace(/\s+/g, " ")).toContain(words);
    await page.getByRole("button", { name: "use window" }).click();
    await ready();
    expect(await bar.innerText()).toContain("window:");
    expect((await bar.innerText()).replace(/\s+/g, " ")).not.toContain(words);
    await open(`#t=a1&p=locations&r=${from}~${to}`);
    const rows = await exported();
    expect(rows[0].slice(0, 5)).toEqual([
      "location",
      "busy (ticks)",
      "overhead (ticks)",
      "idle (ticks)",
      "in regions (ticks)",
    ]);
    expect(rows.slice(1).reduce((n, r) => n + Number(r[1]), 0)).toBe(busy);
    expect(rows.slice(1).reduce((n, r) => n + Number(r[2]), 0)).toBe(overhead);
    // sorted by work; what a row is of stays when the table is scrolled
    expect(Number(rows[1][1])).toBe(Math.max(...rows.slice(1).map((r) => Number(r[1]))));
    const cell = page.locator("#panel tbody td").first(),
      x = (await cell.boundingBox())?.x ?? -1;
    await page.locator("#panel").evaluate((e) => {
      e.scrollLeft = e.scrollWidth;
    });
    expect(Math.abs(((await cell.boundingBox())?.x ?? 1e9) - x)).toBeLessThan(10);
    expect(
      await page.locator("#panel").evaluate((e) => {
        const r = e.querySelector("thead")?.lastElementChild?.lastElementChild?.getBoundingClientRect();
        return (r?.right ?? 1e9) <= e.getBoundingClientRect().right + 1;
      }),
    ).toBe(true);
  });

  check("an empty chart says why", async ({ page, open }) => {
    await page.route("**/api/traces/a1/states**", (r) =>
      r.fulfill({
        contentType: "application/json",
        body: '{"processors":0,"busy":"0","overhead":"0","idle":"0","rows":[]}',
      }),
    );
    await open("#t=a1&p=utilisation");
    expect(await page.locator("#panel").innerText()).toContain("No process, thread or stream");
    await page.unroute("**/api/traces/a1/states**");
  });

  check("the overview says each fact once, in words", async ({ page, open }) => {
    await open("#t=a1&p=overview");
    const said = await page.locator("#panel .facts2 dt").allInnerTexts(),
      text = await page.locator("#panel").innerText();
    expect(new Set(said).size).toBe(said.length);
    expect(text).toContain("1.18 MiB in 2 files");
    expect(text).toContain("64 locations");
    expect(text).toContain("1 error, 1 warning");
    expect(text).toContain("a<b>");
    expect(text).not.toMatch(/entries|\bnull\b|\{|undefined/);
  });

  check("a defect leads to its place, which is marked", async ({ page, open, ready, view }) => {
    await open("#t=a1&p=defects");
    await page.locator("#panel tbody tr", { hasText: "receive before its send" }).click();
    await page.waitForURL(/[&]m=250000~/);
    await ready();
    const v = await view(),
      from = Number(v.from),
      to = Number(v.to);
    expect(to - from).toBeLessThan(600000);
    expect(from).toBeLessThan(250000);
    expect(to).toBeGreaterThan(250000);
    expect(v.selection).toMatch(/^0\.3\./);
    // a second click stays there
    await page.locator("#panel tbody tr", { hasText: "receive before its send" }).click();
    await ready();
    expect(await view()).toMatchObject({ from: v.from, to: v.to });
    // what has no place looks so
    const other = page.locator("#panel tbody tr", { hasText: "no definition" });
    expect(await other.innerText()).toContain("no place");
    expect([await other.getAttribute("tabindex"), await other.getAttribute("title")]).toEqual([
      null,
      expect.stringContaining("no row and no time"),
    ]);
  });

  check("visits have callers, claims have none", async ({ page, open }) => {
    const row = async (track: number, time: number): Promise<void> => {
      await page.route("**/api/traces/a1/span**", async (r) => {
        const a = await r.fetch(),
          d = (await a.json()) as Record<string, unknown>;
        await r.fulfill({ json: { ...d, around: [{ region: 0, name: "main", start: "0", end: "9", depth: 0 }] } });
      });
      await open(`#t=a1&s=0.${track}.1.${time}`);
      await page.unroute("**/api/traces/a1/span**");
    };
    const tracks = synthetic("a1", "ring.otf2", 64, 60).tracks;
    await row(0, 700000);
    expect(await page.locator(".details").innerText()).toContain("Called from");
    const resource = tracks.findIndex((x) => x.kind === "resource");
    await row(resource, tracks[resource].spans[1][2].start + 1);
    expect(await page.locator(".details h2").innerText()).toContain("job");
    expect(await page.locator(".details").innerText()).not.toContain("Called from");
  });

  check("a call tree says what is left out of it, in its export too", async ({ page, open, exported }) => {
    await open("#t=a1&p=calltree");
    await page.getByRole("button", { name: "Open all" }).click();
    const says = /(\d+) of (\d+) call paths, those with least time, are left out: [\d.]+ % of the time/,
      text = await page.locator("#panel").innerText(),
      m = says.exec(text);
    expect(Number(m?.[1])).toBeGreaterThan(0);
    expect(text).toMatch(/… \d+ call paths? with less time/);
    const lines = (await exported()).slice(1);
    expect(lines.length).toBe(Number(m?.[2]) - Number(m?.[1]) + 1);
    expect(lines[lines.length - 1].join(",")).toMatch(says);
  });

  check("how tables are sorted and what the profile lists is in the address", async ({ page, open, ready }) => {
    await open("#t=a1&p=profile");
    await page.getByLabel("Rows of the profile").selectOption("group");
    await ready();
    await page.locator("#panel th button", { hasText: "count" }).click();
    await page.getByLabel("Filter the table").fill("compute");
    await page.waitForURL(/v=profile\.by:group&v=profile\.filter:compute&v=profile\.sort:-count/);
    const link = page.url(),
      seen = await page.locator("#panel table").innerText();
    await open(link.slice(link.indexOf("#")));
    expect(await page.locator("#panel th[aria-sort]").innerText()).toBe("count ▼");
    expect(await page.locator("#panel table").innerText()).toBe(seen);
    // the address alone may change
    await page.evaluate(() => {
      location.hash = location.hash.replace("profile.sort:-count", "profile.sort:count");
    });
    await page.locator("#panel th[aria-sort='ascending']", { hasText: "count" }).waitFor();
  });

  check("the profile says that it counts rows that are hidden", async ({ page, open }) => {
    await open("#t=a1&p=profile");
    expect(await page.locator(".scope").innerText()).not.toContain("not shown");
    await open("#t=a1&p=profile&f=CPU");
    expect(await page.locator(".scope").innerText()).toContain("all 70 rows, 69 of them not shown");
  });

  check("the profile has no colours of regions where rows have theirs", async ({ page, open }) => {
    await open("#t=a1&p=profile");
    expect(await page.locator("#panel .swatch").count()).toBeGreaterThan(5);
    await open("#t=a1&p=profile&color=track");
    expect(await page.locator("#panel tbody tr").count()).toBeGreaterThan(5);
    expect(await page.locator("#panel .swatch").count()).toBe(0);
  });

  check("attributes that are still being read are said to be missing, and come", async ({ page, url, ready }) => {
    const seen = partly(page, "**/api/traces/b2/span?**", (d) => ({ ...d, attributes: [] }));
    await page.goto(url + "#t=b2&s=0.0.2.700000");
    const details = page.locator(".details");
    await details.getByText("still being read").waitFor();
    expect(await details.innerText()).not.toContain("<b>not bold</b>");
    seen();
    await ready();
    expect(await details.innerText()).toContain("<b>not bold</b>");
    expect(await details.innerText()).not.toContain("still being read");
  });

  check("with two traces a region has one colour, that of the legend", async ({ page, open }) => {
    // the second trace has the same names in other colours
    await page.route("**/api/traces/b2", async (r) => {
      const m = (await (await r.fetch()).json()) as { regions?: { color: number }[] };
      m.regions?.forEach((x, i) => {
        x.color = (i + 5) % 12;
      });
      await r.fulfill({ json: m });
    });
    await open("#t=a1,b2&l=1&sh=18&a=0");
    const colors = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLCanvasElement>(".pixels")].map((c) =>
        [...(c.getContext("2d")?.getImageData(400, 44, 1, 1).data ?? [])].join(),
      ),
    );
    expect(colors).toEqual(["0,114,178,255", "0,114,178,255"]);
    expect(
      await page
        .locator(".legend button", { hasText: /^main$/ })
        .locator(".swatch")
        .evaluate((e) => getComputedStyle(e).backgroundColor),
    ).toBe("rgb(0, 114, 178)");
  });

  check("the tip of a counter names its location, and goes when rows are filtered", async ({ page, open, ready }) => {
    await open("#t=a1&sh=18&l=1&f=memory");
    const box = await page.locator(".plot").boundingBox(),
      tip = page.locator(".tip");
    if (!box) throw new Error("no time line");
    const row = await page.evaluate(() => window.weft.layout().rows.find((r) => r.strips.some((s) => s.kind > 1)));
    if (!row) throw new Error("no curve");
    await page.mouse.move(box.x + 300, box.y + row.y + row.height / 2);
    await tip.getByText("memory").waitFor();
    expect(await tip.locator("b").innerText()).toContain("process 0");
    await page.evaluate(() => {
      const f = document.querySelector<HTMLInputElement>(".corner input");
      if (f) {
        f.value = "no such row";
        f.dispatchEvent(new Event("input"));
      }
    });
    await ready();
    expect(await tip.isVisible()).toBe(false);
  });

  check("both figures of Compare are of the visible window", async ({ page, open, ready }) => {
    // the second trace is more than twice as long: windows that reach behind the first one's end are still windows of it
    const far = 3 * synthetic("a1", "ring.otf2", 64, 60).length,
      asked: string[] = [];
    await page.route("**/api/traces/b2", async (r) => {
      const m = (await (await r.fetch()).json()) as { length?: string };
      await r.fulfill({ json: { ...m, length: String(far) } });
    });
    page.on("request", (q) => {
      if (q.url().includes("/b2/profile")) asked.push(new URL(q.url()).search);
    });
    await open("#t=a1,b2&p=compare");
    const to = Math.floor(far / 2);
    await page.evaluate((w) => {
      location.hash = `#t=a1,b2&p=compare&w=0~${w}`;
    }, to);
    await ready();
    expect(asked.at(-1)).toContain(`to=${to}&`);
    expect(await page.locator(".scope .what").innerText()).toContain(
      `${(to / 1e6).toFixed(6).replace(/(\d{3})$/, " $1")} ms)`.slice(-4),
    );
    // one that lies behind the first trace has nothing of it
    await page.evaluate(
      ([a, b]) => {
        location.hash = `#t=a1,b2&p=compare&w=${a}~${b}`;
      },
      [far / 2, far - 10].map(Math.floor),
    );
    await ready();
    expect(await page.locator("#panel tbody tr").allInnerTexts()).toEqual([]);
  });

  check("the pair of a list of messages has full names", async ({ page, open, ready }) => {
    await open("#t=a1&p=messages");
    await page.locator("#panel tbody tr", { hasText: "process 1" }).first().click();
    await ready();
    const pair = /^(\d+)~(\d+)$/.exec(decodeURIComponent(/messages\.pair:([^&]*)/.exec(page.url())?.[1] ?? "")),
      full = (k: string | undefined): string => {
        const t = traces[0].tracks[Number(k)];
        return `${traces[0].groups[t.group].name} · ${t.name}`;
      };
    expect(await page.locator("#panel .side p").first().innerText()).toBe(
      `all pairs › ${full(pair?.[1])} → ${full(pair?.[2])}`,
    );
  });

  check("Compare follows the shift of a trace", async ({ page, open, ready }) => {
    const asked: string[] = [];
    page.on("request", (q) => {
      if (q.url().includes("/b2/profile")) asked.push(new URL(q.url()).search);
    });
    await open("#t=a1,b2&p=compare&r=1000000~3000000");
    expect(asked.at(-1)).toContain("from=1000000&to=3000000&");
    const field = page.getByLabel(/shift/i).last();
    await field.fill("500 µs");
    await field.press("Enter");
    await ready();
    expect(page.url()).toContain("shift=0,500000");
    expect(asked.at(-1)).toContain("from=500000&to=2500000&");
  });

  check("following a message shows both its ends and marks its arrow", async ({ page, open, ready, view }) => {
    await open("#t=a1&a=0&sh=8&w=681017~682017&s=0.0.0.681100");
    const link = traces[0].links.find((l) => l.from.track === 0 && l.from.time > 1000000);
    if (!link) throw new Error("no message");
    await open(`#t=a1&a=0&sh=8&w=${link.from.time - 100}~${link.from.time + 100}&s=0.0.2.${link.from.time}`);
    await page.locator(".details .links button").first().click();
    await ready();
    const v = await view();
    expect(Number(v.from)).toBeLessThan(link.from.time);
    expect(Number(v.to)).toBeGreaterThan(link.to.time);
    // its arrow is drawn though others are not: a pixel of the accent between both ends
    const accent = await page.evaluate(() => {
      const c = document.querySelector<HTMLCanvasElement>(".over"),
        d = c?.getContext("2d")?.getImageData(0, 0, c.width, c.height).data ?? [];
      let n = 0;
      for (let i = 0; i < d.length; i += 4) if (d[i] === 11 && d[i + 1] === 98 && d[i + 2] === 196) n++;
      return n;
    });
    expect(accent).toBeGreaterThan(20);
  });

  check("Z on a message zooms to it", async ({ page, open, ready, view }) => {
    const link = traces[0].links[40];
    await open(`#t=a1&k=0.${link.from.track}.${link.from.time}.${link.id}`);
    const before = await view();
    await page.locator(".plot").focus();
    await page.keyboard.press("z");
    await ready();
    const v = await view();
    expect(Number(v.to) - Number(v.from)).toBeLessThan((Number(before.to) - Number(before.from)) / 20);
    expect(Number(v.from)).toBeLessThan(link.from.time);
    expect(Number(v.to)).toBeGreaterThan(link.to.time);
  });

  check("the list of messages stays when one is clicked", async ({ page, open, ready, view }) => {
    await open("#t=a1&p=messages&v=messages.pair:0~1");
    const rows = page.locator("#panel .side tbody tr"),
      high = (): Promise<number> =>
        page.locator("#panel .side table").evaluate((e) => Math.round(e.getBoundingClientRect().height)),
      n = await high();
    // rows that are not seen have their room
    expect(n).toBeGreaterThan(800);
    await rows.nth(5).click();
    await ready();
    expect(Math.abs((await high()) - n)).toBeLessThan(30);
    expect(await page.locator(".details h2").innerText()).toContain("message");
    const v = await view(),
      l = traces[0].links.filter((x) => x.from.track === 0 && x.to.track === 1)[5];
    expect(Number(v.from)).toBeLessThan(l.from.time);
    expect(Number(v.to)).toBeGreaterThan(l.to.time);
  });

  check("on a small screen with two traces all buttons can be reached", async ({ page, open }) => {
    await page.setViewportSize({ width: 800, height: 600 });
    await open("#t=a1,b2&o=busy");
    const outside = await page.evaluate(() =>
      [
        ...document.querySelectorAll<HTMLElement>(
          "header.bar button, header.bar select, header.bar input, .corner button, .corner select, .corner input",
        ),
      ]
        .filter((e) => !e.hidden)
        .map((e) => ({ name: e.title || e.ariaLabel, r: e.getBoundingClientRect() }))
        .filter(({ r }) => r.right > innerWidth || r.left < 0 || r.bottom > innerHeight || r.width < 12)
        .map(({ name, r }) => `${name ?? ""} ${r.left}-${r.right}`),
    );
    expect(outside).toEqual([]);
    expect(
      await page.evaluate(() => document.querySelector(".lanes")?.getBoundingClientRect().height ?? 0),
    ).toBeGreaterThan(100);
  });

  check("on a small screen all tabs can be seen and clicked", async ({ page, open }) => {
    await page.setViewportSize({ width: 800, height: 600 });
    for (const traces of ["a1", "a1,b2"]) {
      await open(`#t=${traces}`);
      // what is clicked in the middle and at both ends of a tab is that tab
      const covered = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>("[role=tab]")]
          .filter((e) => {
            const r = e.getBoundingClientRect();
            return [r.left + 2, r.left + r.width / 2, r.right - 2].some(
              (x) => !e.contains(document.elementFromPoint(x, r.top + r.height / 2)),
            );
          })
          .map((e) => e.innerText),
      );
      expect(covered).toEqual([]);
      expect(
        await page.evaluate(() => document.querySelector("#panel")?.getBoundingClientRect().height ?? 0),
      ).toBeGreaterThan(100);
    }
  });

  check("rows sorted anew are shown from the top", async ({ page, open, ready }) => {
    const scroll = (): Promise<number> => page.evaluate(() => window.weft.view().scroll);
    await open("#t=a1&sh=12&y=0/t20:0");
    expect(await scroll()).toBeGreaterThan(100);
    await page.getByLabel("Order of rows").selectOption("busy");
    await ready();
    expect(await scroll()).toBe(0);
    await page.locator(".plot").focus();
    await page.keyboard.press("PageDown");
    await ready();
    await page.getByRole("button", { name: "Sort again" }).click();
    await ready();
    expect(await scroll()).toBe(0);
  });

  check("arrow down goes to the callee in view", async ({ page, open, ready, view }) => {
    const main = traces[0].tracks[0].spans[0][0],
      calls = traces[0].tracks[0].spans[1],
      c = calls[30];
    // the window is within one call of main: that is the one in view
    await open(`#t=a1&a=0&w=${c.start + 1000}~${c.end - 1000}&s=0.0.0.${main.start + 5}`);
    await page.locator(".plot").focus();
    await page.keyboard.press("ArrowDown");
    await ready();
    const [, , depth, time] = ((await view()).selection ?? "").split(".").map(Number);
    expect(depth).toBe(1);
    expect(time).toBeGreaterThanOrEqual(c.start);
    expect(time).toBeLessThan(c.end);
  });

  check("a link can hold the secret", async ({ page, context, open }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
    await open("#t=a1&w=1000~90000");
    // what is copied, whatever the browser allows
    await page.evaluate(() => {
      const w = window as unknown as { copied: string };
      Object.defineProperty(navigator, "clipboard", {
        configurable: true,
        value: {
          writeText: (t: string) => {
            w.copied = t;
            return Promise.resolve();
          },
        },
      });
    });
    await page.getByRole("button", { name: "Picture or table as a file" }).click();
    await page.getByRole("button", { name: "for another browser" }).click();
    await page.getByText("link with the secret copied").waitFor();
    const u = new URL(await page.evaluate(() => (window as unknown as { copied: string }).copied));
    expect(u.searchParams.get("token")).toBe("open-sesame");
    expect(u.hash).toContain("w=1000~90000");
  });

  /** calls are those of a region in a time, in all rows, the longest part first. */
  const calls = (region: string, from = 0, to = Infinity): { track: number; start: number; end: number }[] => {
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
  const part = (c: { start: number; end: number }, from: number, to: number): number =>
    Math.min(c.end, to) - Math.max(c.start, from);

  check(
    "the calls of a region in a range by duration, with a threshold, lead to their places",
    async ({ page, open, ready, view, exported }) => {
      const from = calls("compute")[8].end - 10000,
        [to, least] = [from + 1500000, 20000],
        time = (c: { start: number; end: number }): number => c.end - c.start,
        long = calls("compute", from, to)
          .filter((c) => time(c) >= least)
          .sort((a, b) => time(b) - time(a) || a.start - b.start);
      await open(`#t=a1&p=calls&r=${from}~${to}&v=calls.least:> 20 us&v=calls.region:compute`);
      const rows = await exported();
      expect(rows[0]).toEqual(["start (ticks)", "in this time (ticks)", "duration (ticks)", "row"]);
      expect(rows.slice(1, 4).map((r) => [Number(r[0]), Number(r[1]), Number(r[2])])).toEqual(
        long.slice(0, 3).map((c) => [c.start, part(c, from, to), c.end - c.start]),
      );
      expect(rows.length - 1).toBe(long.length);
      // some are long enough in all, but not their part in this time
      expect(rows.slice(1).filter((r) => Number(r[1]) < least).length).toBe(
        long.filter((c) => part(c, from, to) < least).length,
      );
      expect(rows.slice(1).some((r) => Number(r[1]) < least)).toBe(true);
      await page.locator("#panel tbody tr").nth(2).click();
      await ready();
      expect((await view()).selection).toBe(`0.${long[2].track}.2.${long[2].start}`);
      // the list is still that of the range, and another threshold makes another one
      expect((await exported())[3][0]).toBe(String(long[2].start));
      await page.getByLabel("Shortest call that is listed").fill("100 us");
      await page.keyboard.press("Enter");
      await ready();
      expect((await exported()).length - 1).toBe(calls("compute", from, to).filter((c) => time(c) >= 100000).length);
      for (const text of ["-1 ms", "> soon"]) {
        await page.getByLabel("Shortest call that is listed").fill(text);
        await page.keyboard.press("Enter");
        await ready();
        expect(await page.locator("#panel .error").innerText()).toBe(
          `the threshold is a time of 0 or more, such as 1 ms or 20 µs; found ${text}`,
        );
      }
      // longer than any time of the server
      await page.getByLabel("Shortest call that is listed").fill("99999999999 s");
      await page.keyboard.press("Enter");
      await ready();
      expect(await page.locator("#panel .error").count()).toBe(0);
      expect(await page.locator("#panel tbody tr").allInnerTexts()).toEqual([]);
    },
  );

  check("the greatest time in the profile leads to its call", async ({ page, open, ready, view }) => {
    await open("#t=a1&w=1000000~3000000");
    const best = calls("compute", 1000000, 3000000).sort(
      (a, b) => part(b, 1000000, 3000000) - part(a, 1000000, 3000000),
    )[0];
    await page
      .locator("#panel tr", { hasText: "compute" })
      .getByRole("button", { name: /go to the longest/ })
      .click();
    await ready();
    expect((await view()).selection).toBe(`0.${best.track}.2.${best.start}`);
    expect(page.url()).toContain("&r=1000000~3000000");
  });

  check("the greatest time of a call path leads to its call", async ({ page, open, ready, view }) => {
    await open("#t=a1&w=1000000~3000000&p=calltree");
    const best = calls("compute", 1000000, 3000000).sort(
      (a, b) => part(b, 1000000, 3000000) - part(a, 1000000, 3000000),
    )[0];
    await page.getByRole("button", { name: "Open all" }).click();
    await page
      .locator("#panel tr", { hasText: "compute" })
      .first()
      .getByRole("button", { name: /go to the longest/ })
      .click();
    await ready();
    expect((await view()).selection).toBe(`0.${best.track}.2.${best.start}`);
  });

  check("hits of the search are counted and stepped through in all rows", async ({ page, open, ready, view }) => {
    const all = calls("MPI_Allreduce").sort((a, b) => a.start - b.start || a.track - b.track),
      total = String(all.length).replace(/(\d)(?=(\d{3})+$)/g, "$1\u202F");
    await open("#t=a1&f=process%201");
    const box = page.locator(".search input"),
      hits = page.locator(".search .hits");
    await box.fill("MPI_Allreduce");
    for (const n of [1, 2, 3]) {
      await page.keyboard.press("Enter");
      await ready();
      expect((await hits.innerText()).replace(/[\u00A0\u2009]/g, "\u202F")).toContain(`${n} of ${total}`);
      expect((await view()).selection).toBe(`0.${all[n - 1].track}.2.${all[n - 1].start}`);
    }
    // rows that are filtered away come back
    expect(page.url()).not.toContain("f=process");
    await page.keyboard.press("Shift+Enter");
    await ready();
    expect((await view()).selection).toBe(`0.${all[1].track}.2.${all[1].start}`);
    await page.getByRole("button", { name: "Next hit" }).click();
    await ready();
    expect((await view()).selection).toBe(`0.${all[2].track}.2.${all[2].start}`);
  });

  check(
    "a range snaps to edges, has edges to drag, and comes from two spans or what is measured",
    async ({ page, open, ready }) => {
      const spans = traces[0].tracks[0].spans[2],
        [a, b] = [spans[0], spans[3]],
        from = 0,
        to = b.end + 20000;
      await open(`#t=a1&a=0&sh=18&w=${from}~${to}`);
      const box = await page.locator(".plot").boundingBox(),
        range = (): RegExpExecArray | null => /&r=(\d+)~(\d+)/.exec(page.url());
      if (!box) throw new Error("no time line");
      const row = await page.evaluate(() =>
        window.weft
          .layout()
          .rows.find((r) => r.track === 0)
          ?.strips.find((s) => s.depth === 2 && s.kind === 0),
      );
      if (!row) throw new Error("no row");
      const x = (t: number): number => box.x + ((t - from) / (to - from)) * box.width,
        y = box.y + row.y + row.height / 2;
      await page.keyboard.down("Alt");
      await page.mouse.move(x(a.start) + 4, y);
      await page.mouse.down();
      await page.mouse.move(x(a.end) - 40, y);
      await page.mouse.move(x(a.end) - 5, y);
      await page.mouse.up();
      await page.keyboard.up("Alt");
      await ready();
      expect(range()?.slice(1)).toEqual([String(a.start), String(a.end)]);
      // the right edge goes to the end of another span
      await page.mouse.move(x(a.end) + 1, y);
      await page.mouse.down();
      await page.mouse.move(x(b.end) - 60, y);
      await page.mouse.move(x(b.end) - 4, y);
      await page.mouse.up();
      await ready();
      expect(range()?.slice(1)).toEqual([String(a.start), String(b.end)]);
      // from two spans: the first is selected, the second gets a click with shift
      await page.keyboard.press("Escape");
      const [c, d] = [spans.filter((s) => s.region === 2)[0], spans.filter((s) => s.region === 2)[1]];
      await page.mouse.click(x((d.start + d.end) / 2), y);
      await ready();
      await page.keyboard.down("Shift");
      await page.mouse.click(x((c.start + c.end) / 2), y);
      await page.keyboard.up("Shift");
      await ready();
      expect(range()?.slice(1)).toEqual([String(c.start), String(d.end)]);
      // from what was measured
      await open(`#t=a1&a=0&w=${from}~${to}&m=5000~90000`);
      await page.locator(".plot").focus();
      await page.keyboard.press("r");
      await ready();
      expect(range()?.slice(1)).toEqual(["5000", "90000"]);
    },
  );

  check("a range snaps to the nearest edge within 14 pixels, wherever it is begun", async ({ page, open, ready }) => {
    // a call that is 5 pixels wide, with nothing for more than 14 before it
    const strip = traces[0].tracks[0].spans[3],
      call = strip.find((s, i) => i > 30 && s.start - strip[i - 1].end > 3 * (s.end - s.start));
    if (!call) throw new Error("no call");
    const width = 1050,
      scale = (call.end - call.start) / 5,
      from = call.start - Math.round(300 * scale),
      to = from + Math.round(width * scale);
    await open(`#t=a1&a=0&sh=18&w=${from}~${to}`);
    const box = await page.locator(".plot").boundingBox(),
      row = await page.evaluate(() =>
        window.weft
          .layout()
          .rows.find((r) => r.track === 0)
          ?.strips.find((s) => s.depth === 3 && s.kind === 0),
      );
    if (!box || !row) throw new Error("no time line");
    const perPixel = (to - from) / box.width,
      y = box.y + row.y + row.height / 2,
      edges = strip.flatMap((s) => [s.start, s.end]);
    for (const dx of [-20, -16, -13, -9, -6, -5, -4, -2, 0, 1, 2, 3, 4, 6, 9, 13]) {
      const x = Math.round((call.start - from) / perPixel) + dx,
        time = from + x * perPixel,
        nearest = edges.reduce((m, e) => (Math.abs(e - time) < Math.abs(m - time) ? e : m));
      await page.keyboard.press("Escape");
      await page.keyboard.down("Alt");
      await page.mouse.move(box.x + x, y);
      await page.mouse.down();
      await page.mouse.move(box.x + x + 100, y);
      await page.mouse.move(box.x + 900, y);
      await page.mouse.up();
      await page.keyboard.up("Alt");
      await ready();
      const at = Number(/&r=(\d+)~/.exec(page.url())?.[1]);
      if (Math.abs(nearest - time) <= 14 * perPixel) expect([dx, at]).toEqual([dx, nearest]);
      else expect([dx, Math.abs(at - time) <= perPixel]).toEqual([dx, true]);
    }
  });

  check("two ranges of one trace are compared", async ({ page, open, ready, exported }) => {
    const [a, b] = [
      [1000000, 2000000],
      [4000000, 6000000],
    ];
    await open(`#t=a1&p=compare&r=${a[0]}~${a[1]}`);
    await page.getByRole("button", { name: "Keep this time as A" }).click();
    await ready();
    await page.evaluate((x) => {
      location.hash = location.hash.replace(/r=[^&]*/, `r=${x[0]}~${x[1]}`);
    }, b);
    await ready();
    const rows = await exported(),
      row = rows.find((r) => r[0] === "compute"),
      counts = [a, b].map(([f, t]) => String(calls("compute", f, t).length));
    expect(row?.slice(-2)).toEqual(counts);
    expect(await page.locator(".scope").innerText()).toContain("A: 1 ms to 2 ms");
  });

  check("a click on a counter tells its exact value", async ({ page, open, ready }) => {
    await open("#t=a1&sh=18&l=1&f=memory&w=1000000~2000000");
    const box = await page.locator(".plot").boundingBox(),
      row = await page.evaluate(() => window.weft.layout().rows.find((r) => r.strips.some((s) => s.kind > 1)));
    if (!box || !row) throw new Error("no curve");
    const counter = traces[0].tracks.find((t) => t.kind === "counter"),
      at = counter?.values.find(([t]) => t >= 1400000);
    if (!at) throw new Error("no value");
    await page.route("**/api/traces/a1/counters?**", async (r) => {
      const u = new URL(r.request().url());
      await r.fulfill({
        json: {
          rows: [
            { track: Number(u.searchParams.get("tracks")), samples: 0, first: at[1], last: at[1], holding: "next" },
          ],
        },
      });
    });
    await page.mouse.click(box.x + box.width * 0.4 + 1, box.y + row.y + row.height / 2);
    await ready();
    const text = await page.locator(".details").innerText();
    expect(text).toContain("process 0 · memory");
    expect(text.replace(/[\u202F\u00A0]/g, "")).toContain(String(at[1]));
  });

  check("a counter shows its rate as a curve, also from a link", async ({ page, open, ready }) => {
    const pixels = (): Promise<string> =>
      page.evaluate(() => {
        const c = document.querySelector<HTMLCanvasElement>(".pixels"),
          r = window.weft.layout().rows.find((x) => x.strips.some((s) => s.kind > 1));
        return c && r ? [...(c.getContext("2d")?.getImageData(0, r.y, c.width, r.height).data ?? [])].join() : "";
      });
    await open("#t=a1&sh=18&l=1&f=memory&w=1000000~2000000");
    const values = await pixels(),
      label = page.locator(".label", { hasText: "memory" }).first();
    await label.click({ button: "right" });
    await page.getByRole("menuitem", { name: "Show the rate" }).click();
    await ready();
    const rate = await pixels();
    expect(rate).not.toBe(values);
    expect(await label.locator(".range [data-text]").first().getAttribute("data-text")).toMatch(/MiB\/s$/);
    await open(page.url().slice(page.url().indexOf("#")));
    expect(await pixels()).toBe(rate);
    await label.click({ button: "right" });
    await page.getByRole("menuitem", { name: "Show the values" }).click();
    await ready();
    expect(await pixels()).toBe(values);
  });

  check("files that are dropped are opened, after asking", async ({ page, open, ready, view }) => {
    const drop = (...names: string[]): Promise<void> =>
      page.evaluate((all) => {
        const d = new DataTransfer();
        for (const n of all) d.items.add(new File(["some bytes"], n));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true }));
      }, names);
    const dialog = page.locator("dialog");
    await open("#t=a1");
    await drop("new.otf2", "new.def");
    await dialog.getByText("2 files, 20 B").waitFor();
    await dialog.getByRole("button", { name: "Leave the files" }).click();
    expect((await view()).rows).toBeGreaterThan(0);
    await drop("a.txt");
    await dialog.getByRole("button", { name: "Copy the files" }).click();
    await dialog.getByText("none of which is a trace").waitFor();
    await dialog.getByRole("button", { name: "Leave the files" }).click();
    await drop("new.otf2");
    await dialog.getByRole("button", { name: "beside" }).click();
    await page.locator(".lane").nth(1).waitFor();
    await ready();
    expect(page.url()).toContain("#t=a1,b2");
  });
});
