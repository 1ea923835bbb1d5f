import type { JsonValue } from '../json/index.ts';
import { compare, isInteger, plus, wholesAround } from './decimal.ts';
import type { Part } from './document.ts';
import { matcher, type Truth } from './pattern.ts';
import type { Budget } from './steps.ts';
import { BOOLEAN, FRACTION, NULL, NUMBER, typeOf, valueKey } from './value.ts';
import type { Bound, View } from './view.ts';

/** Schemas that must all hold, taken together with everything that `allOf` and `$ref` add to them. */
export interface Conjunction {
  readonly parts: readonly Part[];
  readonly views: readonly View[];
  /** No value of another type is accepted. */
  readonly types: number;
  /** No other value is accepted. */
  readonly values: ReadonlyMap<string, JsonValue> | undefined;
  readonly low: Bound | undefined;
  readonly high: Bound | undefined;
  readonly minLength: number;
  readonly maxLength: number;
  readonly required: ReadonlySet<string>;
  readonly minProperties: number;
  readonly maxProperties: number;
  readonly minItems: number;
  readonly maxItems: number;
  /** A reference that leads back to itself without reading further into the value: it means nothing. */
  readonly cyclic: boolean;
}

/** Every field holds more than the schemas say, never less: what is not understood adds nothing. */
export function conjunction(parts: readonly Part[], budget: Budget): Conjunction {
  const { found, cyclic } = gather(parts, budget);
  const views = found.map((part) => part.view);
  let types = views.reduce((bits, view) => bits & view.types & alternativeTypes(view), 127);
  // A whole multiple of a whole number has no fraction.
  if (views.some(({ multipleOf }) => multipleOf !== undefined && isInteger(multipleOf))) types &= ~FRACTION;
  const integer = (types & FRACTION) === 0;
  const most = (count: (view: View) => number) => views.reduce((sum, view) => Math.max(sum, count(view)), 0);
  const least = (count: (view: View) => number) =>
    views.reduce((sum, view) => Math.min(sum, count(view)), Number.POSITIVE_INFINITY);
  const values = sharedValues(views, types);
  const lows = views.map(({ low }) => wholeBound(low, 1, integer));
  const highs = views.map(({ high }) => wholeBound(high, -1, integer));
  return {
    parts: found,
    views,
    types: ownTypes({ types, values }),
    values,
    low: strongest(lows, 1),
    high: strongest(highs, -1),
    minLength: most((view) => view.minLength),
    maxLength: least((view) => view.maxLength),
    required: new Set(views.flatMap(({ required }) => [...required])),
    minProperties: most((view) => view.minProperties),
    maxProperties: least((view) => view.maxProperties),
    minItems: most(({ minItems, contains, minContains }) =>
      contains === undefined ? minItems : Math.max(minItems, minContains),
    ),
    maxItems: least(({ maxItems, items, prefix }) =>
      items?.node === false ? Math.min(maxItems, prefix.length) : maxItems,
    ),
    cyclic,
  };
}

interface Branch {
  readonly part: Part;
  readonly parent: Branch | undefined;
}

/** The parts and all that they bring along, each once. */
function gather(parts: readonly Part[], budget: Budget): { found: Part[]; cyclic: boolean } {
  const found = new Set<Part>();
  let cyclic = false;
  const open: Branch[] = parts.map((part) => ({ part, parent: undefined })).reverse();
  for (let branch = open.pop(); branch !== undefined; branch = open.pop()) {
    budget.spend();
    if (found.has(branch.part)) {
      for (let up = branch.parent; up !== undefined; up = up.parent) {
        budget.spend();
        if (up.part === branch.part) cyclic = true;
      }
      continue;
    }
    found.add(branch.part);
    const { anyOf, oneOf, values, required } = branch.part.view;
    const size = (anyOf?.length ?? 0) + (oneOf?.length ?? 0) + (values?.size ?? 0) + required.size;
    budget.spend(size / 8);
    for (const part of branch.part.view.all.toReversed()) open.push({ part, parent: branch });
  }
  return { found: [...found], cyclic };
}

/** The types that some alternative accepts. */
function alternativeTypes({ anyOf, oneOf }: View): number {
  let types = 127;
  for (const alternatives of [anyOf, oneOf]) {
    if (alternatives !== undefined)
      types &= alternatives.reduce((bits, { view }) => bits | ownTypes(view), 0);
  }
  return types;
}

