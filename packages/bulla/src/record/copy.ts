import { canonicalize, exactText } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import { DEFAULT_MAX_DEPTH, isPlain, JsonNumber, JsonObject, type JsonValue, parse } from '@bulla/core/json';

// What a caller gives is read once, into a copy, before anything is awaited. Getters, Proxies and later writes then
// change nothing: what was decided is what is recorded and done.

/**
 * A copy of data and functions that nobody can change, without members that are undefined. Throws `VALUE_NOT_JSON` for
 * an instance of a class, `VALUE_TOO_DEEP`, and what the value itself throws when it is read.
 */
export function frozenCopy<T>(value: T, depth?: number): T;
export function frozenCopy(value: unknown, depth = DEFAULT_MAX_DEPTH): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) throw new BullaError('VALUE_TOO_DEEP', 'The value nests too deep, or contains itself.');
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof JsonNumber) return Object.freeze(new JsonNumber(value.lexeme));
  const inner = <V>(each: V) => frozenCopy(each, depth - 1);
  if (value instanceof JsonObject)
    return Object.freeze(
      new JsonObject(Object.freeze([...value.keys]), Object.freeze(value.values.map(inner))),
    );
  if (Array.isArray(value)) return Object.freeze(value.map(inner));
  if (!isPlain(value))
    throw new BullaError('VALUE_NOT_JSON', 'Data was expected, not an instance of a class.');
  // A loop, which is three times as fast as lists of entries: each call is copied several times.
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    if (name === '__proto__') Object.defineProperty(copy, name, { value: inner(member), enumerable: true });
    else copy[name] = inner(member);
  }
  return Object.freeze(copy);
}

const LENIENT = { allow: ['lone-surrogates'] } as const;

/**
 * The JSON form of a value, digit by digit. Throws `VALUE_…` for what JSON cannot carry, and what the value itself
 * throws when it is read.
 */
export function exactCopy(value: unknown): JsonValue {
  return parse(exactText(value), LENIENT);
}

/**
 * A value as a capsule will hold it, in a copy that nobody can change. Throws `VALUE_…` or `CANON_…` for what no capsule
 * can hold, and what the value itself throws when it is read.
 */
export function sealedCopy<T>(value: T): T {
  // In a list, because the profile treats some members of a whole capsule specially.
  const [copy] = parse(canonicalize([value], 'cps'), LENIENT) as readonly JsonValue[];
  return plainCopy(copy!) as T;
}

/** In frozen objects and lists of JavaScript. Numbers whose digits a double does not print stay as they were written. */
export function plainCopy(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    const double = value.toNumber();
    return `${double}` === value.lexeme ? double : value;
  }
  if (Array.isArray(value)) return Object.freeze(value.map(plainCopy));
  if (!(value instanceof JsonObject)) return value;
  return Object.freeze(Object.fromEntries([...value].map(([key, inner]) => [key, plainCopy(inner)])));
}
