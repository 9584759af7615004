// The page in a browser: selection.
import { expect } from "vitest";
import { calls, pageTests, partly, traces } from "./pagetests";

pageTests("the page: selection", (check) => {
  check("a measurement shows which of its ends lie on edges", async ({ page, open, ready }) => {
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

  check("a click selects a span, keys its neighbours; the details are exact", async ({ page, open, ready, view }) => {
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

  check("links are shown if there are few, and can be selected", async ({ page, open, ready }) => {
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
    // the first answer says that the server is still reading, later ones are complete
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
    const parts = [
      /note\s*<i>the message<\/i> \d+\.\d+/,
      /From/,
      /send\s*note\s*<i>sent<\/i>/,
      /To/,
      /recv\s*note\s*<i>received<\/i>/,
    ];
    const whole = new RegExp(parts.map((x) => x.source).join("[\\s\\S]*"));
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

  check("spans can be selected under many arrows", async ({ page, open, ready, view }) => {
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
        // for several spans in a pixel, the page asks the server
        if ((await view()).selection === null) await ready();
        if ((await view()).selection !== null) spans++;
      }
    expect(clicks).toBeGreaterThan(30);
    expect(spans / clicks).toBeGreaterThan(0.9);
  });

  check("a row states that it has more levels, and can show all", async ({ page, open, ready }) => {
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

  check("search marks a time, and reports what it does not find", async ({ page, open, ready, view }) => {
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
    // a folded and filtered row becomes visible
    await open("#t=a1&c=0/g4&f=process%201");
    await go("process 63");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("process 63");
  });

  check("a message without a receive can be selected", async ({ page, open, ready }) => {
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
      /^message[\s\S]*77 B[\s\S]*From[\s\S]*process 1[\s\S]*To[\s\S]*process 0\s*The trace does not contain/,
    );
    await page.waitForURL(/&k=0\.1\.\d+\.lost/);
    await open(page.url().slice(page.url().indexOf("#")));
    await details.getByText("The trace does not contain its receive").waitFor();
  });

  check("a click next to all spans causes no failing request", async ({ page, open, ready }) => {
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
    // its arrow is drawn although others are not: a pixel of the accent between both ends
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

  check("the list of messages stays after a click on a message", async ({ page, open, ready, view }) => {
    await open("#t=a1&p=messages&v=messages.pair:0~1");
    const rows = page.locator("#panel .side tbody tr"),
      high = (): Promise<number> =>
        page.locator("#panel .side table").evaluate((e) => Math.round(e.getBoundingClientRect().height)),
      n = await high();
    // hidden rows keep their space
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

  check("a copied link can contain the secret", async ({ page, context, open }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
    await open("#t=a1&w=1000~90000");
    // the copied text, whatever the browser allows
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

  check("search counts the hits and steps through them in all rows", async ({ page, open, ready, view }) => {
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
    // filtered rows come back
    expect(page.url()).not.toContain("f=process");
    await page.keyboard.press("Shift+Enter");
    await ready();
    expect((await view()).selection).toBe(`0.${all[1].track}.2.${all[1].start}`);
    await page.getByRole("button", { name: "Next hit" }).click();
    await ready();
    expect((await view()).selection).toBe(`0.${all[2].track}.2.${all[2].start}`);
  });

  check("search counts the hits of a second trace separately", async ({ page, open, ready, view }) => {
    await open("#t=a1,b2");
    const box = page.locator(".search input");
    await box.fill("MPI_Allreduce");
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press("Enter");
      await ready();
    }
    const t = traces[1],
      r = t.regions.findIndex((x) => x.name === "MPI_Allreduce"),
      all = t.tracks.flatMap((x, track) =>
        x.kind === "location" ? x.spans[2].filter((s) => s.region === r).map((s) => ({ track, start: s.start })) : [],
      );
    const { from } = await view();
    await page.locator(".found [role=option]").nth(1).click();
    await ready();
    const next = all.filter((s) => s.start >= Number(from)).sort((a, b) => a.start - b.start || a.track - b.track)[0];
    expect((await view()).selection).toBe(`1.${next.track}.2.${next.start}`);
  });

  check(
    "a range snaps to edges, can be resized, and can be made from two spans or a measurement",
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
      // from the measured time
      await open(`#t=a1&a=0&w=${from}~${to}&m=5000~90000`);
      await page.locator(".plot").focus();
      await page.keyboard.press("r");
      await ready();
      expect(range()?.slice(1)).toEqual(["5000", "90000"]);
    },
  );

  check("a range snaps to the nearest edge within 14 pixels at both ends", async ({ page, open, ready }) => {
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

  check("a click on a counter shows its exact value", async ({ page, open, ready }) => {
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
    expect(await label.locator(".range [data-text]").first().getAttribute("data-text")).toMatch(/^≈ .* MiB\/s$/);
    await open(page.url().slice(page.url().indexOf("#")));
    expect(await pixels()).toBe(rate);
    await label.click({ button: "right" });
    await page.getByRole("menuitem", { name: "Show the values" }).click();
    await ready();
    expect(await pixels()).toBe(values);
  });

  check("two fingers zoom and pan, and select nothing", async ({ page, context, open, ready, view }) => {
    await open("#t=a1");
    const box = await page.locator(".plot").boundingBox();
    if (!box) throw new Error("no time line");
    const touch = await context.newCDPSession(page),
      middle = box.x + box.width / 2,
      length = Number((await view()).to);
    const fingers = (type: "touchStart" | "touchMove" | "touchEnd", ...at: readonly number[]): Promise<unknown> =>
      touch.send("Input.dispatchTouchEvent", { type, touchPoints: at.map((x, id) => ({ x, y: box.y + 60, id })) });
    await fingers("touchStart", middle - 40);
    await fingers("touchStart", middle - 40, middle + 40);
    await fingers("touchMove", middle - 100, middle + 100);
    await fingers("touchMove", middle - 160, middle + 160);
    await ready();
    // four times as far apart: a quarter of the time around the middle
    const near = await view();
    expect(Math.abs(Number(near.from) - (length * 3) / 8)).toBeLessThan(length / 1000);
    expect(Math.abs(Number(near.to) - (length * 5) / 8)).toBeLessThan(length / 1000);
    // both to the right by a tenth of the width
    await fingers("touchMove", middle - 160 + box.width / 10, middle + 160 + box.width / 10);
    await fingers("touchEnd");
    await ready();
    const moved = await view();
    expect(Math.abs(Number(moved.from) - (length * 3) / 8 + length / 40)).toBeLessThan(length / 1000);
    expect(moved.selection).toBeNull();
  });

  check("the tooltip of an instant has its name and time", async ({ page, open }) => {
    const x = traces[0].tracks.find((t) => t.instants.length > 0),
      at = x?.instants[0] ?? 0;
    await open(`#t=a1&w=${at - 500}~${at + 500}&sh=18&l=1`);
    const box = await page.locator(".plot").boundingBox(),
      row = (await page.evaluate(() => window.weft.layout().rows)).find((r) => r.strips.some((s) => s.kind === 1));
    if (!box || !row) throw new Error("no time line, or no instants");
    await page.mouse.move(box.x + (box.width * 500.5) / 1000, box.y + row.y + row.height / 2);
    const tip = page.locator(".tip");
    await tip.locator("b", { hasText: "marker" }).waitFor();
    expect(await tip.locator("div").last().innerText()).toBe(`at ${at / 1000} µs`); // its clock has nanoseconds
  });

  check("names of hatched calls have the plain colour of the call behind them", async ({ page, open }) => {
    // the call in the middle of the window waits
    const call = traces[0].tracks[1].spans[3][0],
      part = Math.floor((call.end - call.start) / 10);
    await open(`#t=a1&w=${call.start + part}~${call.end - part}&wa=1&sh=18`);
    const row = (await page.evaluate(() => window.weft.layout().rows)).find((r) => r.track === 1),
      strip = row?.strips.find((s) => s.kind === 0 && s.depth === 3);
    if (!strip) throw new Error("no call");
    /** plain returns whether hatching leaves no gaps on a line through the names. */
    const plain = (x: number): Promise<boolean> =>
      page.evaluate(
        ([left, top]) => {
          const c = document.querySelector<HTMLCanvasElement>("canvas.over"),
            { data } = c?.getContext("2d")?.getImageData(left, top, 20, 1) ?? { data: [] };
          return Array.from({ length: 20 }, (_, i) => data[4 * i + 3]).every((alpha) => alpha === 255);
        },
        [x, Math.round(strip.y + strip.height / 2)],
      );
    expect(await plain(4)).toBe(true);
    expect(await plain(500)).toBe(false);
  });

  check("in a narrow window the dialogs are no wider than the window", async ({ page, open, ready }) => {
    await page.setViewportSize({ width: 400, height: 700 });
    await open("#t=a1");
    for (const key of ["?", "v"]) {
      if (key === "v") await page.getByRole("button", { name: /^View/ }).click();
      else await page.keyboard.press(key);
      const d = page.locator("dialog[open]");
      await d.waitFor();
      expect(await d.evaluate((e) => [e.scrollWidth - e.clientWidth, e.getBoundingClientRect().right < 400])).toEqual([
        0,
        true,
      ]);
      await page.keyboard.press("Escape");
      await ready();
    }
  });

  check("a field keeps the focus and its text while its table is computed again", async ({ page, open, ready }) => {
    await open("#t=a1&p=calls");
    const threshold = page.getByLabel("Shortest call that is listed");
    await page.getByLabel("Region whose calls are listed").fill("compute");
    await page.keyboard.press("Tab");
    // the change of the region replaces the fields now, or while the text is being typed
    await page.keyboard.type("> 2");
    await ready();
    await page.keyboard.type("0 ms");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowLeft");
    await page.getByLabel("Region whose calls are listed").evaluate((e) => e.dispatchEvent(new Event("change")));
    await ready();
    await page.keyboard.type("5");
    expect(await threshold.inputValue()).toBe("> 250 ms");
    expect(await threshold.evaluate((e) => e === document.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await ready();
    expect(decodeURIComponent(page.url())).toContain("calls.least:>+250+ms");
  });
});
