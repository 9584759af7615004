// Pictures and tables as files.
import type { App } from "./app";
import { button, el, printable } from "./dom";
import { marksFor } from "./ruler";
import { paintRuler } from "./rulerbar";
import type { Bitmap } from "./raster";
import type { Timeline } from "./timeline";

function save(data: Blob, file: string): void {
  const url = URL.createObjectURL(data), a = el("a", { href: url, download: file });
  document.body.append(a); a.click(); a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** fileName makes the name of a file from that of a trace. */
export function fileName(trace: string, ending: string): string { return trace.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[.]+/, "") + ending; }

/** csv writes rows as RFC 4180; a cell that a spreadsheet would take for a formula is set in quotes after an apostrophe. */
export function csv(head: readonly string[], rows: readonly (readonly (string | number | bigint)[])[]): string {
  const cell = (v: string | number | bigint): string => {
    if (typeof v !== "string") return String(v);
    const safe = /^[=+@\t\r]/.test(v) || /^-(?!\d)/.test(v) ? "'" + v : v;
    return /[",\r\n]/.test(safe) || safe !== v ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  return [head, ...rows].map((r) => r.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** saveText saves text as a file. */
export function saveText(text: string, file: string, type: string): void { save(new Blob([text], { type }), file); }

/** picture draws all time lines as they are on the screen, with names and ruler, in device pixels. */
function picture(app: App, timelines: readonly Timeline[]): HTMLCanvasElement {
  const dpr = devicePixelRatio, labels = 190, rulerHeight = 28;
  const width = labels + timelines[0].width, height = rulerHeight + timelines.reduce((n, t) => n + t.height + (timelines.length > 1 ? 18 : 0), 0);
  const cv = el("canvas"), c = app.colors;
  cv.width = Math.round(width * dpr); cv.height = Math.round(height * dpr);
  const g = cv.getContext("2d");
  if (!g) throw new Error("no canvas");
  g.scale(dpr, dpr);
  g.fillStyle = c.background; g.fillRect(0, 0, width, height);
  g.save(); g.translate(labels, 0); paintRuler(g, app, timelines[0].width, rulerHeight); g.restore();
  let y = rulerHeight;
  for (const t of timelines) {
    g.textBaseline = "middle";
    if (timelines.length > 1) { g.fillStyle = c.text; g.font = "600 12px system-ui, sans-serif"; g.fillText(printable(t.lane.title), 4, y + 9); y += 18; }
    for (const cvs of t.element.querySelectorAll("canvas")) g.drawImage(cvs, labels, y, t.width, t.height);
    g.save(); g.beginPath(); g.rect(0, y, labels - 4, t.height); g.clip();
    const [a, b] = t.visible();
    g.fillStyle = c.text;
    for (let i = a; i < b; i++) { const r = t.lane.rows[i]; g.font = `${r.track < 0 ? "600 " : ""}11px system-ui, sans-serif`; g.fillText(printable(r.label), 4 + 10 * r.level, y + r.y - t.scrollTop + r.height / 2); }
    g.restore();
    y += t.height;
  }
  return cv;
}

function escape(text: string): string { return printable(text).replace(/[&<>"]/g, (x) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[x] ?? x); }

/** svg is the picture with names and axis as text and the spans as an image at double resolution. */
function svg(app: App, timelines: readonly Timeline[]): string {
  const c = app.colors, labels = 190, rulerHeight = 28, width = labels + timelines[0].width, height = rulerHeight + timelines.reduce((n, t) => n + t.height, 0);
  const out: string[] = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`, `<rect width="100%" height="100%" fill="${c.background}"/>`];
  const ruler = rulerMarks(app, timelines[0].width);
  for (const m of ruler) out.push(`<line x1="${(labels + m.x).toFixed(1)}" x2="${(labels + m.x).toFixed(1)}" y1="${rulerHeight}" y2="${m.label ? 19 : 24}" stroke="${c.faint}"/>`, m.label ? `<text x="${(labels + m.x + 3).toFixed(1)}" y="17" fill="${c.text}">${escape(m.label)}</text>` : "");
  let y = rulerHeight;
  for (const t of timelines) {
    const dpr = devicePixelRatio, b: Bitmap = { width: Math.round(t.width * dpr), height: Math.round(t.height * dpr), pixels: new Uint32Array(Math.round(t.width * dpr) * Math.round(t.height * dpr)) };
    const [first, end] = t.visible();
    t.paint(b, first, end, dpr);
    const cv = el("canvas"); cv.width = b.width; cv.height = b.height;
    cv.getContext("2d")?.putImageData(new ImageData(new Uint8ClampedArray(b.pixels.buffer as ArrayBuffer), b.width, b.height), 0, 0);
    out.push(`<clipPath id="l${t.lane.index}"><rect x="0" y="${y}" width="${labels - 4}" height="${t.height}"/></clipPath>`, `<image x="${labels}" y="${y}" width="${t.width}" height="${t.height}" style="image-rendering:pixelated" href="${cv.toDataURL("image/png")}"/>`, `<g clip-path="url(#l${t.lane.index})" fill="${c.text}">`);
    for (let i = first; i < end; i++) { const r = t.lane.rows[i]; out.push(`<text x="${4 + 10 * r.level}" y="${(y + r.y - t.scrollTop + r.height / 2 + 4).toFixed(1)}"${r.track < 0 ? ' font-weight="600"' : ""}>${escape(r.label)}</text>`); }
    out.push("</g>");
    y += t.height;
  }
  out.push("</svg>");
  return out.join("\n");
}

function rulerMarks(app: App, width: number): { x: number; label: string }[] {
  return marksFor(app.store.state.window, width, app.axis).marks.filter((m) => m.at >= 0 && m.at <= 1).map((m) => ({ x: m.at * width, label: m.label }));
}

/** exportMenu asks what to save. */
export function exportMenu(app: App, timelines: readonly Timeline[], table: () => string | null): void {
  const base = app.lanes[0].meta.name, csvText = table();
  const d = el("dialog", { aria: { label: "Export" } });
  const item = (label: string, title: string, go: () => void, off = false): HTMLElement => { const b = button(label, title, () => { d.close(); try { go(); } catch (e) { app.announce(e instanceof Error ? e.message : String(e)); } }); b.disabled = off; return el("p", {}, b, " ", el("span", { class: "faint" }, title)); };
  d.append(el("h1", {}, "Export"),
    item("PNG", "the time lines as they are on the screen", () => picture(app, timelines).toBlob((b) => { if (b) save(b, fileName(base, ".png")); })),
    item("SVG", "the same, names and axis as text", () => saveText(svg(app, timelines), fileName(base, ".svg"), "image/svg+xml")),
    item("CSV", csvText === null ? "the open panel is no table" : "the table of the open panel", () => { if (csvText !== null) saveText(csvText, fileName(base, `-${app.store.state.panel}.csv`), "text/csv;charset=utf-8"); }, csvText === null),
    item("Copy link", "the address with this view", () => { void navigator.clipboard.writeText(location.href).then(() => app.announce("link copied")).catch(() => app.announce("the browser did not allow copying; the address bar holds the link")); }),
    el("p", {}, button("Close", "Close", () => d.close())));
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => { if (e.target === d) d.close(); });
  document.body.append(d);
  d.showModal();
}
