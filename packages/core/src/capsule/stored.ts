import { canonicalize, digestText, type ProfileId } from '../canon/index.ts';
import { attempt, BullaError } from '../error.ts';
import {
  type AnyObject,
  isObject,
  JsonNumber,
  JsonObject,
  type JsonValue,
  keysOf,
  parse,
  sameDecimal,
  type Trail,
  trailPointer,
  valuesOf,
} from '../json/index.ts';
import { CONTENT, type Form, SEAL_FIELDS } from './model.ts';

/** A record taken apart: what a seal can cover, and what no capsule seal covers. */
interface StoredRecord {
  /** The content keys that are there, as they are stored. */
  readonly content: JsonObject;
  readonly unknownKeys: readonly string[];
}

const KNOWN: ReadonlySet<string> = new Set<string>([...CONTENT['13'], ...SEAL_FIELDS]);

export function takeApart(record: JsonObject): StoredRecord {
  const keys: string[] = [];
  const values: JsonValue[] = [];
  const unknownKeys: string[] = [];
  for (let i = 0; i < record.size; i++) {
    const key = record.keys[i]!;
    if (!KNOWN.has(key)) {
      unknownKeys.push(key);
    } else if (!(SEAL_FIELDS as readonly string[]).includes(key)) {
      keys.push(key);
      values.push(record.values[i]!);
    }
  }
  return { content: new JsonObject(keys, values), unknownKeys };
}

/**
 * Whether some reader could take the key for one of the record's own: Go, for one, ignores case when it reads
 * JSON, and folds the long s and the Kelvin sign.
 */
export function isCaseTwin(key: string): boolean {
  return KNOWN.has(key.toUpperCase().toLowerCase());
}

/** Under which reading the stored content has the stored hash. */
interface Match {
  readonly profile: ProfileId;
  readonly form: Form;
  /** `spec_version` is in the record, but not in what was hashed. */
  readonly specVersionLeftOut: boolean;
  /** Content keys that are not in the record and were hashed as null. */
  readonly hashedAsNull: readonly string[];
}

/**
 * Looks for the profile and form under which the content, exactly as it is stored, has the hash: Python's form,
 * then the seed's, then both without a `spec_version` that a newer release wrote into an old record, then the
 * TypeScript reference's with its guard. Returns what refused the content, if anything did, where none matches.
 */
export function matchHash(
  content: JsonObject,
  hash: string,
  nonFinite: boolean,
): { match: Match } | { match: null; refusal: BullaError | undefined } {
  const stored: Form = content.has('spec_version') ? '13' : '12';
  const older = stored === '13' ? without(content, 'spec_version') : undefined;
  const tried: string[] = [];
  let refusal: BullaError | undefined;
  const fits = (value: JsonObject, profile: ProfileId): boolean => {
    const text = attempt(() => canonicalize(value, profile, { nonFinite }));
    if (text instanceof BullaError) refusal ??= text;
    if (text instanceof BullaError || tried.includes(text)) return false;
    tried.push(text);
    return digestText(text, profile) === hash;
  };
  for (const value of older === undefined ? [content] : [content, older]) {
    for (const profile of ['cps-python', 'cps'] as const) {
      if (!fits(value, profile)) continue;
      const specVersionLeftOut = value === older;
      const form = specVersionLeftOut ? '12' : stored;
      return { match: { profile, form, specVersionLeftOut, hashedAsNull: [] } };
    }
  }
  if (fits(content, 'cps-ts')) {
    const hashedAsNull = CONTENT['13'].filter((key) => !content.has(key));
    return { match: { profile: 'cps-ts', form: '13', specVersionLeftOut: false, hashedAsNull } };
  }
  return { match: null, refusal };
}

/**
 * The record of a stored text, of which the content has the hash that the record says, under any known reading, and
 * `hash` where one is given. Whoever shows, proves or serves a record under its hash reads it so. Throws
 * `CAPSULE_HASH`, and the codes of the parser.
 */
export function readHashed(text: JsonObject | string | Uint8Array, hash?: string): JsonObject {
  const record = text instanceof JsonObject ? text : parse(text, { allow: ['non-finite'] });
  const stored = record instanceof JsonObject ? record.get('hash') : undefined;
  if (record instanceof JsonObject && typeof stored === 'string' && (hash ?? stored) === stored) {
    if (matchHash(takeApart(record).content, stored, true).match !== null) return record;
  }
  const which = hash ?? (typeof stored === 'string' ? stored : 'it says');
  throw new BullaError('CAPSULE_HASH', `The content of the record does not have the hash ${which}.`, {
    path: '/hash',
  });
}

function without(object: JsonObject, left: string): JsonObject {
  const at = object.indexOf(left);
  return new JsonObject(object.keys.toSpliced(at, 1), object.values.toSpliced(at, 1));
}

/** A number in a record that a reader may take for another one than was hashed. */
interface OddNumber {
  readonly path: string;
  readonly kind: 'non_finite' | 'inexact_number';
}

/**
 * Finds numbers whose stored digits say more than the double that was hashed, so that they could be altered
 * unnoticed, and NaN and the infinities, which are no JSON. Never recurses.
 */
export function oddNumbers(content: AnyObject): OddNumber[] {
  const found: OddNumber[] = [];
  const open: { value: object; key: string | number; parent: Trail | undefined }[] = [];
  const enter = (value: object, trail: Trail | undefined) => {
    const keys = isObject(value) ? keysOf(value) : undefined;
    const values = isObject(value) ? valuesOf(value) : (value as unknown[]);
    for (let i = values.length - 1; i >= 0; i--) {
      const child = values[i]!;
      if (typeof child === 'object' && child !== null)
        open.push({ value: child, key: keys === undefined ? i : keys[i]!, parent: trail });
    }
  };
  enter(content, undefined);
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { value, key, parent } = item;
    if (value instanceof JsonNumber) {
      const kind = oddity(value.lexeme);
      if (kind !== undefined) found.push({ path: trailPointer({ key, parent }), kind });
    } else {
      enter(value, { key, parent });
    }
  }
  return found;
}

function oddity(lexeme: string): OddNumber['kind'] | undefined {
  // An integer is hashed digit by digit.
  if (/^-?[0-9]+$/.test(lexeme)) return undefined;
  const double = Number(lexeme);
  if (!Number.isFinite(double)) return 'non_finite';
  if (sameDecimal(lexeme, `${double}`)) return undefined;
  return 'inexact_number';
}
