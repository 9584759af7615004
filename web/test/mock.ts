// A small stand-in for the server: synthetic traces and the API, computed by brute force. It is for
// looking at the page and for its tests; it measures nothing and is never shipped.
import { createServer, type Server, type IncomingMessage, type ServerResponse } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { answer } from "./mockanswers";
import { meta, type MockTrace, samples, synthetic } from "./mocktraces";

/** serve serves the page's files and the API on a port of 127.0.0.1; 0 lets the system choose. */
export function serve(
  traces: MockTrace[],
  port = 0,
  delay = 0,
): Promise<{ server: Server; port: number; close: () => Promise<void> }> {
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
  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    const url = new URL(req.url ?? "/", "http://x");
    const json = (status: number, v: unknown): void => {
      res.writeHead(status, { "Content-Type": "application/json" });
      res.end(JSON.stringify(v));
    };
    if (!url.pathname.startsWith("/api/")) {
      const f = path.join(dist, url.pathname === "/" ? "index.html" : url.pathname);
      if (!f.startsWith(dist) || !existsSync(f)) {
        json(404, { error: "no such file" });
        return;
      }
      res.writeHead(200, {
        "Content-Type": types[path.extname(f)] ?? "application/octet-stream",
        "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:",
        "Cache-Control": "no-store",
      });
      res.end(readFileSync(f));
      return;
    }
    const p = url.pathname.split("/").slice(2);
    if (p[0] === "traces" && p.length === 1 && req.method === "POST") {
      let body = "";
      req.on("data", (d) => (body += String(d)));
      req.on("end", () => {
        const names = [...body.matchAll(/name="([^"]+)"; filename/g)].map((m) => m[1]);
        if (names.some((n) => n.endsWith(".otf2"))) json(200, { traces: ["b2"] });
        else json(400, { error: `files: found ${names.length}, none of which is a trace` });
      });
      return;
    }
    if (p[0] === "traces" && p.length === 1) {
      json(200, {
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
      return;
    }
    if (p[0] === "secret") {
      json(200, { token: "open-sesame" });
      return;
    }
    const t = traces.find((x) => x.id === p[1]);
    if (!t) {
      json(404, { error: `no trace ${p[1]}` });
      return;
    }
    if (p.length === 2) {
      if (t.state === "indexing" || t.state === "new") {
        t.state = "indexing";
        t.progress = Math.min(1, t.progress + 0.1);
        if (t.progress >= 1) t.state = "ready";
      }
      json(200, meta(t));
      return;
    }
    if (p[2] === "notes") {
      if (req.method === "PUT") {
        let body = "";
        req.on("data", (d) => (body += String(d)));
        req.on("end", () => {
          t.notes = (JSON.parse(body) as { notes: unknown[] }).notes;
          json(200, { notes: t.notes });
        });
        return;
      }
      json(200, { notes: t.notes });
      return;
    }
    const v = answer(t, p.slice(2).join("/"), url.searchParams);
    const send = (): void => {
      if (v === null && ["span", "instant", "find", "hit", "edge"].includes(p[2])) {
        res.writeHead(204);
        res.end();
      } else if (v === null) json(404, { error: "nothing there" });
      else if (Buffer.isBuffer(v)) {
        res.writeHead(200, { "Content-Type": "application/octet-stream" });
        res.end(v);
      } else json(200, v);
    };
    if (delay > 0) setTimeout(send, delay);
    else send();
  };
  return new Promise((resolve) => {
    const server = createServer(handle);
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
