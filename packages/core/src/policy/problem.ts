import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';

/** One thing that is wrong with a policy, and where. */
export interface PolicyProblem {
  /** Stable, like the codes of errors. */
  readonly code: Code;
  /** For people, in one sentence. */
  readonly message: string;
  /** JSON Pointer into the policy: `/rules/2/expr`. */
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units. */
  readonly column: number;
}

/** A policy that is refused: all that is wrong with it, in the order of the file. Code and path are the first one's. */
export class PolicyError extends BullaError {
  readonly problems: readonly PolicyProblem[];

  constructor(problems: readonly PolicyProblem[]) {
    const [first] = problems as readonly [PolicyProblem];
    const more = problems.length === 1 ? '' : ` (${problems.length} problems in all)`;
    super(first.code, `Line ${first.line}, column ${first.column}: ${first.message}${more}`, {
      path: first.path,
    });
    this.name = 'PolicyError';
    this.problems = problems;
  }
}
