import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import type { Part } from './document.ts';
import { APPLICATORS, SCHEMA_MAPS } from './keyword-forms.ts';
import type { Budget } from './steps.ts';
import { valueKey } from './value.ts';
import { keywordKind } from './view.ts';

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
      budget.spend();
      const [one, other] = [wordingOf(left), wordingOf(right)];
      if (one.words === undefined || one.words !== other.words) return false;
      for (const [i, part] of one.inner.entries()) open.push([part, other.inner[i]!]);
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
      const { inner, words, refers } = wordingOf(last);
      budget.spend(1 + inner.length);
      if (refers) {
        this.#numbers.set(last, undefined);
        continue;
      }
      const missing = inner.filter((next) => !this.#numbers.has(next));
      for (const next of missing) open.push(next);
      if (missing.length > 0) continue;
      const numbers = inner.map((next) => this.#numbers.get(next));
      const known = !numbers.includes(undefined);
      this.#numbers.set(last, known ? this.#wording(`${words} ${numbers.join()}`) : undefined);
    }
    return this.#numbers.get(part);
  }

  #wording(text: string): number {
    const number = this.#wordings.get(text) ?? this.#wordings.size;
    this.#wordings.set(text, number);
    return number;
  }
}

interface Wording {
  /** The schemas inside, in an order that tells their place, and those that are referred to. */
  readonly inner: readonly Part[];
  /** What the schema says besides them; undefined with a reference that cannot be followed. */
  readonly words: string | undefined;
  readonly refers: boolean;
}

function wordingOf(part: Part): Wording {
  const { node, document } = part;
  if (!(node instanceof JsonObject)) return { inner: [], words: valueKey(node), refers: false };
  const inner: Part[] = [];
  const words: JsonValue[] = [document.dialect ?? document.name];
  const keywords = node.keys.filter((keyword) => keywordKind(part, keyword) !== 'annotation');
  for (const keyword of keywords.sort()) {
    const value = node.get(keyword)!;
    if (REFERENCES.has(keyword)) {
      const target = keyword === '$ref' && typeof value === 'string' ? document.resolve(value) : undefined;
      if (target === undefined) return { inner: [], words: undefined, refers: true };
      words.push(keyword);
      inner.push(target);
    } else if (SCHEMA_MAPS.has(keyword) && value instanceof JsonObject) {
      const names = value.keys.toSorted();
      words.push([keyword, ...names]);
      for (const name of names) inner.push(document.part(value.get(name)!));
    } else if (APPLICATORS.has(keyword)) {
      words.push([keyword, Array.isArray(value) ? new JsonNumber(String(value.length)) : true]);
      for (const item of Array.isArray(value) ? value : [value]) inner.push(document.part(item));
    } else words.push([keyword, valueKey(value)]);
  }
  return { inner, words: valueKey(words), refers: keywords.some((keyword) => REFERENCES.has(keyword)) };
}

const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
