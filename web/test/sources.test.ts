import { readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { parseSync } from "vite";
import { expect, test } from "vitest";

const folder = new URL("../src", import.meta.url).pathname;
const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(".ts"));
const longestFile = 700;
const longestFunction = 100;

/** linesOfFunctions returns the first line and the number of lines of each function of a source text. */
function linesOfFunctions(name: string, text: string): { line: number; lines: number }[] {
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  const found: { line: number; lines: number }[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== "object" || node === null) return;
    const { type, start, end } = node as { type?: string; start: number; end: number };
    if (type && /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type)) {
      const line = lineAt(start);
      found.push({ line, lines: lineAt(end) - line + 1 });
    }
    Object.values(node).forEach(visit);
  };
  visit(parseSync(name, text).program);
  return found;
}

test("functions are counted with their first and last line", () => {
  const text = "function f() {\n  return () =>\n    1;\n}\nclass C {\n  m() {}\n}\n";
  expect(linesOfFunctions("f.ts", text)).toEqual([
    { line: 1, lines: 4 },
    { line: 2, lines: 2 },
    { line: 6, lines: 1 },
  ]);
});

test("no function and no file of the page is too long", () => {
  const long: string[] = [];
  for (const name of sources) {
    const text = readFileSync(join(folder, name), "utf8");
    const lines = text.trimEnd().split("\n").length;
    if (lines > longestFile) long.push(`src/${name} has ${lines} lines, at most ${longestFile}`);
    for (const f of linesOfFunctions(name, text)) {
      if (f.lines > longestFunction) {
        long.push(`src/${name}:${f.line}: a function of ${f.lines} lines, at most ${longestFunction}`);
      }
    }
  }
  expect(sources.length).toBeGreaterThan(50);
  expect(long).toEqual([]);
});

/** importsOf lists the files of the page that a file imports, including imports of types only. */
function importsOf(name: string): string[] {
  const text = readFileSync(join(folder, name), "utf8");
  return [...text.matchAll(/^(?:import|export) [^;]*?from "(\.[^"]+)";/gms)].map(
    (m) => normalize(join(name, "..", m[1])) + ".ts",
  );
}

/** circleOf returns a circle of imports, or null if there is none. */
function circleOf(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const search = (name: string, path: readonly string[]): string[] | null => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return null;
    for (const next of graph.get(name) ?? []) {
      const circle = search(next, [...path, name]);
      if (circle) return circle;
    }
    done.add(name);
    return null;
  };
  for (const name of graph.keys()) {
    const circle = search(name, []);
    if (circle) return circle;
  }
  return null;
}

test("a circle of imports is found", () => {
  const graph = new Map([
    ["a", ["b", "c"]],
    ["b", ["c"]],
    ["c", []],
  ]);
  expect(circleOf(graph)).toBeNull();
  graph.set("c", ["b"]);
  expect(circleOf(graph)).toEqual(["b", "c", "b"]);
});

test("the files of the page do not import each other in a circle", () => {
  const graph = new Map(sources.map((name) => [name, importsOf(name)]));
  expect([...graph.values()].flat().filter((name) => !graph.has(name))).toEqual([]);
  expect(graph.get("page.ts")).toContain("app.ts");
  expect(circleOf(graph)).toBeNull();
});
