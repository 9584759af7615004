// The types of the server's answers about specifications, behaviour, flow, differences, and what the page draws over
// the rows.

/** SyntaxProblem is a syntax error in a specification. Its line and column are counted from 1. */
export interface SyntaxProblem {
  line: number;
  column: number;
  message: string;
}
/** Reason explains the verdict of a part of a check. from and to are the times that determine it. */
export interface Reason {
  depth: number;
  formula: string;
  holds: boolean;
  from: string;
  to: string;
  text: string;
}
/** Check is a check of a specification with its verdict. */
export interface Check {
  check: string;
  formula: string;
  verdict: string;
  violated: boolean;
  holds: boolean;
  decided: boolean;
  /** robustness is a number, "inf" or "-inf", or "" if the request does not ask for it. */
  robustness: string;
  reasons: Reason[];
}
/** Verification has the verdicts of a specification. If syntax is set, the other fields are empty. */
export interface Verification {
  syntax?: SyntaxProblem;
  states: number;
  violated: number;
  checks: Check[];
  warnings: string[];
}
/** ClaimPlace is the place of a claim or call. Its track is -1 if it has no row. */
export interface ClaimPlace {
  label: string;
  track: number;
  from: string;
  to: string;
}
/** Side holds the claims, and the pairs of successive claims, that are in one of two lists but not in the other. */
export interface Side {
  nodeCount: number;
  edgeCount: number;
  nodes: ClaimPlace[];
  edges: { from: ClaimPlace; to: ClaimPlace }[];
}
/** Difference holds the claims that only the first and only the second of two lists has. */
export interface Difference {
  first: Side;
  second: Side;
}
/** BehaviourClass is a class of objects that behave in the same way. */
export interface BehaviourClass {
  objects: number;
  representative: string;
  names: string[];
  claims: number;
  usual: number;
  nearest: number;
  distance: number;
  difference: Difference;
  shown: ClaimPlace[];
}
/**
 * Behaviours holds the classes of objects, with the rare ones first. usual is the index of the
 * class that has the most objects.
 */
export interface Behaviours {
  missing: string;
  objects: number;
  claims: number;
  classes: BehaviourClass[];
  left: number;
  usual: number;
}
/** Distance is the distance of a trace from the reference, with the differences of their claims. */
export interface Distance {
  missing: string;
  reference: number;
  claims: number;
  distance: number;
  difference: Difference;
}
/** FlowSignal holds the statistics of a signal. low and high are the extremes of its curve. */
export interface FlowSignal {
  name: string;
  unit: string;
  mean: number;
  min: number;
  max: number;
  low: number;
  high: number;
}
/** FlowObject is an object that went through the system. */
export interface FlowObject {
  object: string;
  from: string;
  to: string;
}
/** Flow holds the statistics of the objects that go through a system. */
export interface Flow {
  missing: string;
  objects: number;
  instant: number;
  incomplete: number;
  first: string;
  last: string;
  latencies?: {
    min: string;
    mean: number;
    median: string;
    p90: string;
    p99: string;
    max: string;
    histogram: { from: string; to: string; count: number }[];
  };
  signals: FlowSignal[];
  longest: FlowObject[];
}
/** FlowCurves holds the values of signals in the columns of a window. */
export interface FlowCurves {
  missing?: string;
  from: string;
  to: string;
  signals: { name: string; min: (number | null)[]; max: (number | null)[] }[];
}
/** Change compares a figure of A with that of B. ratio is B / A, or null if A is 0. */
export interface Change {
  a: number;
  b: number;
  difference: number;
  ratio: number | null;
}
/** DiffMetric is the time by which rows are tested and ranked. */
export type DiffMetric = "exclusive" | "inclusive";
/** DiffKind is the sort of a difference. A removed row is only in A, and an added one only in B. */
export type DiffKind = "regression" | "improvement" | "added" | "removed" | "visits" | "equal";
/** DiffTest is the test of a row. shift, low and high are 0 if the row is not reported. */
export interface DiffTest {
  samples: [number, number];
  p: number;
  q: number;
  significant: boolean;
  shift: number;
  low: number;
  high: number;
}
/**
 * DiffRegion compares a region or call path. region is its name with a place if others have the same name,
 * was the region or path in A if that has another name. It is reported if it reaches both thresholds.
 */
export interface DiffRegion {
  kind: DiffKind;
  region: string;
  name: string;
  file?: string;
  line?: number;
  was?: string[];
  exclusive: Change;
  inclusive: Change;
  visits: Change;
  perVisit: Change;
  test?: DiffTest;
  reported: boolean;
}
/** DiffPath compares a call path. parent is the index of the path around it, or -1. */
export interface DiffPath extends DiffRegion {
  parent: number;
  /** subtree has the exclusive times of the path and of all paths inside of it. */
  subtree: Change;
}
/** Diff compares a trace B with the reference A, in ticks of A. If missing is set, only the lists are there. */
export interface Diff {
  missing: string;
  metric: DiffMetric;
  least: number;
  change: number;
  unit: string;
  samples: [number, number];
  runtime: Change;
  time: Change;
  comparedRegions: number;
  comparedPaths: number;
  regions: DiffRegion[];
  paths: DiffPath[];
  left: { regions: number; reportedRegions: number; paths: number; reportedPaths: number; time: Change };
}
/**
 * Phase is a phase with its factors, in the order of Phases.factors. A phase without time in regions
 * has no factors.
 */
export interface Phase {
  number: number;
  from: string;
  to: string;
  values: number[];
}
/**
 * Phases is the answer of /efficiency/phases. If there are none, missing is the reason. steps holds
 * the steps of an iteration, and left is the number of phases that the answer leaves out.
 */
export interface Phases {
  missing: string;
  steps: string[];
  factors: { name: string; level: number }[];
  phases: Phase[];
  left: number;
}
/**
 * WaitIntervals is the answer of /waits/intervals. times holds the begin and the end of each wait,
 * one after the other. left is the number of waits that the answer leaves out because they are too
 * short.
 */
export interface WaitIntervals {
  missing: string;
  left: number;
  tracks: { track: number; times: string[] }[];
  /** arrows lead from the call that ends a wait to the end of the wait, for the longest waits. */
  arrows: { track: number; to: string; cause: number; from: string }[];
}
/**
 * PathLine is the answer of /path/line. joined is set if each piece of the path ends where the next
 * one begins.
 */
export interface PathLine {
  missing: string;
  joined: boolean;
  pieces: { track: number; from: string; to: string }[];
}
