import { BullaError, pointer } from '../../error.ts';
import { JsonObject, type JsonValue } from '../../json/index.ts';

export type Path = readonly (string | number)[];

/** Which keys an object of the lockfile has. */
export interface Fields {
  readonly required: readonly string[];
  readonly optional?: readonly string[];
  /** Keys of other versions, whose twins are refused as well. */
  readonly others?: readonly string[];
}

/** How strictly a lockfile is read, and what was passed over. */
export interface Reading {
  /** Pass over unknown keys and over missing hashes of a tool, as the released program does. */
  readonly lenient: boolean;
  /** JSON Pointers of the keys that were passed over. */
  readonly ignored: string[];
}

/**
 * An object with exactly the keys of the table. Throws with the path: `LOCK_FIELD` for what is no
 * object, `LOCK_CASE_TWIN` for a key that the released program would take for a known one,
 * `LOCK_FIELD`.
 */
export function readRecord(
  value: JsonValue | undefined,
  at: Path,
  fields: Fields,
  reading: Reading,
): JsonObject {
  const record = readObject(value, at);
  const { required, optional = [], others = [] } = fields;
  for (const key of record.keys) {
    if (required.includes(key) || optional.includes(key)) continue;
    const path = pointer([...at, key]);
    if ([...required, ...optional, ...others].some((known) => isCaseTwin(key, known)))
      throw new BullaError('LOCK_CASE_TWIN', `The key ${JSON.stringify(key)} could be taken for another.`, {
        path,
      });
    if (!reading.lenient)
      throw new BullaError('LOCK_FIELD', `A lockfile has no key ${JSON.stringify(key)} here.`, {
        path,
      });
    reading.ignored.push(path);
  }
  for (const key of required) {
    if (!record.has(key) && !reading.lenient) throw missing(at, key);
  }
  return record;
}

function missing(at: Path, key: string): BullaError {
  return new BullaError('LOCK_FIELD', `The key ${JSON.stringify(key)} is missing.`, {
    path: pointer([...at, key]),
  });
}

/**
 * Whether Go's decoder would take `key` for `known`: it compares without case, by Unicode's simple folding,
 * under which two letters outside ASCII also stand for s and k.
 */
export function isCaseTwin(key: string, known: string): boolean {
  return key !== known && key.length === known.length && fold(key) === fold(known);
}

function fold(key: string): string {
  return key.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
}

export function wrongType(at: Path, what: string): BullaError {
  return new BullaError('LOCK_FIELD', `This must be ${what}.`, { path: pointer(at) });
}

export function wrongValue(at: Path, sentence: string): BullaError {
  return new BullaError('LOCK_FIELD', sentence, { path: pointer(at) });
}

/** What is thrown for a lock that says two things. */
export function inconsistent(at: Path, what: string): BullaError {
  return new BullaError('LOCK_INCONSISTENT', `The lock contradicts itself: what is here ${what}.`, {
    path: pointer(at),
  });
}

/** An object with any keys. Throws `LOCK_FIELD`. */
export function readObject(value: JsonValue | undefined, at: Path): JsonObject {
  if (value instanceof JsonObject) return value;
  throw wrongType(at, 'an object');
}

/** Throws `LOCK_FIELD`. */
export function readArray(value: JsonValue | undefined, at: Path): JsonValue[] {
  if (Array.isArray(value)) return value;
  throw wrongType(at, 'an array');
}

/** The string under a key. Throws `LOCK_FIELD`, or `LOCK_FIELD` when there is none. */
export function readText(record: JsonObject, key: string, at: Path): string {
  const value = record.get(key);
  if (typeof value === 'string') return value;
  throw value === undefined ? missing(at, key) : wrongType([...at, key], 'a string');
}

/** The string under a key, or null when the key is absent. Throws `LOCK_FIELD`. */
export function readOptionalText(record: JsonObject, key: string, at: Path): string | null {
  return record.has(key) ? readText(record, key, at) : null;
}

/** The string or null under a key that must be there. Throws as `readText` does. */
export function readTextOrNull(record: JsonObject, key: string, at: Path): string | null {
  return record.get(key) === null ? null : readText(record, key, at);
}

/** A list of strings. Throws `LOCK_FIELD`. */
export function readTexts(value: JsonValue | undefined, at: Path): string[] {
  return readArray(value, at).map((element, i) => {
    if (typeof element === 'string') return element;
    throw wrongType([...at, i], 'a string');
  });
}

/**
 * A word of a list. Throws `LOCK_FIELD`, or `LOCK_FIELD` for another word.
 */
export function readWord<Word extends string>(
  record: JsonObject,
  key: string,
  at: Path,
  words: readonly Word[],
): Word {
  const text = readText(record, key, at);
  if ((words as readonly string[]).includes(text)) return text as Word;
  throw wrongValue([...at, key], `This must be one of ${words.join(', ')}.`);
}

/** Runs `run`, and says of a canonical form that it refuses where in the whole the offence stands. */
export function located<Result>(at: Path, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof BullaError) || !error.code.startsWith('CANON_')) throw error;
    throw new BullaError(error.code, error.message, { path: pointer(at) + (error.path ?? '') });
  }
}
