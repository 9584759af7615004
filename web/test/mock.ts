// A small stand-in for the server: synthetic traces and the API, computed by brute force. It is for
// looking at the page and for its tests; it measures nothing and is never shipped.
import { createServer, type Server, type IncomingMessage, type ServerResponse } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { answer } from "./mockanswers";
import { meta, type MockTrace, samples, synthetic } from "./mocktraces";

function json(res: ServerResponse, status: number, v: unknown): void {
  res.writeHead(status, { "Content-Type": "application/json" });
  res.end(JSON.stringify(v));
}

/** readBody calls work with the text that a request sends. */
function readBody(req: IncomingMessage, work: (text: string) => void): void {
  let body = "";
  req.on("data", (d) => (body += String(d)));
  req.on("end", () => work(body));
}

/** sendFile sends a file of the built page. */
function sendFile(res: ServerResponse, name: string): void {
  const dist = path.join(
    path.dirname(fileURLToPath(import.meta.url)),
    import.meta.url.includes(".mock") ? "../../dist" : "../dist",
  );
  const types: Record<string, string> = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
  };
  const f = path.join(dist, name === "/" ? "index.html" : name);
  if (!f.startsWith(dist) || !existsSync(f)) {
    json(res, 404, { error: "no such file" });
    return;
  }
  res.writeHead(200, {
    "Content-Type": types[path.extname(f)] ?? "application/octet-stream",
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:",
    "Cache-Control": "no-store",
  });
  res.end(readFileSync(f));
}

/** upload answers to files: one of OTF2 is a trace. */
function upload(req: IncomingMessage, res: ServerResponse): void {
  readBody(req, (body) => {
    const names = [...body.matchAll(/name="([^"]+)"; filename/g)].map((m) => m[1]);
    if (names.some((n) => n.endsWith(".otf2"))) json(res, 200, { traces: ["b2"] });
    else json(res, 400, { error: `files: found ${names.length}, none of which is a trace` });
  });
}

/** list sends the list of traces. */
function list(res: ServerResponse, traces: readonly MockTrace[]): void {
  json(res, 200, {
    version: "mock",
    readOnly: false,
    traces: traces.map((t) => {
      const m = meta(t);
      return {
        id: m.id,
        name: m.name,
        path: m.path,
        format: m.format,
        bytes: m.bytes,
        state: m.state,
        progress: m.progress,
        error: m.error,
      };
    }),
  });
}

/** describe sends what is known of a trace; each time it is asked, a tenth of the index is built. */
function describe(res: ServerResponse, t: MockTrace): void {
  if (t.state === "indexing" || t.state === "new") {
    t.state = "indexing";
    t.progress = Math.min(1, t.progress + 0.1);
    if (t.progress >= 1) t.state = "ready";
  }
  json(res, 200, meta(t));
}

/** notes keeps or sends the notes of a trace. */
function notes(req: IncomingMessage, res: ServerResponse, t: MockTrace): void {
  if (req.method !== "PUT") {
    json(res, 200, { notes: t.notes });
    return;
  }
  readBody(req, (body) => {
    t.notes = (JSON.parse(body) as { notes: unknown[] }).notes;
    json(res, 200, { notes: t.notes });
  });
}

/** send sends an answer; null is an error unless nothing may be there. */
function send(res: ServerResponse, what: string, v: unknown): void {
  if (v === null && ["span", "instant", "find", "hit", "edge"].includes(what)) {
    res.writeHead(204);
    res.end();
  } else if (v === null) json(res, 404, { error: "nothing there" });
  else if (Buffer.isBuffer(v)) {
    res.writeHead(200, { "Content-Type": "application/octet-stream" });
    res.end(v);
  } else json(res, 200, v);
}

/** serve serves the page's files and the API on a port of 127.0.0.1; 0 lets the system choose. */
export function serve(
  traces: MockTrace[],
  port = 0,
  delay = 0,
): Promise<{ server: Server; port: number; close: () => Promise<void> }> {
  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    const url = new URL(req.url ?? "/", "http://x"),
      p = url.pathname.split("/").slice(2),
      t = traces.find((x) => x.id === p[1]);
    if (!url.pathname.startsWith("/api/")) sendFile(res, url.pathname);
    else if (p[0] === "traces" && p.length === 1 && req.method === "POST") upload(req, res);
    else if (p[0] === "traces" && p.length === 1) list(res, traces);
    else if (p[0] === "secret") json(res, 200, { token: "open-sesame" });
    else if (!t) json(res, 404, { error: `no trace ${p[1]}` });
    else if (p.length === 2) describe(res, t);
    else if (p[2] === "notes") notes(req, res, t);
    else {
      const v = answer(traces, t, p.slice(2).join("/"), url.searchParams);
      if (delay > 0) setTimeout(() => send(res, p[2], v), delay);
      else send(res, p[2], v);
    }
  };
  return new Promise((resolve) => {
    const server = createServer(handle);
    // Otherwise the server may close an idle connection at the moment in which a test sends a request on it: the
    // request then fails, and the page waits for the answer for ever.
    server.keepAliveTimeout = 0;
    server.listen(port, "127.0.0.1", () => {
      const a = server.address();
      resolve({
        server,
        port: typeof a === "object" && a ? a.port : 0,
        close: () =>
          new Promise((done) => {
            server.closeAllConnections();
            server.close(() => done());
          }),
      });
    });
  });
}

if (process.argv[2] === "serve") {
  const n = Number(process.argv[4] ?? 0);
  const s = await serve(
    n > 0 ? [synthetic("a1", "big.otf2", n, Number(process.argv[5] ?? 20))] : samples(),
    Number(process.argv[3] ?? 8099),
  );
  console.log(`http://127.0.0.1:${s.port}/`);
}
