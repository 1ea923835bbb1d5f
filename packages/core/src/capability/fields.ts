import { BullaError, pointer } from '../error.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import { isHash } from './hashing.ts';

export type Path = readonly (string | number)[];

/**
 * An object of the wire with exactly these keys. Throws with the path: `CAPABILITY_FIELD` for what is no object,
 * `CAPABILITY_FIELD`.
 */
export function readRecord(
  value: JsonValue | undefined,
  at: Path,
  required: readonly string[],
  optional: readonly string[] = [],
): JsonObject {
  const record = readObject(value, at);
  for (const key of record.keys) {
    if (required.includes(key) || optional.includes(key)) continue;
    const why = `There is no key ${JSON.stringify(key)} here.`;
    throw new BullaError('CAPABILITY_FIELD', why, { path: pointer([...at, key]) });
  }
  for (const key of required) {
    if (record.has(key)) continue;
    const why = `The key ${JSON.stringify(key)} is missing.`;
    throw new BullaError('CAPABILITY_FIELD', why, { path: pointer([...at, key]) });
  }
  return record;
}

export function readObject(value: JsonValue | undefined, at: Path): JsonObject {
  return value instanceof JsonObject ? value : wrongType(at, 'an object');
}

export function readArray(value: JsonValue | undefined, at: Path): JsonValue[] {
  return Array.isArray(value) ? value : wrongType(at, 'a list');
}

/** Throws `CAPABILITY_FIELD`. */
export function readText(record: JsonObject, key: string, at: Path): string {
  const value = record.get(key);
  return typeof value === 'string' ? value : wrongType([...at, key], 'a text');
}

/** Throws `CAPABILITY_FIELD`, and `CAPABILITY_FIELD` for an empty text. */
export function readName(record: JsonObject, key: string, at: Path): string {
  const name = readText(record, key, at);
  return name === '' ? wrongValue([...at, key], 'A name is not empty.') : name;
}

/** Throws `CAPABILITY_FIELD`, and `CAPABILITY_FIELD` for what is no hash. */
export function readHash(record: JsonObject, key: string, at: Path): string {
  const hash = readText(record, key, at);
  return isHash(hash) ? hash : wrongValue([...at, key], 'A hash is 64 lower-case hex digits.');
}

export function readTexts(value: JsonValue | undefined, at: Path): string[] {
  return readArray(value, at).map((text, i) =>
    typeof text === 'string' ? text : wrongType([...at, i], 'a text'),
  );
}

export function readBoolean(record: JsonObject, key: string, at: Path): boolean {
  const value = record.get(key);
  return typeof value === 'boolean' ? value : wrongType([...at, key], 'true or false');
}

/** A whole number of milliseconds. */
export function readTime(value: JsonValue, at: Path): number {
  const time = value instanceof JsonNumber ? value.toNumber() : Number.NaN;
  return Number.isSafeInteger(time) && time >= 0 ? time : wrongType(at, 'a whole number of milliseconds');
}

/** One of the words. Throws `CAPABILITY_FIELD`. */
export function readWord<Word extends string>(
  record: JsonObject,
  key: string,
  at: Path,
  words: readonly Word[],
): Word {
  const text = readText(record, key, at);
  const word = words.find((known) => known === text);
  return word ?? wrongValue([...at, key], `This must be one of ${words.join(', ')}.`);
}

/** What is under a key, read; nothing where the key is absent. */
export function optional<Key extends string, Value>(
  record: JsonObject,
  key: Key,
  read: (key: Key) => Value,
): { readonly [K in Key]?: Value } {
  return (record.has(key) ? { [key]: read(key) } : {}) as { readonly [K in Key]?: Value };
}

function wrongType(at: Path, what: string): never {
  throw new BullaError('CAPABILITY_FIELD', `This must be ${what}.`, { path: pointer(at) });
}

export function wrongValue(at: Path, sentence: string): never {
  throw new BullaError('CAPABILITY_FIELD', sentence, { path: pointer(at) });
}
