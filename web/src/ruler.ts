// The ruler: marks at round times, computed exactly.
import { type Clock, floorDiv, stepFor, stepLabel, stepsBefore, ticksOf, type Window } from "./time";

/** Mark is a line of the ruler. at is its position as a fraction of the width. label is "" for short lines. */
export interface Mark {
  at: number;
  label: string;
}
/**
 * Marks holds the lines of a ruler. base is the time to which labels with "+" are relative. It is
 * "" if no label is relative.
 */
export interface Marks {
  base: string;
  marks: Mark[];
}

/** marksFor computes the ruler for a window that is `width` CSS pixels wide. */
export function marksFor(w: Window, width: number, c: Clock): Marks {
  const step = stepFor(w, width, c, 96);
  const d = w.to - w.from;
  if (d <= 0n) return { base: "", marks: [] };
  const first = stepsBefore(w.from, step, c),
    last = stepsBefore(w.to, step, c) + 1n;
  if (last - first > 1000n) return { base: "", marks: [] };
  const scale = 1000000n;
  const pos = (i: bigint): number => Number(ticksOf(i, step, c, scale) - w.from * scale) / Number(d * scale);
  // far from time 0, show the leading digits that all labels share once, on the left
  const far = first > 1000n && stepLabel(last, step).length > 12;
  let baseIndex = 0n,
    base = "";
  if (far) {
    let block = 100n;
    while (floorDiv(first, block) !== floorDiv(last, block) && block < 10000n) block *= 10n;
    baseIndex = floorDiv(first, block) * block;
    base = stepLabel(baseIndex, step);
  }
  const fifth = step.mantissa === 2n ? 4 : 5;
  const marks: Mark[] = [];
  for (let i = first; i <= last; i++) {
    const a = pos(i),
      next = pos(i + 1n);
    marks.push({
      at: a,
      label: far ? (i === baseIndex ? base : `+${stepLabel(i - baseIndex, step)}`) : stepLabel(i, step),
    });
    for (let k = 1; k < fifth; k++) marks.push({ at: a + ((next - a) * k) / fifth, label: "" });
  }
  return { base, marks: marks.filter((m) => m.at >= -0.05 && m.at <= 1.05) };
}
