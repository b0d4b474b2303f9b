/** What a check of a Graph finds. Owns the shapes. */

/** The checks, by what they look for. A stable name for each, for scripts. */
export type ProblemRule =
  | 'file'
  | 'syntax'
  | 'meta'
  | 'forbidden'
  | 'unknown-name'
  | 'read-only'
  | 'not-a-function'
  | 'not-awaited'
  | 'argument'
  | 'limit'
  | 'tool'
  | 'graph'
  | 'slug'
  | 'no-result';

export interface GraphProblem {
  readonly rule: ProblemRule;
  /** An error makes a run fail, or be refused; a warning is likely not what was meant. */
  readonly severity: 'error' | 'warning';
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly message: string;
}

/** A finding of a rule, at a node of the tree. */
export interface Finding {
  readonly rule: ProblemRule;
  readonly severity: GraphProblem['severity'];
  /** Offset in the text. */
  readonly at: number;
  readonly message: string;
}
