// The types of the server's answers about specifications, behaviour and flow.

/** SyntaxProblem is what is wrong with a specification, at a place counted from 1. */
export interface SyntaxProblem {
  line: number;
  column: number;
  message: string;
}
/** Reason explains why a part of a check holds, or not. from and to are the times that decide it. */
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
