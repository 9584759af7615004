// The page in a browser: tables.
import { expect } from "vitest";
import { count } from "../src/dom";
import { content } from "./browser/page.mjs";
import { synthetic } from "./mocktraces";
import { calls, pageTests, partly, traces } from "./pagetests";

pageTests("the page: tables", (check) => {
  check("regions with the same name show their place in the search and in tables", async ({ page, open, ready }) => {
    await page.route("**/api/traces/a1", async (r) => {
      const d = (await (await r.fetch()).json()) as { regions: { name: string; file?: string; line?: number }[] };
      // kernel_a and kernel_b, which is called less often
      d.regions.forEach((x, i) => {
        if (i === 3 || i === 4) x.name = "kernel";
        if (i === 3) Object.assign(x, { file: "a.c", line: 12 });
      });
      await r.fulfill({ json: d });
    });
    const labels = ["kernel (a.c:12)", "kernel (no place)"];
    await open("#t=a1&p=flame");
    const titles = await page.locator(".flame > div").evaluateAll((l) => l.map((e) => (e as HTMLElement).title));
    for (const l of labels) expect(titles.some((t) => t.startsWith(`${l}: `))).toBe(true);
    // a click zooms to the region of that place
    await page.locator(`.flame > div[title^="${labels[1]}"]`).first().click();
    expect((await page.locator(".crumbs button").allInnerTexts()).at(-1)).toBe(labels[1]);
    await page.getByRole("tab", { name: "Locations" }).click();
    await ready();
    const bars = await page.locator("#panel .stack > span").evaluateAll((l) => l.map((e) => (e as HTMLElement).title));
    for (const l of labels) expect(bars.some((t) => t.startsWith(`${l}: `))).toBe(true);
    const [head, ...rows] = await page.locator("#panel tr").allInnerTexts();
    const at = head.split("\t").findIndex((x) => x.startsWith("most in"));
    expect(new Set(rows.map((x) => x.split("\t")[at]))).not.toContain("kernel");
    const box = page.getByRole("combobox", { name: "Search regions and rows" });
    await box.fill("kernel");
    expect(await page.locator(".found [role=option] > bdi").allInnerTexts()).toEqual(labels);
    await box.press("ArrowDown");
    await box.press("Enter");
    await ready();
    // only the calls of that place are gone through
    expect(await page.locator(".hits").innerText()).toContain(`of ${count(calls("kernel_b").length)}`);
    expect(await page.locator(".details h2").first().innerText()).toBe(labels[1]);
    await page.unrouteAll();
  });

  check("waits count as idle time unless the box is cleared; a link keeps this", async ({ page, open, ready }) => {
    const asked: string[] = [];
    page.on("request", (q) => {
      const m = /\/(states|utilisation)\?.*waits=0/.exec(q.url());
      if (m) asked.push(m[1]);
    });
    for (const [panel, answers] of [
      ["locations", ["states"]],
      ["utilisation", ["states", "utilisation"]],
    ] as const) {
      await open(`#t=a1&p=${panel}`);
      expect(asked).toEqual([]);
      expect(await page.getByLabel("waits are idle").isChecked()).toBe(true);
      await page.getByLabel("waits are idle").click();
      await ready();
      expect(asked.sort()).toEqual(answers);
      const link = new URL(page.url()).hash;
      asked.length = 0;
      await open("#t=a1&p=notes");
      await open(link);
      expect(await page.getByLabel("waits are idle").isChecked()).toBe(false);
      expect(asked.sort()).toEqual(answers);
      asked.length = 0;
    }
  });

  check(
    "a table shows the window, even after a quick return to it",
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

  check("each panel shows content", async ({ page, open, ready }) => {
    const panel = page.locator("#panel");
    await open("#t=a1&p=overview");
    for (const id of [
      "overview",
      "findings",
      "profile",
      "diff",
      "calltree",
      "flame",
      "messages",
      "waits",
      "path",
      "efficiency",
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

  check("the panel of waits shows the time of the calls that are not judged", async ({ page, open }) => {
    await open("#t=a1&p=waits");
    const text = await page.locator("#panel").innerText();
    // a tick of the trace is a nanosecond
    expect(text).toContain("Not judged: calls of MPI_Probe (3, 90 ns in total): no events are recorded inside.");
    expect(text).toContain("Not judged: sends (2): the trace has no matching receive.");
  });

  check("the panel of waits does not state that nothing waits if it can judge nothing", async ({ page, open }) => {
    await page.route("**/api/traces/a1/waits**", async (r) => {
      const answer = (await (await r.fetch()).json()) as object;
      await r.fulfill({ json: { ...answer, judged: 0, waiting: "0", patterns: [] } });
    });
    await open("#t=a1&p=waits");
    const text = await page.locator("#panel").innerText();
    expect(text).toContain("No call in this time can be judged.");
    expect(text).not.toContain("Nothing waits");
  });

  check("the panel of the critical path warns of calls whose waits are unknown", async ({ page, open }) => {
    await open("#t=a1&p=path");
    expect(await page.locator("#panel").innerText()).toContain("Calls whose waits are unknown take 5 % of the time.");
  });

  check("the panel of waits names the time outside of all regions", async ({ page, open }) => {
    await open("#t=a1&p=waits&v=waits.by:paths");
    const rows = page.locator("#panel tr", { hasText: "wait-for-launch" });
    // in the table of patterns, by call path, and in that of the longest waits
    expect(await rows.count()).toBe(3);
    expect(await rows.filter({ hasText: "(outside of all regions)" }).count()).toBe(2);
  });

  check("a note is kept", async ({ page, open, ready }) => {
    await open("#t=a1");
    await page.locator(".plot").focus();
    const stored = page.waitForRequest((r) => r.method() === "PUT");
    await page.keyboard.press("b");
    await ready();
    expect(await page.locator("footer .message").innerText()).toBe("note added");
    // it ends with the trace, as the time of the tables does
    const { notes } = (await stored).postDataJSON() as { notes: { from: string; to: string }[] };
    expect(notes[0]).toMatchObject({ from: "0", to: String(traces[0].length) });
    await page.locator("#panel textarea").fill("slow <b>here</b>");
    await page.keyboard.press("Tab");
    await ready();
    await open("#t=a1&p=notes");
    expect(await page.locator("#panel textarea").inputValue()).toBe("slow <b>here</b>");
  });

  check("the profile and the legend include activities of claims", async ({ page, open }) => {
    await open("#t=a1&f=CPU&p=profile");
    expect(await page.locator("#panel").innerText()).toContain("claims");
    expect(await page.locator(".legend").innerText()).toContain("job 1");
  });

  check("a profile of many rows states what it leaves out, also in its export", async ({ page, open, ready }) => {
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
    // only rows near the visible part are in the page; the keyboard reaches all rows
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
    // the focused row stays in the page, however far away
    await page.keyboard.press("Home");
    expect(await page.evaluate(() => document.activeElement?.getAttribute("aria-rowindex"))).toBe("2");
  });

  check("the text field of a new note has the focus", async ({ page, open }) => {
    await open("#t=a1&w=1000000~3000000&a=1");
    await page.locator(".plot").focus();
    await page.keyboard.press("b");
    await page.waitForFunction(() => document.activeElement instanceof HTMLTextAreaElement);
    await page.keyboard.type("all at rest");
    expect(
      await page.evaluate(() => [(document.activeElement as HTMLTextAreaElement).value, window.weft.view().from]),
    ).toEqual(["all at rest", "1000000"]);
    // all lines are visible
    await page.keyboard.press("Enter");
    await page.keyboard.type("but one");
    expect(
      await page.evaluate(() => {
        const a = document.activeElement as HTMLTextAreaElement;
        return [a.rows, a.scrollHeight - a.clientHeight];
      }),
    ).toEqual([2, 0]);
    await page.keyboard.press("Escape");
    // the panel names the time that a new note would have
    const add = page.getByRole("button", { name: /^Add for/ });
    expect(await add.innerText()).toBe("Add for window");
    await page.locator(".plot").focus();
    await page.keyboard.press("r");
    await page.getByRole("button", { name: "Add for range" }).waitFor();
    await page.keyboard.press("r");
    await page.getByRole("button", { name: "Add for window" }).waitFor();
  });

  check("the panel Counters and its export show the range", async ({ page, open, exported }) => {
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

  check("the panels Utilisation and Locations show the range", async ({ page, open, ready, exported }) => {
    const bar = page.locator(".scope"),
      t = synthetic("a1", "ring.otf2", 64, 60),
      from = 1000000,
      to = 2000000;
    const inside = (spans: { start: number; end: number; region: number }[]): number =>
      spans.reduce((n, s) => n + Math.max(0, Math.min(s.end, to) - Math.max(s.start, from)), 0);
    // MPI is overhead, and time outside of regions is idle
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
    // sorted by work; the name of a row stays visible while the table scrolls sideways
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

  check("an empty chart states why it is empty", async ({ page, open }) => {
    await page.route("**/api/traces/a1/states**", (r) =>
      r.fulfill({
        contentType: "application/json",
        body: '{"missing":"found no time of processors, expected some","processors":1,"rows":[]}',
      }),
    );
    await open("#t=a1&p=utilisation");
    expect(await page.locator("#panel").innerText()).toBe(
      "There are no states: found no time of processors, expected some.",
    );
    await page.unroute("**/api/traces/a1/states**");
  });

  check("the overview states each fact once", async ({ page, open }) => {
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

  check("a click on a defect goes to its place and marks it", async ({ page, open, ready, view }) => {
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
    // a defect without a place looks different
    const other = page.locator("#panel tbody tr", { hasText: "no definition" });
    expect(await other.innerText()).toContain("no place");
    expect([await other.getAttribute("tabindex"), await other.getAttribute("title")]).toEqual([
      null,
      expect.stringContaining("its row and time are unknown"),
    ]);
  });

  check("the details of visits list callers, those of claims do not", async ({ page, open }) => {
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

  check("a call tree states what it leaves out, also in its export", async ({ page, open, exported }) => {
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

  check("the address contains the order of tables and the rows of the profile", async ({ page, open, ready }) => {
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

  check("the profile states that it includes hidden rows", async ({ page, open }) => {
    await open("#t=a1&p=profile");
    expect(await page.locator(".scope").innerText()).not.toContain("not shown");
    await open("#t=a1&p=profile&f=CPU");
    expect(await page.locator(".scope").innerText()).toContain("all 70 rows, 69 of them not shown");
  });

  check("the profile has no colours of regions if colours mean rows", async ({ page, open }) => {
    await open("#t=a1&p=profile");
    expect(await page.locator("#panel .swatch").count()).toBeGreaterThan(5);
    await open("#t=a1&p=profile&color=track");
    expect(await page.locator("#panel tbody tr").count()).toBeGreaterThan(5);
    expect(await page.locator("#panel .swatch").count()).toBe(0);
  });

  check("the details state that attributes are still being read, and show them later", async ({ page, url, ready }) => {
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

  check("both sides of Diff show the visible window", async ({ page, open, ready }) => {
    // the second trace is more than twice as long, and windows beyond the first one's end are valid
    const far = 3 * synthetic("a1", "ring.otf2", 64, 60).length,
      asked: string[] = [];
    await page.route("**/api/traces/b2", async (r) => {
      const m = (await (await r.fetch()).json()) as { length?: string };
      await r.fulfill({ json: { ...m, length: String(far) } });
    });
    page.on("request", (q) => {
      if (q.url().includes("/b2/diff")) asked.push(new URL(q.url()).search);
    });
    await open("#t=a1,b2&p=diff");
    const to = Math.floor(far / 2);
    await page.evaluate((w) => {
      location.hash = `#t=a1,b2&p=diff&w=0~${w}`;
    }, to);
    await ready();
    expect(asked.at(-1)).toContain(`&to=${to}&`);
    expect(await page.locator(".scope .what").innerText()).toContain(
      `${(to / 1e6).toFixed(6).replace(/(\d{3})$/, " $1")} ms)`.slice(-4),
    );
    // a window beyond the first trace has nothing of it
    await page.evaluate(
      ([a, b]) => {
        location.hash = `#t=a1,b2&p=diff&w=${a}~${b}`;
      },
      [far / 2, far - 10].map(Math.floor),
    );
    await ready();
    expect(await page.locator("#panel").innerText()).toBe("A has no part in this time.");
  });

  check("a table of a range beyond the end of its trace says so", async ({ page, open, ready }) => {
    const length = synthetic("a1", "ring.otf2", 64, 60).length,
      far = 3 * length;
    await page.route("**/api/traces/b2", async (r) => {
      const m = (await (await r.fetch()).json()) as { length?: string };
      await r.fulfill({ json: { ...m, length: String(far) } });
    });
    await open("#t=a1,b2&p=profile");
    await page.evaluate(
      ([a, b]) => {
        location.hash = `#t=a1,b2&p=profile&v=profile.time:window&r=${a}~${b}`;
      },
      [2 * length, far - 10],
    );
    await ready();
    expect(await page.locator("#panel").innerText()).toBe("ring.otf2 has no part in this time.");
    const scope = await page.locator(".scope .what").innerText();
    expect(scope).toContain("selected range: outside of this trace, which ends at");
    expect(scope).not.toContain("(0 s)");
  });

  check("the title of a list of messages has the full names of the pair", async ({ page, open, ready }) => {
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

  check("Diff follows the shift of a trace", async ({ page, open, ready }) => {
    const asked: string[] = [];
    page.on("request", (q) => {
      if (q.url().includes("/b2/diff")) asked.push(new URL(q.url()).search);
    });
    await open("#t=a1,b2&p=diff&r=1000000~3000000");
    expect(asked.at(-1)).toContain("&from=1000000&to=3000000&");
    const field = page.getByLabel(/shift/i).last();
    await field.fill("500 µs");
    await field.press("Enter");
    await ready();
    expect(page.url()).toContain("shift=0,500000");
    expect(asked.at(-1)).toContain("&from=500000&to=2500000&");
  });

  const part = (c: { start: number; end: number }, from: number, to: number): number =>
    Math.min(c.end, to) - Math.max(c.start, from);

  check(
    "the panel Calls lists the calls of a range by duration above a threshold, and a click goes to the call",
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
      // some calls are long enough in all, but not their part in this time
      expect(rows.slice(1).filter((r) => Number(r[1]) < least).length).toBe(
        long.filter((c) => part(c, from, to) < least).length,
      );
      expect(rows.slice(1).some((r) => Number(r[1]) < least)).toBe(true);
      await page.locator("#panel tbody tr").nth(2).click();
      await ready();
      expect((await view()).selection).toBe(`0.${long[2].track}.2.${long[2].start}`);
      // the list still shows the range, and another threshold changes it
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

  check("a click on the greatest time in the profile goes to its call", async ({ page, open, ready, view }) => {
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

  check("a click on the greatest time of a call path goes to its call", async ({ page, open, ready, view }) => {
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

  check("Diff compares two ranges of one trace", async ({ page, open, ready, exported }) => {
    const [a, b] = [
      [1000000, 2000000],
      [4000000, 6000000],
    ];
    // the former address of the panel
    await open(`#t=a1&p=compare&r=${a[0]}~${a[1]}`);
    expect(await page.locator("[role=tab][aria-selected=true]").innerText()).toBe("Diff");
    await page.getByRole("button", { name: "Keep this time as A" }).click();
    await ready();
    // both times are the same
    expect(await page.locator("#panel").innerText()).toContain("No difference.");
    await page.evaluate((x) => {
      location.hash = location.hash.replace(/r=[^&]*/, `r=${x[0]}~${x[1]}`);
    }, b);
    await ready();
    const rows = await exported(),
      row = rows.find((r) => r[0] === "compute"),
      counts = [a, b].map(([f, t]) => String(calls("compute", f, t).length));
    expect(row?.slice(-2)).toEqual(counts);
    expect(await page.locator("#panel p").first().innerText()).toContain("A: 1 ms to 2 ms; B: 4 ms to 6 ms.");
  });

  check("Diff has a call tree and a flame graph", async ({ page, open, ready, exported }) => {
    await open("#t=a1,b2&p=diff&v=diff.rows:all");
    const figures = async (): Promise<Map<string, string[]>> =>
        new Map((await exported()).map((r) => [r[0], r.slice(1)])),
      regions = await figures();
    expect([...regions.keys()]).toContain("MPI_Allreduce");
    await page.getByLabel("View of the differences").selectOption("tree");
    await ready();
    await page.getByLabel("Time that is compared").selectOption("exclusive");
    await ready();
    const tree = await figures(),
      sum = (name: string, column: number): number =>
        [...tree].reduce((n, [path, cells]) => (path.endsWith("/" + name) ? n + Number(cells[column]) : n), 0);
    // the exclusive times and counts of a region are those of all paths that end in it
    for (const column of [1, 2, 7, 8])
      expect(sum("MPI_Allreduce", column)).toBeCloseTo(Number(regions.get("MPI_Allreduce")?.[column]), 9);
    await page.getByRole("button", { name: "Open all" }).click();
    expect(await page.locator("#panel .tree tbody tr").count()).toBeGreaterThan(3);
    await page.getByLabel("View of the differences").selectOption("flame");
    await ready();
    const box = page.locator(".flame > div", { hasText: "MPI_Allreduce" }).first();
    expect(await box.getAttribute("title")).toMatch(/^MPI_Allreduce: A .* B .* inclusive \([+−].* %\); A .* exclusive/);
    await box.click();
    expect((await page.locator(".crumbs button").allInnerTexts()).at(-1)).toBe("MPI_Allreduce");
    expect(await page.locator(".flame > div").first().getAttribute("style")).toContain("left: 0%");
  });

  check("the tables say that they show the range, also if it is the window", async ({ page, open, ready }) => {
    await open("#t=a1&w=1000000~3000000&p=profile");
    const scope = page.locator(".scope");
    expect(await scope.innerText()).toContain("visible window: 1 ms to 3 ms");
    await page.locator(".plot").focus();
    await page.keyboard.press("r");
    await ready();
    await page.keyboard.press("Home");
    await ready();
    expect(await scope.innerText()).toContain("selected range: 1 ms to 3 ms");
    await scope.getByRole("button", { name: "use window" }).click();
    await ready();
    expect(await scope.innerText()).toContain("visible window: 0 s to");
  });
});
