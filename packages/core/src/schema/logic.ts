import type { Conjunction } from './conjunction.ts';
import { disjunctions, type Split } from './disjunctions.ts';
import type { Part } from './document.ts';
import type { Parts, Prover } from './prover.ts';
import { call, type Step } from './steps.ts';
import type { Conditional, View } from './view.ts';

/** Whether everything on the left satisfies the alternatives, the negation and the condition of one schema. */
export function* logicImplied(
  prover: Prover,
  left: Parts,
  have: Conjunction,
  view: View,
  split: Split,
): Step<boolean> {
  const { anyOf, oneOf, not, conditional } = view;
  if (anyOf !== undefined && !(yield* call(someIncludes(prover, left, have, anyOf, split)))) return false;
  if (oneOf !== undefined && !(yield* call(oneIncludes(prover, left, have, oneOf, split)))) return false;
  if (not !== undefined && !(yield* call(excluded(prover, left, have, not)))) return false;
  return conditional === undefined || (yield* call(conditionHolds(prover, left, have, conditional, split)));
}

function* someIncludes(
  prover: Prover,
  left: Parts,
  have: Conjunction,
  alternatives: Parts,
  split: Split,
): Step<boolean> {
  const known = prover.numbersOf(alternatives);
  const isThere = (part: Part) => known.has(prover.numberOf(part));
  if (have.parts.some(isThere) || have.views.some(({ anyOf, oneOf }) => (anyOf ?? oneOf)?.every(isThere)))
    return true;
  // What is itself one of several is taken apart first: each of them has to be included, not all in the same one.
  if (disjunctions(have, undefined).some(({ owner }) => !split.has(owner))) return false;
  for (const part of alternatives) if (yield* call(prover.included(left, part, split))) return true;
  return false;
}

/** Exactly one alternative: the same alternatives on the left, or one that includes all and others that meet none. */
function* oneIncludes(
  prover: Prover,
  left: Parts,
  have: Conjunction,
  alternatives: Parts,
  split: Split,
): Step<boolean> {
  for (const { oneOf } of have.views) {
    if (oneOf !== undefined && (yield* call(sameSet(prover, oneOf, alternatives)))) return true;
  }
  const numbers = new Set(have.parts.map((part) => prover.numberOf(part)));
  const likely = alternatives.filter((part) => numbers.has(prover.numberOf(part)));
  for (const part of likely.length > 0 ? likely : alternatives) {
    if (!(yield* call(prover.included(left, part, split)))) continue;
    let alone = true;
    for (const other of alternatives) {
      if (other !== part) alone &&= yield* call(prover.isEmpty([...left, other]));
    }
    return alone && alternatives.filter((other) => other === part).length === 1;
  }
  return false;
}

/** Whether the parts can be paired so that the partners accept the same. */
function* sameSet(prover: Prover, some: Parts, others: Parts): Step<boolean> {
  if (some.length !== others.length) return false;
  const free = new Set(some.keys());
  for (const other of others) {
    let partner: number | undefined;
    for (const index of free) {
      if (prover.identical(some[index]!, other) || (yield* call(equal(prover, some[index]!, other)))) {
        partner = index;
        break;
      }
    }
    if (partner === undefined) return false;
    free.delete(partner);
  }
  return true;
}

function* equal(prover: Prover, a: Part, b: Part): Step<boolean> {
  return (yield* call(prover.included([a], b))) && (yield* call(prover.included([b], a)));
}

/** Whether nothing on the left is accepted by `part`. */
function* excluded(prover: Prover, left: Parts, have: Conjunction, part: Part): Step<boolean> {
  for (const view of have.views) {
    if (view.not !== undefined && (yield* call(prover.included([part], view.not)))) return true;
  }
  return yield* call(prover.isEmpty([...left, part]));
}

function* conditionHolds(
  prover: Prover,
  left: Parts,
  have: Conjunction,
  need: Conditional,
  split: Split,
): Step<boolean> {
  for (const { conditional } of have.views) {
    if (conditional === undefined) continue;
    if (
      !prover.identical(conditional.condition, need.condition) &&
      !(yield* call(equal(prover, conditional.condition, need.condition)))
    )
      continue;
    const yes = [...left, need.condition, conditional.yes];
    if (!(yield* call(prover.included(yes, need.yes, split)))) continue;
    if (yield* call(prover.included([...left, conditional.no], need.no, split))) return true;
  }
  if (!(yield* call(prover.included([...left, need.condition], need.yes, split)))) return false;
  if (yield* call(prover.included(left, need.no, split))) return true;
  return yield* call(prover.included(left, need.condition, split));
}
