import { sha3_256Hex, sha256Hex } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { createWriter, isPlain, JsonObject, type JsonValue, type Writer } from '../json/index.ts';
import { orderOf } from './order.ts';
import { type Profile, type ProfileId, profiles } from './profiles.ts';

export interface CanonOptions {
  /** Write NaN and the infinities, where the profile knows how (`cps-python`); otherwise they are refused. */
  nonFinite?: boolean;
  /** The deepest nesting accepted. Default 1,000. */
  maxDepth?: number;
}

/** The profile of that name. Throws `CANON_UNKNOWN_PROFILE`. */
export function profile(id: string): Profile {
  if (!Object.hasOwn(profiles, id)) {
    throw new BullaError('CANON_UNKNOWN_PROFILE', `There is no profile ${JSON.stringify(id)}.`);
  }
  return profiles[id as ProfileId];
}

/**
 * The canonical text of a parsed or plain value. Throws a `BullaError` with the path: `VALUE_…` for what JSON
 * cannot hold, `CANON_…` for what the profile refuses.
 */
export function canonicalize(value: unknown, id: ProfileId, options: CanonOptions = {}): string {
  const { rules, write } = compiled(id, options.nonFinite === true);
  return write(hashedPart(value, rules), options.maxDepth);
}

const encoder = new TextEncoder();

/** The canonical text in UTF-8: the bytes that are signed or hashed. Throws as `canonicalize` does. */
export function canonicalBytes(value: unknown, id: ProfileId, options: CanonOptions = {}): Uint8Array {
  return encoder.encode(canonicalize(value, id, options));
}

/** The profile's hash over its domain separator and the canonical bytes, in hex. Throws as `canonicalize` does. */
export function digest(value: unknown, id: ProfileId, options: CanonOptions = {}): string {
  return digestText(canonicalize(value, id, options), id);
}

/** The digest of a text that is canonical already, such as one that was stored. */
export function digestText(canonical: string, id: ProfileId): string {
  const rules = profile(id);
  const hash = rules.hash === 'sha256' ? sha256Hex : sha3_256Hex;
  return rules.digestPrefix + hash(rules.domain + canonical);
}

/** Sorts names as the profile sorts keys; array-index names have no special place here. */
export function sortNames(names: readonly string[], id: ProfileId): string[] {
  const rules = profile(id);
  return Array.from(orderOf(names, rules.names ?? rules.keys), (position) => names[position]!);
}

interface Compiled {
  readonly rules: Profile;
  readonly write: Writer;
}
const finite = new Map<string, Compiled>();
const nonFinite = new Map<string, Compiled>();

/** The writer of a profile, made once. */
function compiled(id: string, withNonFinite: boolean): Compiled {
  const known = withNonFinite ? nonFinite : finite;
  let found = known.get(id);
  if (found === undefined) {
    const rules = profile(id);
    const numbers = (withNonFinite && rules.nonFiniteNumbers) || rules.numbers;
    const write = createWriter({
      double: numbers.double,
      lexeme: numbers.lexeme,
      bigint: numbers.bigint,
      escape: rules.strings.escape,
      order: (keys) => orderOf(keys, rules.keys),
      floatPaths: rules.floatPaths,
      undefinedProperty: rules.undefinedProperty,
    });
    found = { rules, write };
    known.set(id, found);
  }
  return found;
}

/** The value without the members of its root that the profile does not hash. */
export function hashedPart(value: unknown, rules: Profile): unknown {
  if (rules.members === undefined && rules.excluded.length === 0) return value;
  // What is not an object, or not one that may be written, is left to the writer.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const plain = !(value instanceof JsonObject);
  if (plain && (!isPlain(value) || Object.getOwnPropertySymbols(value).length > 0)) return value;
  const has = plain ? (key: string) => Object.hasOwn(value, key) : (key: string) => value.has(key);
  if (rules.members === undefined && !rules.excluded.some(has)) return value;
  const keys =
    rules.members ?? (plain ? Object.keys(value) : value.keys).filter((key) => !rules.excluded.includes(key));
  const members = keys.map((key) => {
    const member = plain ? (value as Record<string, JsonValue>)[key] : value.get(key);
    return member === undefined && !has(key) ? null : member!;
  });
  return new JsonObject(keys, members);
}
