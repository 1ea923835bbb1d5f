import type { Conjunction } from './conjunction.ts';
import type { Parts } from './prover.ts';
import { TYPES, typeWords } from './value.ts';

/** Alternatives that have been taken apart, by the list that holds them. */
export type Split = ReadonlySet<unknown>;
export const NO_SPLIT: Split = new Set();

interface Disjunction {
  readonly owner: unknown;
  /** One of these holds. */
  readonly choices: readonly Parts[];
}

/** What is known only as "one of these": alternatives, conditions, and several types where the right side has some. */
export function disjunctions(have: Conjunction, need: Conjunction | undefined): Disjunction[] {
  const found: Disjunction[] = [];
  for (const { anyOf, oneOf, conditional } of have.views) {
    for (const alternatives of [anyOf, oneOf]) {
      if (alternatives !== undefined)
        found.push({ owner: alternatives, choices: alternatives.map((part) => [part]) });
    }
    if (conditional !== undefined) {
      const { condition, yes, no } = conditional;
      found.push({
        owner: conditional,
        choices: [
          [condition, yes],
          [condition.document.negation(condition), no],
        ],
      });
    }
  }
  const divided = need?.views.some((view) => view.anyOf ?? view.oneOf ?? view.conditional) ?? false;
  const words = typeWords(have.types);
  const covered = words.reduce((bits, word) => bits | TYPES.get(word)!, 0);
  if (divided && words.length > 1 && covered === have.types) {
    const document = need!.parts[0]!.document;
    found.push({ owner: TYPE_SPLIT, choices: words.map((word) => [document.ofType(word)]) });
  }
  return found;
}
const TYPE_SPLIT = 'types';
