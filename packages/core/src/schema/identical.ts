import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import { type Part, SCHEMA_MAPS } from './document.ts';
import type { Budget } from './steps.ts';
import { valueKey } from './value.ts';
import { keywordKind } from './view.ts';

/** Keywords whose value is a schema, or a list of schemas. */
const APPLICATORS: ReadonlySet<string> = new Set(
  'additionalProperties unevaluatedProperties propertyNames items additionalItems unevaluatedItems prefixItems contains allOf anyOf oneOf not if then else'.split(
    ' ',
  ),
);

/**
 * Tells whether two schemas are the same word for word, annotations aside and references followed on both sides. Then
 * they accept the same, whatever their keywords mean. Never so for a reference that leads out of the document or
 * depends on who asks. Never recurses.
 */
export class Identity {
  /** A number for each wording, and the numbers of the schemas seen; undefined for one with a reference in it. */
  readonly #wordings = new Map<string, number>();
  readonly #numbers = new Map<Part, number | undefined>();

  same(a: Part, b: Part, budget: Budget): boolean {
    const seen = new Set<string>();
    const open: [Part, Part][] = [[a, b]];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const [left, right] = pair;
      const [x, y] = [this.number(left, budget), this.number(right, budget)];
      if (x !== y) return false;
      const key = `${left.id}=${right.id}`;
      if (x !== undefined || seen.has(key)) continue;
      seen.add(key);
      const inner = sameHere(left, right, budget);
      if (inner === undefined) return false;
      for (const next of inner) open.push(next);
    }
    return true;
  }

  /**
   * A number that two schemas without references share when they are the same, and no others do; undefined for one
   * with references. Schemas inside are numbered first, so that each is read once however often it is compared.
   */
  number(part: Part, budget: Budget): number | undefined {
    const open = [part];
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      if (this.#numbers.has(last)) {
        open.pop();
        continue;
      }
      const { inner, wording } = wordingOf(last);
      budget.spend(1 + inner.length);
      const missing = inner.filter((next) => !this.#numbers.has(next));
      for (const next of missing) open.push(next);
      if (missing.length > 0) continue;
      const numbers = inner.map((next) => this.#numbers.get(next));
      const known = wording !== undefined && !numbers.includes(undefined);
      this.#numbers.set(last, known ? this.#wording(`${wording} ${numbers.join()}`) : undefined);
    }
    return this.#numbers.get(part);
  }

  #wording(text: string): number {
    const number = this.#wordings.get(text) ?? this.#wordings.size;
    this.#wordings.set(text, number);
    return number;
  }
}

/** What a schema says besides the schemas inside it, whose order tells their place; undefined with a reference. */
function wordingOf(part: Part): { inner: Part[]; wording: string | undefined } {
  const { node, document } = part;
  if (!(node instanceof JsonObject)) return { inner: [], wording: valueKey(node) };
  const inner: Part[] = [];
  const words: JsonValue[] = [document.dialect ?? document.name];
  for (const keyword of asserting(part, node).sort()) {
    if (REFERENCES.has(keyword)) return { inner: [], wording: undefined };
    const value = node.get(keyword)!;
    if (SCHEMA_MAPS.has(keyword) && value instanceof JsonObject) {
      const names = value.keys.toSorted();
      words.push([keyword, ...names]);
      for (const name of names) inner.push(document.part(value.get(name)!));
    } else if (APPLICATORS.has(keyword)) {
      words.push([keyword, Array.isArray(value) ? new JsonNumber(String(value.length)) : true]);
      for (const item of Array.isArray(value) ? value : [value]) inner.push(document.part(item));
    } else words.push([keyword, valueKey(value)]);
  }
  return { inner, wording: valueKey(words) };
}

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** The schemas inside that have to be the same too; undefined when two differ already here. */
function sameHere(left: Part, right: Part, budget: Budget): [Part, Part][] | undefined {
  budget.spend();
  const { node } = left;
  const { node: other } = right;
  if (!(node instanceof JsonObject) || !(other instanceof JsonObject)) {
    const plain = !(node instanceof JsonObject || other instanceof JsonObject);
    return plain && valueKey(node) === valueKey(other) ? [] : undefined;
  }
  if (left.document.dialect !== right.document.dialect) return undefined;
  const keywords = asserting(left, node);
  if (keywords.length !== asserting(right, other).length) return undefined;
  const inner: [Part, Part][] = [];
  for (const keyword of keywords) {
    const [value, against] = [node.get(keyword)!, other.get(keyword)];
    if (against === undefined) return undefined;
    if (keyword === '$dynamicRef' || keyword === '$recursiveRef') return undefined;
    if (keyword === '$ref') {
      const [target, otherTarget] = [follow(left, value), follow(right, against)];
      if (target === undefined || otherTarget === undefined) return undefined;
      inner.push([target, otherTarget]);
      continue;
    }
    const pairs = pairsIn(keyword, value, against);
    if (pairs === undefined) return undefined;
    for (const [x, y] of pairs) inner.push([left.document.part(x), right.document.part(y)]);
  }
  return inner;
}

function asserting(part: Part, node: JsonObject): string[] {
  return node.keys.filter((keyword) => keywordKind(part, keyword) !== 'annotation');
}

function follow(part: Part, reference: JsonValue): Part | undefined {
  return typeof reference === 'string' ? part.document.resolve(reference) : undefined;
}

/** The schemas in the values of a keyword, pair by pair; undefined when the values differ otherwise. */
function pairsIn(keyword: string, value: JsonValue, other: JsonValue): [JsonValue, JsonValue][] | undefined {
  if (SCHEMA_MAPS.has(keyword) && value instanceof JsonObject && other instanceof JsonObject) {
    if (value.size !== other.size || !value.keys.every((name) => other.has(name))) return undefined;
    return value.keys.map((name) => [value.get(name)!, other.get(name)!]);
  }
  if (APPLICATORS.has(keyword)) {
    if (Array.isArray(value) && Array.isArray(other)) {
      return value.length === other.length ? value.map((item, i) => [item, other[i]!]) : undefined;
    }
    return [[value, other]];
  }
  return valueKey(value) === valueKey(other) ? [] : undefined;
}
