import { BullaError } from '../error.ts';

/**
 * What the parser returns. Numbers keep their lexeme and objects their key order, so that nothing is lost
 * between the text and the bytes that are hashed.
 */
export type JsonValue = null | boolean | string | JsonNumber | JsonObject | JsonValue[];

/** A number as it was written. */
export class JsonNumber {
  readonly lexeme: string;

  /** The lexeme is not checked here: the parser has done it. `number` and `float` make one safely. */
  constructor(lexeme: string) {
    this.lexeme = lexeme;
  }

  /** The nearest double, which may differ from what was written. */
  toNumber(): number {
    return Number(this.lexeme);
  }
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** A number that is written exactly as given. Throws `JSON_BAD_NUMBER` when `lexeme` is not a JSON number. */
export function number(lexeme: string): JsonNumber {
  if (!NUMBER.test(lexeme))
    throw new BullaError('JSON_BAD_NUMBER', `${JSON.stringify(lexeme)} is not a JSON number.`);
  return new JsonNumber(lexeme);
}

/**
 * A number that is marked as a float, so that `float(1)` is written `1.0` where a profile keeps the two
 * apart. Throws `VALUE_NOT_FINITE` for NaN and the infinities.
 */
export function float(value: number): JsonNumber {
  if (!Number.isFinite(value)) throw new BullaError('VALUE_NOT_FINITE', `${value} has no JSON form.`);
  const text = Object.is(value, -0) ? '-0' : String(value);
  return new JsonNumber(/[.e]/.test(text) ? text : `${text}.0`);
}

/** Below this size a linear scan over the keys beats building an index. */
const LINEAR = 16;

/**
 * An object as it was written: `keys[i]` belongs to `values[i]`. It does not change. A plain JavaScript object
 * cannot serve, because it moves integer-like keys to the front and treats `__proto__` in a special way.
 */
export class JsonObject {
  readonly keys: readonly string[];
  readonly values: readonly JsonValue[];
  #index: Map<string, number> | undefined;

  /** The keys must be distinct, and nobody may change the lists afterwards; objects may share a list of keys. */
  constructor(keys: readonly string[] = [], values: readonly JsonValue[] = [], index?: Map<string, number>) {
    this.keys = keys;
    this.values = values;
    this.#index = index;
  }

  /** Makes an object from entries; of a repeated key the last value counts, at the place of the first. */
  static from(entries: Iterable<readonly [string, JsonValue]>): JsonObject {
    const members = new Map(entries);
    return new JsonObject([...members.keys()], [...members.values()]);
  }

  get size(): number {
    return this.keys.length;
  }

  /** The position of `key`, or -1. */
  indexOf(key: string): number {
    if (this.keys.length <= LINEAR) return this.keys.indexOf(key);
    this.#index ??= new Map(this.keys.map((name, position) => [name, position]));
    return this.#index.get(key) ?? -1;
  }

  has(key: string): boolean {
    return this.indexOf(key) >= 0;
  }

  get(key: string): JsonValue | undefined {
    return this.values[this.indexOf(key)];
  }

  *[Symbol.iterator](): IterableIterator<[string, JsonValue]> {
    for (let i = 0; i < this.keys.length; i++) yield [this.keys[i]!, this.values[i]!];
  }
}
