import { alikeFrom, type Conjunction, partsAtIndex } from './conjunction.ts';
import type { Part } from './document.ts';
import type { Prover } from './prover.ts';
import { call, type Step } from './steps.ts';
import type { View } from './view.ts';

/** Whether every array on the left satisfies what one schema says of arrays. */
export function* arrayImplied(prover: Prover, have: Conjunction, view: View): Step<boolean> {
  if (have.minItems < view.minItems || have.maxItems > view.maxItems) return false;
  if (view.unique && have.maxItems > 1 && !have.views.some(({ unique }) => unique)) return false;
  const last = Math.max(alikeFrom(have), view.prefix.length);
  for (let index = 0; index <= last && index < have.maxItems; index++) {
    const need = index < view.prefix.length ? view.prefix[index] : view.items;
    if (need === undefined) continue;
    if (!(yield* call(prover.inside(prover.included(partsAtIndex(have, index), need))))) return false;
  }
  return view.contains === undefined || (yield* call(containsImplied(prover, have, view, view.contains)));
}

function* containsImplied(prover: Prover, have: Conjunction, view: View, need: Part): Step<boolean> {
  const { minContains, maxContains } = view;
  if (minContains > 0 && !(yield* call(enoughContained(prover, have, need, minContains)))) return false;
  return have.maxItems <= maxContains || (yield* call(fewContained(prover, have, need, maxContains)));
}

function* enoughContained(prover: Prover, have: Conjunction, need: Part, count: number): Step<boolean> {
  for (const { contains, minContains } of have.views) {
    if (contains === undefined || minContains < count) continue;
    if (yield* call(prover.inside(prover.included([contains], need)))) return true;
  }
  if (have.minItems < count) return false;
  for (let index = 0; index <= alikeFrom(have) && index < have.maxItems; index++) {
    if (!(yield* call(prover.inside(prover.included(partsAtIndex(have, index), need))))) return false;
  }
  return true;
}

function* fewContained(prover: Prover, have: Conjunction, need: Part, count: number): Step<boolean> {
  if (count === Number.POSITIVE_INFINITY) return true;
  for (const { contains, maxContains } of have.views) {
    if (contains === undefined || maxContains > count) continue;
    if (yield* call(prover.inside(prover.included([need], contains)))) return true;
  }
  return false;
}
