// The page in a browser.
import { expect } from "vitest";
import type { Route } from "playwright-core";
import { content } from "./browser/page.mjs";
import { pageTests } from "./pagetests";

pageTests("the page", (check) => {
  check("lists several traces, and states why one failed", async ({ page, open }) => {
    await open("");
    expect(await page.locator("main.start").innerText()).toContain("ring.otf2");
    await open("#t=f1");
    expect(await page.locator("main.start").innerText()).toContain("the file ends at byte 812");
  });

  check("shows the whole trace in full resolution, and names only as text", async ({ page, open, view }) => {
    await open("#t=a1");
    const v = await view();
    expect(v.from).toBe("0");
    expect(v.sharp).toBe(true);
    expect(v.rows).toBeGreaterThan(64);
    expect(await page.locator(".legend").innerText()).toContain("<img src=x onerror=alert(1)>");
    expect(await page.locator("img").count()).toBe(0);
  });

  check("pixels have the colours of regions", async ({ page, open }) => {
    await open("#t=a1&l=1&sh=18");
    // the first level is one span of main: blue from its start to its end
    const pixel = await page.evaluate(() => {
      const c = document.querySelector<HTMLCanvasElement>(".pixels");
      const y = 18 + 18 + 8;
      return [...(c?.getContext("2d")?.getImageData(400, y, 1, 1).data ?? [])];
    });
    expect(pixel).toEqual([0, 0x72, 0xb2, 255]);
  });

  check("the legend lists the colours on the screen, whatever was shown before", async ({ page, open, ready }) => {
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

  check("the wheel zooms at the pointer; the URL and back restore views", async ({ page, open, ready, view }) => {
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
    "the address has the view before the user leaves the page, and a movement is one step back",
    async ({ page, open, ready, view }) => {
      // time stands still: long deferred work is counted, and done when the page is hurried
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
      // the address is not written yet: it will be later, or when the page is left
      expect(page.url()).not.toContain(await fragment());
      await page.reload();
      await ready();
      expect(await view()).toMatchObject({ from: before.from, to: before.to });
      expect(await page.evaluate(() => history.length)).toBe(entries + 1);
      // while the state keeps changing, the time of the write stays the same
      await wheel(-20);
      await page.waitForURL(new RegExp(await fragment()));
      const was = await late();
      for (let i = 0; i < 8; i++) await wheel(-20);
      expect(await late()).toBe(was + 1);
      expect(page.url()).not.toContain(await fragment());
      await ready();
      expect(page.url()).toContain(await fragment());
      // a choice is written at once
      await wheel(-20);
      await page.getByRole("tab", { name: "Locations" }).click();
      await page.waitForURL(/p=locations/);
      expect(page.url()).toContain(await fragment());
    },
    true,
  );

  check("two traces share the axis", async ({ page, open }) => {
    await open("#t=a1,b2&p=diff&v=diff.rows:all");
    expect(await page.locator(".lane").count()).toBe(2);
    expect(await page.locator("#panel").innerText()).toContain("MPI_Allreduce");
  });

  check("rows are sorted by the window, and again on request", async ({ page, open, ready }) => {
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

  check("the address restores the scroll position of the rows and their order", async ({ page, open, ready }) => {
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
    // sorted by the current window, the order would be another
    await page.getByRole("button", { name: "Sort again" }).click();
    await ready();
    expect(page.url()).toContain(`&ow=${before.from}~${before.to}`);
  });

  check(
    "the page reports an address that it does not understand, and keeps its valid parts",
    async ({ page, open, ready, view }) => {
      await open("#t=a1,nope&w=5~x&color=red&zz=1");
      const hint = page.locator(".hint");
      expect(await hint.innerText()).toContain(
        "Not understood in this address: w=5~x (the whole is shown); color=red (colours are by region); zz=1 and " +
          "1 more.",
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
      expect(await fits("t=a1&p=nothing")).toContain("the profile is shown");
      expect(await page.getByRole("tab", { selected: true }).innerText()).toBe("Profile");
      expect(await fits("t=a1&r=-9~-5&at=-5")).toMatch(/no range is selected.*no place is marked/);
      expect(await fits("t=a1&k=0.1.5.9")).toContain("there is no such message");
      expect(await fits("t=a1&w=100~90000")).toBe("");
    },
  );

  check("the legend names what the colours mean; the mini-map has the same", async ({ page, open, ready }) => {
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
    // no region has this name
    await page.locator(".plot").focus();
    await page.keyboard.press("c");
    await ready();
    expect(page.url()).toMatch(/color=track/);
    expect(page.url()).not.toMatch(/hl=/);
    expect(await legend.innerText()).toMatch(/^each row has its own colour:\s+.*process 0/);
    // from its first row on, each with a colour of its own if there is room
    const own = await legend
      .locator(".swatch")
      .evaluateAll((list) => list.map((x) => getComputedStyle(x).backgroundColor.replace(/[^\d,]/g, "")));
    expect(new Set(own).size).toBeGreaterThan(3);
    expect((await colors()).filter((c) => own.includes(c)).length).toBeGreaterThan(3);
    expect(await colors()).toContain(own[0]);
    // entries without room are counted, and can be shown
    await open("#t=a1&color=track&sh=4");
    const others = page.locator(".legendbox .rest");
    expect(await others.innerText()).toMatch(/^\+\d+$/);
    await others.click();
    expect(await others.getAttribute("aria-expanded")).toBe("true");
    expect((await legend.boundingBox())?.height).toBeGreaterThan(40);
  });

  check("pictures have an axis above the rows, and all names as text", async ({ page, open, view }) => {
    await open("#t=a1&w=681017~822625&sh=18");
    const save = async (title: RegExp): Promise<Buffer> => {
      await page.getByRole("button", { name: "Picture or table as a file" }).click();
      const [d] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: title }).click()]);
      return content(d);
    };
    const svg = (await save(/the same/)).toString("utf8");
    for (const text of ["ring.otf2", "process 0", "kernel_b", "MPI_Recv", "700 µs", "681.017 µs to 822.625 µs"])
      expect(svg.includes(`>${text}</text>`), text).toBe(true);
    // the marks of the axis are between its ends, which are those of the rows
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

  check(
    "during indexing the page shows the progress and the known facts, and then the trace",
    async ({ page, url, ready, view }) => {
      // each answer about the trace waits until the previous one was checked
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
      // the page's clock stands still but for one step
      await page.addInitScript(() => {
        const w = window as unknown as { clock: number };
        w.clock = 0;
        performance.now = () => w.clock;
      });
      await page.goto(url + "#t=s1");
      for (let tenths = 1; tenths < 10; tenths++) {
        const next = await request(),
          percent = page.locator("main.indexing p", { hasText: new RegExp(`^${10 * tenths}(\\.0*)? %`) });
        // a tenth in 3.75 s: eight more take 30 s, a number that is also the next one of percent
        if (tenths === 2)
          await page.evaluate(() => {
            (window as unknown as { clock: number }).clock = 3750;
          });
        expect(await percent.count()).toBe(0);
        await next.continue();
        await percent.waitFor();
        const bar = page.locator("progress"),
          text = await page.locator("main.indexing").innerText();
        expect(Number(await bar.evaluate((e) => (e as HTMLProgressElement).value))).toBeCloseTo(tenths / 10, 9);
        expect(text).toContain("Indexing slow.otf2");
        expect(text).toMatch(new RegExp(`^${10 * tenths}(\\.0*)? %`, "m"));
        expect(await page.title()).toMatch(/^\d+ % slow\.otf2$/);
        if (tenths === 2) expect(text).toContain("about 30 s left");
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
    true,
  );

  check(
    "the page reports a stopped server, an invalid token and a new index",
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
      // else this answer might go to a tile of the previous view
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
    "the first picture is drawn in slices, on the page's background",
    async ({ page, open }) => {
      await page.addInitScript(() => {
        // a row takes a millisecond: a slice of eight has a few
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
      // rows follow each other without a gap, then comes the complete picture
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
    "a zoom computes the layout once for each frame",
    async ({ page, context, open }) => {
      await open("#t=a1");
      const cdp = await context.newCDPSession(page);
      await cdp.send("Performance.enable");
      const layouts = async (): Promise<number> =>
        (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "LayoutCount")?.value ?? 0;
      const before = await layouts();
      const frames = await page.evaluate(async () => {
        // no timer runs meanwhile: other work, such as tiles, would depend on how long frames take
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
      // and a few for other work
      expect(done).toBeLessThan(frames * 1.4);
    },
    true,
  );

  check("back restores the previous view, even at once, and does not leave the page", async ({ page, open, ready }) => {
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

  check("on a large screen the tables use the space that rows leave", async ({ page, open, ready }) => {
    const height = (): Promise<number> => page.locator(".dock").evaluate((e) => e.clientHeight);
    await open("#t=a1&f=CPU");
    expect(await height()).toBe(266);
    await page.setViewportSize({ width: 1280, height: 1600 });
    await page.waitForFunction(() => innerHeight === 1600);
    await ready();
    expect(await height()).toBeGreaterThan(600);
    // new rows need it
    await page.getByLabel("Show only rows").fill("");
    await ready();
    expect(await height()).toBe(266);
  });

  // The benchmark measures how fast that is.
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

  check("with two traces a region has the colour of the legend in both", async ({ page, open }) => {
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

  check("the tooltip of a counter names its location; a filter of rows hides it", async ({ page, open, ready }) => {
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

  check("in a small window the table, the details and the last line can be scrolled to", async ({ page, open }) => {
    for (const [width, height] of [
      [320, 256],
      [640, 400],
      [800, 400],
    ]) {
      await page.setViewportSize({ width, height });
      await open("#t=a1&p=profile");
      const found = await page.evaluate(() => {
        const bottom = Math.max(innerHeight, document.body.scrollHeight);
        return {
          scrolls: bottom === innerHeight || getComputedStyle(document.body).overflowY === "auto",
          hidden: ["#panel", ".details", "footer"].filter((part) => {
            const r = document.querySelector(part)?.getBoundingClientRect();
            return !r || r.width < 200 || r.height < 20 || r.right > innerWidth || r.bottom + scrollY > bottom + 1;
          }),
        };
      });
      expect(found, `${width}x${height}`).toEqual({ scrolls: true, hidden: [] });
    }
  });

  check("in a small window each of two traces has room for some rows", async ({ page, open }) => {
    for (const [width, height] of [
      [400, 700],
      [800, 500],
    ]) {
      await page.setViewportSize({ width, height });
      await open("#t=a1,b2");
      const heights = await page.locator(".lane .plot").evaluateAll((l) => l.map((p) => p.clientHeight));
      expect(heights).toHaveLength(2);
      for (const h of heights) expect(h, `${width}x${height}`).toBeGreaterThan(60);
    }
  });

  check("a window without room for the time line requests nothing for it", async ({ page, open, ready }) => {
    await open("#t=a1&cp=1&wa=1&a=1");
    const empty: string[] = [];
    page.on("request", (r) => {
      if (/width=0\b/.test(r.url())) empty.push(r.url());
    });
    await page.setViewportSize({ width: 200, height: 600 });
    await ready();
    expect(await page.evaluate(() => window.weft.view().width)).toBe(0);
    expect(empty).toEqual([]);
  });

  check("on a small screen all tabs can be seen and clicked", async ({ page, open }) => {
    await page.setViewportSize({ width: 800, height: 600 });
    for (const traces of ["a1", "a1,b2"]) {
      await open(`#t=${traces}`);
      // clicks in the middle and at both ends of a tab hit that tab
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

  check("sorted rows are shown from the top", async ({ page, open, ready }) => {
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

  check("dropped files are opened after a question", async ({ page, open, ready, view }) => {
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
    await dialog.getByRole("button", { name: "together" }).click();
    await page.locator(".lane").nth(1).waitFor();
    await ready();
    expect(page.url()).toContain("#t=a1,b2");
  });
});
