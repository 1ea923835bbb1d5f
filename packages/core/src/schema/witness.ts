import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import { alikeFrom, type Conjunction, partsAt, partsAtIndex } from './conjunction.ts';
import { type Decimal, decimalText, plus, wholesAround } from './decimal.ts';
import type { Parts, Prover } from './prover.ts';
import { ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING, typeOf, valueKey } from './value.ts';

/** How far into a value we vary, near before far, and how many values we make of one schema. */
const DEPTHS = [1, 2, 4];
const MAX_VALUES = 150;
const MAX_INNER = 8;
const MAX_NAMES = 40;
const MAX_LENGTH = 200;
const MAX_ITEMS = 12;

/**
 * A value that `left` accepts and `right` refuses, both for certain, or undefined when none was found. It tries values
 * at the edges of what either says; that it finds none proves nothing.
 */
export function witness(prover: Prover, left: Parts, right: Parts): JsonValue | undefined {
  const search: Search = { prover, made: new Map() };
  for (const depth of DEPTHS) {
    for (const parts of [left, right]) {
      for (const value of candidates(search, parts, depth)) {
        if (prover.accepts(right, value) === false && prover.accepts(left, value) === true) return value;
      }
    }
  }
  return undefined;
}

interface Search {
  readonly prover: Prover;
  /** What was made of the same schemas before. */
  readonly made: Map<string, readonly JsonValue[]>;
}

function distinct(values: readonly JsonValue[]): JsonValue[] {
  return [...new Map(values.map((value) => [valueKey(value), value])).values()];
}

/** Values worth trying, plain ones first. */
function candidates(search: Search, parts: Parts, depth: number): readonly JsonValue[] {
  const key = `${depth} ${parts.map(({ id }) => id).join()}`;
  const known = search.made.get(key) ?? distinct(makeCandidates(search, parts, depth)).slice(0, MAX_VALUES);
  search.made.set(key, known);
  return search.prover.budget.take(known.length) ? known : [];
}

function makeCandidates(search: Search, parts: Parts, depth: number): JsonValue[] {
  const have = search.prover.together(parts);
  // The values of a schema are made of those inside it, so they cost about as much as there are of them.
  if (have === undefined || !search.prover.budget.take(MAX_INNER * have.parts.length)) return [];
  const values: JsonValue[] = [];
  const add = (more: readonly JsonValue[]) => {
    for (const value of more) values.push(value);
  };
  add([...(have.values?.values() ?? [])].slice(0, MAX_INNER));
  for (const { node } of have.parts) {
    if (!(node instanceof JsonObject)) continue;
    const [usual, examples] = [node.get('default'), node.get('examples')];
    if (usual !== undefined) values.push(usual);
    if (Array.isArray(examples)) add(examples.slice(0, 3));
  }
  if (depth > 0) {
    for (const { anyOf, oneOf } of have.views) {
      for (const part of [...(anyOf ?? []), ...(oneOf ?? [])].slice(0, MAX_INNER)) {
        add(candidates(search, [...parts, part], depth - 1).slice(0, 3 * MAX_INNER));
      }
    }
    if ((have.types & OBJECT) !== 0) add(objects(search, have, depth));
    if ((have.types & ARRAY) !== 0) add(arrays(search, have, depth));
  }
  if ((have.types & STRING) !== 0) add(strings(have));
  if ((have.types & NUMBER) !== 0) add(numbers(have));
  if ((have.types & BOOLEAN) !== 0) values.push(true, false);
  if ((have.types & NULL) !== 0) values.push(null);
  add(OTHERS.filter((value) => (typeOf(value) & have.types) === 0));
  return values;
}

/** One value of each type, tried where the schema wants another type. */
const OTHERS: readonly JsonValue[] = ['', new JsonNumber('0'), true, null, new JsonObject(), []];

