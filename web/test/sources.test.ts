import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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
