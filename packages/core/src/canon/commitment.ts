import { concat, equalBytes, fromHex, hmacSha256, toHex, toUtf8 } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { type AnyObject, createWriter, isDouble, JsonNumber, valuesOf } from '../json/index.ts';
import { canonicalBytes } from './canonicalize.ts';
import { source } from './numbers.ts';
import { orderOf, utf16 } from './order.ts';
import { jsonStringify } from './strings.ts';

/** What can be committed to, each under a label of its own, so that one cannot be passed off as another. */
const LABELS = {
  args: 'bulla:args:v1',
  rest: 'bulla:rest:v1',
  result: 'bulla:result:v1',
  // A copy from which something was removed never opens the commitment to the whole value, nor the other way round.
  'redacted-args': 'bulla:redacted-args:v1',
  'redacted-result': 'bulla:redacted-result:v1',
} as const;
export type CommitmentKind = keyof typeof LABELS;

/**
 * A commitment, and the canonical form that it is over: `jcs` where every number is exactly a double and every text is
 * Unicode, else `exact`, which keeps the digits of numbers as they were written and lone surrogates as escapes.
 */
export interface Commitment {
  /** 64 hex digits. */
  readonly commitment: string;
  readonly of: 'jcs' | 'exact';
}

export const SALT_BYTES = 32;

/** The `exact` form: keys as in `jcs`, numbers by their lexemes, strings as `JSON.stringify` writes them. */
export const exactText = createWriter({
  double: source.double,
  lexeme: source.lexeme,
  escape: jsonStringify.escape,
  order: (keys) => orderOf(keys, utf16),
  undefinedProperty: 'refuse',
});

/**
 * Commits to a value without telling it: HMAC-SHA256 under a fresh salt over the label, a zero byte and the canonical
 * bytes. Nobody without the salt can even try out values. Takes every value that JSON can carry. Throws `COMMIT_SALT`
 * unless the salt has 32 bytes, and `VALUE_…` with the path for what JSON cannot carry.
 */
export function commit(kind: CommitmentKind, value: unknown, salt: Uint8Array): Commitment {
  if (salt.length !== SALT_BYTES) throw new BullaError('COMMIT_SALT', `A salt has ${SALT_BYTES} bytes.`);
  const jcs = jcsBytes(value);
  return jcs !== null
    ? { commitment: mac(kind, jcs, salt), of: 'jcs' }
    : { commitment: mac(kind, toUtf8(exactText(value)), salt), of: 'exact' };
}

/** Whether a value and a salt open a commitment. Throws as `commit` does. */
export function opens(
  { commitment, of }: Commitment,
  kind: CommitmentKind,
  value: unknown,
  salt: Uint8Array,
): boolean {
  const made = commit(kind, value, salt);
  return made.of === of && equalBytes(fromHex(commitment), fromHex(made.commitment));
}

/** Null where RFC 8785 would turn a number into another one, or cannot write the value. */
function jcsBytes(value: unknown): Uint8Array | null {
  const bytes = attempt(() => canonicalBytes(value, 'jcs'));
  if (!(bytes instanceof BullaError)) return isExact(value) ? bytes : null;
  if (bytes.code.startsWith('CANON_')) return null;
  throw bytes;
}

function mac(kind: CommitmentKind, bytes: Uint8Array, salt: Uint8Array): string {
  return toHex(hmacSha256(salt, concat(toUtf8(`${LABELS[kind]}\u0000`), bytes)));
}

/**
 * Whether `jcs` keeps the digits of every number. The value must have been written before, so that its depth and its
 * numbers are known to be fit. Never recurses.
 */
function isExact(root: unknown): boolean {
  const open: unknown[] = [root];
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    if (typeof value === 'bigint' || value instanceof JsonNumber) {
      const lexeme = typeof value === 'bigint' ? value.toString() : value.lexeme;
      if (!isDouble(lexeme)) return false;
    } else if (typeof value === 'object' && value !== null) {
      const inner = Array.isArray(value) ? value : valuesOf(value as AnyObject);
      for (const each of inner) if (each !== null && typeof each !== 'string') open.push(each);
    }
  }
  return true;
}
