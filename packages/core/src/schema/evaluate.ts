import { JsonObject, type JsonValue } from '../json/index.ts';
import { propertyParts } from './conjunction.ts';
import { compare, decimal, isMultiple } from './decimal.ts';
import type { Part } from './document.ts';
import { matches, type Truth } from './pattern.ts';
import { type Budget, call, type Step } from './steps.ts';
import { isNumber, typeOf, valueKey } from './value.ts';
import type { Bound, View } from './view.ts';

/**
 * Whether a schema accepts a value: true or false only when that is certain, whatever the parts that cannot be read
 * may mean.
 */
export function* evaluate(
  value: JsonValue,
  part: Part,
  budget: Budget,
  above: Above = undefined,
): Step<Truth> {
  budget.spend();
  for (let up = above; up !== undefined; up = up.above) {
    budget.spend();
    // A reference that came back without reading further into the value.
    if (up.part === part) return undefined;
  }
  const { view } = part;
  if (view.opaque) return undefined;
  const here: Above = { part, above };
  const each = (parts: readonly Part[]) => parts.map((next) => evaluate(value, next, budget, here));
  const shallow = ownTruth(value, view);
  if (shallow === false) return false;
  const all = yield* call(
    every([
      ...each(view.all),
      ...(value instanceof JsonObject ? objectSteps(value, view, budget, here) : []),
      ...(Array.isArray(value) ? arraySteps(value, view, budget) : []),
    ]),
  );
  if (all === false) return false;
  const results: Truth[] = [shallow, all];
  if (view.anyOf !== undefined) results.push(atLeast(yield* call(list(each(view.anyOf))), 1));
  if (view.oneOf !== undefined) {
    const truths = yield* call(list(each(view.oneOf)));
    results.push(and([atLeast(truths, 1), not(atLeast(truths, 2))]));
  }
  if (view.not !== undefined) results.push(not(yield* call(evaluate(value, view.not, budget, here))));
  if (view.conditional !== undefined) {
    const { condition, yes, no } = view.conditional;
    const holds = yield* call(evaluate(value, condition, budget, here));
    const applied = holds === undefined ? [yes, no] : [holds ? yes : no];
    const truths = yield* call(list(each(applied)));
    results.push(truths.every((truth) => truth === truths[0]) ? truths[0] : undefined);
  }
  return and(results);
}

/** The schemas that are being applied to the same value. */
type Above = { readonly part: Part; readonly above: Above } | undefined;

function and(truths: readonly Truth[]): Truth {
  return truths.includes(false) ? false : truths.includes(undefined) ? undefined : true;
}

function not(truth: Truth): Truth {
  return truth === undefined ? undefined : !truth;
}

/** Whether at least this number of them are true. */
function atLeast(truths: readonly Truth[], count: number): Truth {
  if (truths.filter((truth) => truth === true).length >= count) return true;
  return truths.filter((truth) => truth !== false).length >= count ? undefined : false;
}

/** Whether all of the steps give true. */
export function* every(steps: Iterable<Step<Truth>>): Step<Truth> {
  let result: Truth = true;
  for (const step of steps) {
    const truth = yield* call(step);
    if (truth === false) return false;
    if (truth === undefined) result = undefined;
  }
  return result;
}

function* list(steps: readonly Step<Truth>[]): Step<Truth[]> {
  const truths: Truth[] = [];
  for (const step of steps) truths.push(yield* call(step));
  return truths;
}

/** True stays true; anything else becomes uncertain. For what applies only perhaps. */
function* perhaps(step: Step<Truth>): Step<Truth> {
  return (yield* call(step)) === true ? true : undefined;
}

/** The keywords that look at the value alone. */
function ownTruth(value: JsonValue, view: View): Truth {
  const truths: Truth[] = [];
  const type = typeOf(value);
  truths.push((type & view.types) === type ? true : (type & view.types) === 0 ? false : undefined);
  if (view.values !== undefined) truths.push(view.values.has(valueKey(value)));
  if (isNumber(value)) truths.push(numberTruth(value.lexeme, view));
  if (typeof value === 'string') {
    // Length is counted in characters, not code units.
    const length = Array.from(value).length;
    truths.push(length >= view.minLength && length <= view.maxLength);
    if (view.pattern !== undefined) truths.push(matches(view.pattern, value));
  }
  if (Array.isArray(value)) {
    truths.push(value.length >= view.minItems && value.length <= view.maxItems);
    if (view.unique) truths.push(new Set(value.map(valueKey)).size === value.length);
  }
  if (value instanceof JsonObject) {
    truths.push(value.size >= view.minProperties && value.size <= view.maxProperties);
    for (const name of view.required) truths.push(value.has(name));
    for (const [name, needed] of view.dependentRequired) {
      if (value.has(name)) for (const other of needed) truths.push(value.has(other));
    }
  }
  return and(truths);
}

function numberTruth(lexeme: string, { low, high, multipleOf }: View): Truth {
  const number = decimal(lexeme);
  const within = (bound: Bound | undefined, sign: number): Truth => {
    if (bound === undefined) return true;
    const order = number && compare(number, bound.value) * sign;
    return order === undefined ? undefined : order > 0 || (order === 0 && !bound.open);
  };
  const whole = multipleOf === undefined ? true : number && isMultiple(number, multipleOf);
  return and([within(low, 1), within(high, -1), whole]);
}

function* objectSteps(value: JsonObject, view: View, budget: Budget, here: Above): Generator<Step<Truth>> {
  for (const [name, member] of value) {
    const { certain, possible } = propertyParts(view, name, budget);
    for (const part of certain) yield evaluate(member, part, budget);
    for (const part of possible) yield perhaps(evaluate(member, part, budget));
    if (view.propertyNames !== undefined) yield evaluate(name, view.propertyNames, budget);
  }
  for (const [name, part] of view.dependentSchemas)
    if (value.has(name)) yield evaluate(value, part, budget, here);
}

function* arraySteps(value: readonly JsonValue[], view: View, budget: Budget): Generator<Step<Truth>> {
  for (const [index, item] of value.entries()) {
    const part = index < view.prefix.length ? view.prefix[index] : view.items;
    if (part !== undefined) yield evaluate(item, part, budget);
  }
  if (view.contains !== undefined) yield containsTruth(value, view, view.contains, budget);
}

function* containsTruth(
  value: readonly JsonValue[],
  view: View,
  contains: Part,
  budget: Budget,
): Step<Truth> {
  const truths = yield* call(list(value.map((item) => evaluate(item, contains, budget))));
  return and([
    atLeast(truths, view.minContains),
    view.maxContains === Number.POSITIVE_INFINITY ? true : not(atLeast(truths, view.maxContains + 1)),
  ]);
}
