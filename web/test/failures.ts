// A reporter of vitest that names the failed tests once more at the end of the output, because some logs
// keep only the last lines.
import path from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/** Failed is an error of a test, as vitest reports it. */
interface Failed {
  message: string;
  stacks?: readonly { file: string; line: number; column: number }[];
}

/** longest is the largest length of a message: assertions about texts contain the whole text. */
const longest = 600;

/**
 * lineOf returns the line for an error: the file, the name of the test, the place of the error in the file, and
 * the message.
 */
export function lineOf(file: string, name: string, e: Failed): string {
  const at = e.stacks?.find((s) => path.resolve(s.file) === path.resolve(file)) ?? e.stacks?.[0],
    place = at ? ` (${path.basename(at.file)}:${at.line}:${at.column})` : "";
  return `${path.basename(file)}: ${name}${place}: ${e.message.replace(/\s+/g, " ").slice(0, longest)}`;
}

/** FailuresReporter writes a line for each error after all other output. */
export default class FailuresReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Failed[]): void {
    const lines = modules.flatMap((m) => [
      ...m.errors().map((e) => lineOf(m.moduleId, "cannot be run", e)),
      ...[...m.children.allSuites()].flatMap((s) => s.errors().map((e) => lineOf(m.moduleId, s.fullName, e))),
      ...[...m.children.allTests("failed")].flatMap((t) =>
        (t.result().errors ?? []).map((e) => lineOf(m.moduleId, t.fullName, e)),
      ),
    ]);
    lines.push(...unhandled.map((e) => lineOf("no test", "unhandled error", e)));
    if (lines.length > 0) console.log(["Failed:", ...lines].join("\n"));
  }
}