/** The types that are left by the values, where these are named. */
function ownTypes({ types, values }: Pick<View, 'types' | 'values'>): number {
  if (values === undefined) return types;
  return types & [...values.values()].reduce((bits: number, value) => bits | typeOf(value), 0);
}

function sharedValues(views: readonly View[], types: number): ReadonlyMap<string, JsonValue> | undefined {
  let shared: Map<string, JsonValue> | undefined;
  for (const { values } of views) {
    if (values === undefined) continue;
    shared = new Map(shared === undefined ? values : [...shared].filter(([key]) => values.has(key)));
  }
  if (shared === undefined && (types & ~(NULL | BOOLEAN)) === 0) {
    shared = new Map(
      FEW.filter((value) => (typeOf(value) & types) !== 0).map((value) => [valueKey(value), value]),
    );
  }
  return shared;
}

/** Null and the booleans: types of few values. */
const FEW: readonly JsonValue[] = [null, false, true];

/** The strongest of some bounds; `sign` is 1 for lower bounds, -1 for upper ones. */
function strongest(bounds: readonly (Bound | undefined)[], sign: number): Bound | undefined {
  let best: Bound | undefined;
  for (const bound of bounds) if (bound !== undefined && !impliesBound(best, bound, sign)) best = bound;
  return best;
}

/** Whether everything within `have` is within `need`. */
export function impliesBound(have: Bound | undefined, need: Bound, sign: number): boolean {
  if (have === undefined) return false;
  const order = compare(have.value, need.value) * sign;
  return order > 0 || (order === 0 && (have.open || !need.open));
}

/** For whole numbers every bound is a closed one: more than 0 is 1 or more. */
export function wholeBound(bound: Bound | undefined, sign: number, integer: boolean): Bound | undefined {
  if (bound === undefined || !integer) return bound;
  const { floor, ceiling } = wholesAround(bound.value);
  if (!isInteger(bound.value)) return { value: sign > 0 ? ceiling : floor, open: false };
  const next = bound.open ? plus(bound.value, sign > 0 ? 1n : -1n) : bound.value;
  return next === undefined ? bound : { value: next, open: false };
}

/** Whether no number lies between the bounds. */
export function noNumber({ low, high, types }: Conjunction): boolean {
  if ((types & NUMBER) === 0) return true;
  if (low === undefined || high === undefined) return false;
  const order = compare(low.value, high.value);
  return order > 0 || (order === 0 && (low.open || high.open));
}

/** What the schemas say of the property of a name, or less where a pattern cannot be decided. */
export function partsAt({ views }: Conjunction, name: string, budget: Budget): Part[] {
  return views.flatMap((view) => propertyParts(view, name, budget).certain);
}

/**
 * What one schema says of the property of a name. `possible` holds what applies or not, by patterns that cannot be
 * decided; if there is any, `additionalProperties` is among them. Each pattern is asked, and paid for.
 */
export function propertyParts(
  view: View,
  name: string,
  budget: Budget,
): { certain: Part[]; possible: Part[] } {
  budget.spend((1 + view.patternProperties.size) / 8);
  const certain: Part[] = [];
  const possible: Part[] = [];
  const own = view.properties.get(name);
  if (own !== undefined) certain.push(own);
  for (const [test, part] of matchersOf(view)) {
    const match = test(name);
    if (match === undefined) possible.push(part);
    else if (match) certain.push(part);
  }
  if (certain.length === 0 && view.additional !== undefined) {
    (possible.length > 0 ? possible : certain).push(view.additional);
  }
  return { certain, possible };
}

type Matchers = readonly (readonly [(name: string) => Truth, Part])[];
const MATCHERS = new WeakMap<View, Matchers>();

function matchersOf(view: View): Matchers {
  if (view.patternProperties.size === 0) return [];
  let found = MATCHERS.get(view);
  if (found === undefined) {
    found = [...view.patternProperties].map(([pattern, part]) => [matcher(pattern), part] as const);
    MATCHERS.set(view, found);
  }
  return found;
}

/** What the schemas say of the element at an index. */
export function partsAtIndex({ views }: Conjunction, index: number): Part[] {
  return views.flatMap(({ prefix, items }) => {
    const part = index < prefix.length ? prefix[index] : items;
    return part === undefined ? [] : [part];
  });
}

/** The index from which on all elements are treated alike. */
export function alikeFrom({ views }: Conjunction): number {
  return views.reduce((length, { prefix }) => Math.max(length, prefix.length), 0);
}
