import { type Conjunction, partsAt, propertyParts } from './conjunction.ts';
import type { Part } from './document.ts';
import type { Parts, Prover } from './prover.ts';
import { call, type Step } from './steps.ts';
import type { View } from './view.ts';

/** Whether every object on the left satisfies what one schema says of objects. */
export function* objectImplied(prover: Prover, left: Parts, have: Conjunction, view: View): Step<boolean> {
  for (const name of view.required) if (!have.required.has(name)) return false;
  if (Math.max(have.minProperties, have.required.size) < view.minProperties) return false;
  if (mostProperties(have) > view.maxProperties) return false;
  for (const [name, needed] of view.dependentRequired) {
    const known = have.views.map(({ dependentRequired }) => dependentRequired.get(name));
    const missing = [...needed].filter(
      (other) => !have.required.has(other) && !known.some((names) => names?.has(other)),
    );
    if (missing.length > 0 && !(yield* call(isForbidden(prover, have, name)))) return false;
  }
  for (const [name, part] of view.dependentSchemas) {
    const known = have.views.flatMap(({ dependentSchemas }) => dependentSchemas.get(name) ?? []);
    if (yield* call(prover.included([...left, ...known], part))) continue;
    if (!(yield* call(isForbidden(prover, have, name)))) return false;
  }
  if (view.propertyNames !== undefined && !(yield* call(namesImplied(prover, have, view.propertyNames))))
    return false;
  return yield* call(propertiesImplied(prover, have, view));
}

/** The most members an object can have: a limit, or the names of a schema that lets no others in. */
function mostProperties({ views, maxProperties }: Conjunction): number {
  return views.reduce((most, { properties, patternProperties, additional }) => {
    if (additional?.node !== false || patternProperties.size > 0) return most;
    return Math.min(most, [...properties.values()].filter(({ node }) => node !== false).length);
  }, maxProperties);
}

/** Whether no object on the left has a member of this name. */
function* isForbidden(prover: Prover, have: Conjunction, name: string): Step<boolean> {
  const parts = partsAt(have, name, prover.budget);
  return parts.length > 0 && (yield* call(prover.inside(prover.isEmpty(parts))));
}

function* namesImplied(prover: Prover, have: Conjunction, need: Part): Step<boolean> {
  const names = have.views.flatMap(({ propertyNames }) => propertyNames ?? []);
  const text = need.document.ofType('string');
  if (yield* call(prover.inside(prover.included([...names, text], need)))) return true;
  for (const { properties, patternProperties, additional } of have.views) {
    if (additional?.node !== false || patternProperties.size > 0) continue;
    let all = true;
    for (const name of properties.keys()) all &&= (yield* call(prover.evaluateAll([need], name))) === true;
    if (all) return true;
  }
  return false;
}

/** `properties`, `patternProperties` and `additionalProperties` of one schema: name by name, then all other names. */
function* propertiesImplied(prover: Prover, have: Conjunction, view: View): Step<boolean> {
  if (view.properties.size === 0 && view.patternProperties.size === 0 && view.additional === undefined)
    return true;
  const names = new Set([
    ...view.properties.keys(),
    ...have.views.flatMap((other) => [...other.properties.keys()]),
  ]);
  for (const name of names) {
    const { certain, possible } = propertyParts(view, name, prover.budget);
    if (certain.length + possible.length === 0) continue;
    const parts = partsAt(have, name, prover.budget);
    for (const part of [...certain, ...possible]) {
      if (!(yield* call(prover.inside(prover.included(parts, part))))) return false;
    }
  }
  for (const [pattern, part] of view.patternProperties) {
    if (!(yield* call(otherNamesImplied(prover, have, view, part, pattern)))) return false;
  }
  return (
    view.additional === undefined || (yield* call(otherNamesImplied(prover, have, view, view.additional)))
  );
}

/**
 * Whether the members of all names that nobody lists satisfy `need`: those that match `pattern`, or without one those
 * that match no pattern of the view.
 */
function* otherNamesImplied(
  prover: Prover,
  have: Conjunction,
  view: View,
  need: Part,
  pattern?: string,
): Step<boolean> {
  const sure = have.views.flatMap(({ patternProperties }) =>
    pattern === undefined ? [] : (patternProperties.get(pattern) ?? []),
  );
  if (yield* call(prover.inside(prover.included(sure, need)))) return true;
  for (const { patternProperties, additional } of have.views) {
    // A name falls under one of the patterns or under none of them; each case must do.
    const cases: Parts[] = [additional === undefined ? [] : [additional]];
    for (const [other, part] of patternProperties) {
      if (pattern !== undefined || !view.patternProperties.has(other)) cases.push([part]);
    }
    let all = true;
    for (const parts of cases) {
      all &&= yield* call(prover.inside(prover.included([...sure, ...parts], need)));
    }
    if (all) return true;
  }
  return false;
}