function strings({ minLength, maxLength }: Conjunction): string[] {
  const lengths = [minLength, minLength + 1, maxLength, minLength - 1, maxLength + 1];
  return lengths.filter((n) => n >= 0 && n <= MAX_LENGTH).map((n) => 'a'.repeat(n));
}

function numbers({ low, high, views }: Conjunction): JsonNumber[] {
  const wholes: Decimal[] = [low, high].flatMap((bound) =>
    bound === undefined ? [] : Object.values(wholesAround(bound.value)),
  );
  const near = wholes.flatMap((value) => [value, plus(value, 1n), plus(value, -1n)]);
  const units = views.flatMap(({ multipleOf }) => multipleOf ?? []);
  const exact = [low?.value, high?.value, ...near, ...units].flatMap((value) => value ?? []);
  return [...exact.map(decimalText), '0', '1', '-1', '0.5', '7'].map((lexeme) => new JsonNumber(lexeme));
}

/** Values for a place inside, those first that are accepted there. */
function inner(search: Search, parts: Parts, depth: number): readonly JsonValue[] {
  const key = `in ${depth} ${parts.map(({ id }) => id).join()}`;
  const known = search.made.get(key);
  if (known !== undefined) return known;
  // Where nothing is said, nothing is at stake.
  const values = parts.length === 0 ? OTHERS : candidates(search, parts, depth - 1);
  const good = new Set(values.filter((value) => search.prover.accepts(parts, value) === true));
  const sorted = [...good, ...values.filter((value) => !good.has(value))].slice(0, 2 * MAX_INNER);
  search.made.set(key, sorted);
  return sorted;
}

function objects(search: Search, have: Conjunction, depth: number): JsonObject[] {
  const names = new Set([
    ...have.required,
    ...have.views.flatMap(({ properties }) => [...properties.keys()]),
  ]);
  const choices = new Map<string, readonly JsonValue[]>();
  for (const name of [...names].slice(0, MAX_NAMES)) {
    const parts = search.prover.affordable((budget) => partsAt(have, name, budget));
    choices.set(name, inner(search, parts ?? [], depth));
  }
  const first = (name: string): [string, JsonValue] => [name, choices.get(name)?.[0] ?? null];
  const base = JsonObject.from([...have.required].slice(0, MAX_NAMES).map(first));
  const made = [base];
  for (const name of [...have.required].slice(0, MAX_VALUES))
    made.push(JsonObject.from([...base].filter(([key]) => key !== name)));
  made.push(JsonObject.from([...base, ['other-name', 'a']]), JsonObject.from([...choices.keys()].map(first)));
  for (let i = 0; i < 2 * MAX_INNER; i++) {
    for (const [name, values] of choices) {
      if (i < values.length) made.push(JsonObject.from([...base, [name, values[i]!]]));
    }
  }
  return made.slice(0, MAX_VALUES);
}

function arrays(search: Search, have: Conjunction, depth: number): JsonValue[][] {
  const length = Math.min(Math.max(alikeFrom(have), have.minItems, 1), MAX_ITEMS);
  const at = Array.from({ length }, (_, index) => inner(search, partsAtIndex(have, index), depth));
  const rest = inner(search, partsAtIndex(have, alikeFrom(have)), depth);
  const fill = (count: number) =>
    Array.from({ length: count }, (_, i) => at[i]?.[0] ?? rest[i % rest.length] ?? null);
  const spread = (count: number) => Array.from({ length: count }, (_, i) => rest[i % rest.length] ?? null);
  const made: JsonValue[][] = [[]];
  const { minItems, maxItems } = have;
  for (const count of [minItems, minItems - 1, minItems + 1, maxItems, maxItems + 1]) {
    if (count >= 0 && count <= MAX_ITEMS) made.push(fill(count), spread(count));
  }
  for (const [index, values] of at.entries()) {
    const count = Math.max(index + 1, minItems);
    if (count > MAX_ITEMS) continue;
    for (const value of values) made.push(fill(count).with(index, value));
  }
  return made.slice(0, MAX_VALUES);
}
