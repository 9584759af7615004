// The parts of an extra: a result of an analysis that is shown on the time line.
import type { Window } from "./time";

/**
 * Tone is the meaning of a bar or mark. For a formula, "good" means that it holds, and "bad" that
 * it does not.
 */
export type Tone = "good" | "bad" | "plain";

/**
 * tones holds the colour and the word for each tone. Most people with colour blindness can tell the
 * colours apart.
 */
export const tones: Readonly<Record<Tone, { color: string; word: string }>> = {
  good: { color: "#009e73", word: "holds" },
  bad: { color: "#d55e00", word: "does not hold" },
  plain: { color: "#0072b2", word: "" },
};

/** Bar is an interval in a row, in ticks of the lane. Its text describes it. */
export interface Bar {
  from: bigint;
  to: bigint;
  tone: Tone;
  text: string;
}

/** Values holds the values of a curve in columns of equal width. A column without a value has null. */
export interface Values {
  from: bigint;
  to: bigint;
  min: readonly (number | null)[];
  max: readonly (number | null)[];
}

/** Curve is the curve in a row. low and high are the values at the lower and the upper edge of the row. */
export interface Curve {
  low: number;
  high: number;
  unit: string;
  /** values returns the values for the window that was requested last, or null before they arrive. */
  values: () => Values | null;
}

/** ExtraRow is a row that shows the result of an analysis: bars or a curve. */
export interface ExtraRow {
  label: string;
  level: number;
  bars: readonly Bar[];
  curve?: Curve;
}

/** Mark is an interval over the rows of a lane, in ticks of the lane. The track -1 stands for all rows. */
export interface Mark {
  track: number;
  from: bigint;
  to: bigint;
  tone: Tone;
}

/** Extra holds the rows and marks that a source shows in a lane. */
export interface Extra {
  lane: number;
  title: string;
  rows: readonly ExtraRow[];
  marks: readonly Mark[];
  /** request requests the values of the curves in a window of the lane. */
  request?: (w: Window, width: number) => void;
}

/** ShownExtras lists the extras on the time line. */
export interface ShownExtras {
  /** version changes whenever the extras change, and data whenever the values of curves change. */
  readonly version: number;
  readonly data: number;
  /** inLane lists the extras of a lane. remove removes the extra from the time line. */
  inLane(lane: number): { extra: Extra; remove: () => void }[];
  /** marks lists the marks over the rows of a lane. */
  marks(lane: number): Mark[];
}
