import { type Conjunction, impliesBound, wholeBound } from './conjunction.ts';
import { isMultiple, ONE } from './decimal.ts';
import { isTrivial } from './pattern.ts';
import { FRACTION } from './value.ts';
import type { View } from './view.ts';

/** Whether every number on the left satisfies what one schema says of numbers. */
export function numberImplied(have: Conjunction, view: View): boolean {
  const integer = (have.types & FRACTION) === 0;
  const low = wholeBound(view.low, 1, integer);
  const high = wholeBound(view.high, -1, integer);
  if (low !== undefined && !impliesBound(have.low, low, 1)) return false;
  if (high !== undefined && !impliesBound(have.high, high, -1)) return false;
  const unit = view.multipleOf;
  if (unit === undefined || (integer && isMultiple(ONE, unit) === true)) return true;
  return have.views.some(
    ({ multipleOf }) => multipleOf !== undefined && isMultiple(multipleOf, unit) === true,
  );
}

/** The same for strings. A pattern follows only from the same pattern. */
export function stringImplied(have: Conjunction, { minLength, maxLength, pattern }: View): boolean {
  if (have.minLength < minLength || have.maxLength > maxLength) return false;
  return pattern === undefined || isTrivial(pattern) || have.views.some((view) => view.pattern === pattern);
}
