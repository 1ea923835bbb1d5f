import { canonicalize, digestText, type ProfileId } from '../canon/index.ts';
import type { Code } from '../codes.ts';
import { fromHex, type PublicKey } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import {
  type JsonNumber,
  JsonObject,
  type JsonValue,
  parse,
  sameDecimal,
  sameValue,
  textAt,
} from '../json/index.ts';
import type { Form } from './model.ts';
import { findPqSigner, findSigner, namesOf, type ReadSeal, type Warning, warning } from './signatures.ts';
import { isCaseTwin, matchHash, oddNumbers, takeApart } from './stored.ts';
import { type KeyFacts, outsideValidity } from './validity.ts';

export interface VerifyOptions {
  /** The Ed25519 keys to trust. */
  readonly keys: readonly PublicKey[];
  /** The ML-DSA-65 keys to trust. Default none: a post-quantum signature is then not checked, and a warning says so. */
  readonly pqKeys?: readonly PublicKey[] | undefined;
  /**
   * What else is known of the keys. A record outside the time in which its key was valid is refused, and so is one
   * without the post-quantum signature that its key always comes with.
   */
  readonly facts?: readonly KeyFacts[] | undefined;
  /** Refuse a record whose post-quantum signature is missing or cannot be checked. Default false. */
  readonly requirePq?: boolean | undefined;
  /** Read the bare NaN and Infinity tokens that Python writes. Default false. */
  readonly allowNonFinite?: boolean | undefined;
  /**
   * `by checkpoint`: leave the signatures out, because a signed checkpoint that was verified covers the record and its
   * seal: whoever signed the checkpoint had verified them. Who signed is then what `signed_by` says, and must be one of
   * the keys; where that does not name exactly one, the signature is checked. `unchecked`: look at hash and form alone;
   * the keys are not used, and nothing says who signed. Default `checked`.
   */
  readonly signatures?: 'checked' | 'by checkpoint' | 'unchecked';
}

export interface Verdict {
  readonly ok: boolean;
  /**
   * The reference's `missing_hash`, `missing_signature`, `malformed_hex`, `hash_mismatch`, `invalid_signature`,
   * `unsupported_algorithm`, `pq_verification_failed`, `ok`; ours `not_an_object`, `case_twin`,
   * `content_mismatch`, `unknown_key`, `key_not_valid`, `pq_missing`, `pq_unknown_key`; and the parser's `JSON_…` for what is not strict JSON.
   * `unknown_key` alone says that nothing was found wrong, but that the key is not at hand.
   */
  readonly code: Code | 'ok';
  readonly message: string;
  /** The profile under which the content has its hash; `verbatim` for a stored canonical text. */
  readonly profile: ProfileId | 'verbatim' | null;
  readonly form: Form | null;
  /** What the record says who signed it; nothing proves it. Null where it says nothing, or was not read so far. */
  readonly signedBy: string | null;
  /** The full id (SHA3-256 of the public key) of the key that verified, or that a checkpoint vouches for. */
  readonly key: string | null;
  readonly pqKey: string | null;
  /** Top-level fields that stand in the record but are proved by nothing; `signed_at` is always one of them. */
  readonly unauthenticated: readonly string[];
  readonly warnings: readonly Warning[];
}

/**
 * Verifies one sealed record as it is stored: text, bytes, or a parsed value. Nothing is normalised, filled in or
 * dropped before hashing, and no schema is required. Never throws for a bad record; throws only
 * `CRYPTO_ALGORITHM_UNAVAILABLE` where the runtime lacks an algorithm. A pass does not prove when the record was
 * made, that it is true, or that no record is missing after it.
 */
export function verifyCapsule(sealed: JsonValue | Uint8Array, options: VerifyOptions): Verdict {
  const record = readObject(sealed, options);
  if (!(record instanceof JsonObject)) return record;
  const { content, unknownKeys } = takeApart(record);
  const twin = caseTwin(unknownKeys);
  if (twin !== undefined) return twin;
  const seal = readSeal((key) => record.get(key));
  if ('ok' in seal) return seal;

  const found = matchHash(content, seal.hash, options.allowNonFinite === true);
  if (found.match === null) {
    const why = found.refusal === undefined ? '.' : `: ${found.refusal.message}`;
    return refusal('hash_mismatch', `The stored content does not have the stored hash${why}`);
  }
  const { profile, form, specVersionLeftOut, hashedAsNull } = found.match;
  const outside = specVersionLeftOut ? ['spec_version', ...unknownKeys] : unknownKeys;
  const warnings: Warning[] = [
    ...outside.map(uncovered),
    ...hashedAsNull.map((key) => warning('hashed_as_null', [key], 'The field is missing; null was hashed.')),
    ...oddNumbers(content).map(({ path, kind }) => ({ code: kind, path, message: ODD[kind] })),
  ];
  if (profile === 'cps-ts') {
    warnings.push(
      warning('typescript_profile', [], 'Only the TypeScript reference gives this content this hash.'),
    );
  }
  return checkSignatures(seal, { content, profile, form, outside, warnings }, options);
}

function caseTwin(unknownKeys: readonly string[]): Verdict | undefined {
  const twin = unknownKeys.find(isCaseTwin);
  if (twin === undefined) return undefined;
  return refusal('case_twin', `The key ${JSON.stringify(twin)} could be taken for one of the capsule's own.`);
}

function uncovered(key: string): Warning {
  return warning('unauthenticated_field', [key], 'The hash does not cover this field.');
}

const ODD = {
  non_finite: 'NaN and Infinity are not JSON, and the protocol prohibits them.',
  inexact_number: 'The hash covers the nearest double, not all of these digits.',
} as const;

/** A record that stores the hashed text itself, as the explorer's bundle and agent-capsule's database do. */
export interface CanonicalRecord {
  readonly canonical: string;
  readonly hash: string;
  readonly signature: string;
  readonly signature_pq?: string | null | undefined;
  readonly signed_at?: string | null | undefined;
  readonly signed_by?: string | null | undefined;
  /** What else the record has beside the text, as one JSON object: people may read it for the content. */
  readonly clear?: string | undefined;
}

/**
 * Verifies a record whose canonical text is stored: the text is hashed verbatim, and must be one strict JSON
 * object. A member beside it that the text has too must be the same there, else `content_mismatch`. Returns what `verifyCapsule` returns, with the profile `verbatim`, and warns with `not_canonical` when
 * neither the seed's nor a reference's form of the content is this text.
 */
export function verifyCanonical(record: CanonicalRecord, options: VerifyOptions): Verdict {
  const content = readObject(record.canonical, options);
  if (!(content instanceof JsonObject)) return content;
  const seal = readSeal((key) => record[key as keyof CanonicalRecord]);
  if ('ok' in seal) return seal;
  if (digestText(record.canonical, 'cps') !== seal.hash) {
    return refusal('hash_mismatch', 'The stored canonical text does not have the stored hash.');
  }
  const outside = outsideText(record.clear ?? '{}', content, options);
  if ('ok' in outside) return outside;
  const warnings: Warning[] = [
    ...outside.map(uncovered),
    ...oddNumbers(content).map(({ path, kind }) => ({ code: kind, path, message: ODD[kind] })),
  ];
  const nonFinite = options.allowNonFinite === true;
  const same = (['cps-python', 'cps', 'cps-ts'] as const).some(
    (profile) => attempt(() => canonicalize(content, profile, { nonFinite })) === record.canonical,
  );
  if (!same)
    warnings.push(warning('not_canonical', [], 'The hashed text is not the canonical form of its content.'));
  const form = content.has('spec_version') ? '13' : '12';
  return checkSignatures(seal, { content, profile: 'verbatim', form, outside, warnings }, options);
}

/** The members beside a canonical text that it does not have, or the verdict where one says something else. */
function outsideText(
  clear: string,
  content: JsonObject,
  options: Pick<VerifyOptions, 'allowNonFinite'>,
): readonly string[] | Verdict {
  const beside = readObject(clear, options);
  if (!(beside instanceof JsonObject)) return beside;
  const twin = caseTwin(takeApart(beside).unknownKeys.filter((key) => !content.has(key)));
  if (twin !== undefined) return twin;
  const other = beside.keys.find(
    (key) => content.has(key) && !sameValue(beside.get(key)!, content.get(key)!, sameNumber),
  );
  if (other !== undefined)
    return refusal(
      'content_mismatch',
      `The member ${JSON.stringify(other)} is not what the sealed text says.`,
    );
  return beside.keys.filter((key) => !content.has(key));
}

/** Whoever reads and writes JSON may write 0 for 0.0. */
function sameNumber(x: JsonNumber, y: JsonNumber): boolean {
  return [x, y].every(({ lexeme }) => Number.isFinite(Number(lexeme))) && sameDecimal(x.lexeme, y.lexeme);
}

/** The object that a text or a parsed value is, or the verdict on one that is none. */
export function readObject(
  input: JsonValue | Uint8Array,
  { allowNonFinite }: Pick<VerifyOptions, 'allowNonFinite'>,
): JsonObject | Verdict {
  if (input instanceof JsonObject) return input;
  const isText = typeof input === 'string' || input instanceof Uint8Array;
  const value = isText
    ? attempt(() => parse(input, allowNonFinite === true ? { allow: ['non-finite'] } : {}))
    : input;
  if (value instanceof BullaError) return refusal(value.code, value.message);
  return value instanceof JsonObject ? value : refusal('not_an_object', 'A capsule is an object.');
}

const HASH = /^[0-9a-f]{64}$/;
const SIGNATURE = /^[0-9a-f]{128}$/;
const SIGNATURE_PQ = /^[0-9a-f]{6618}$/;

function readSeal(get: (key: string) => unknown): ReadSeal | Verdict {
  const hash = get('hash') ?? '';
  const signature = get('signature') ?? '';
  const pq = get('signature_pq') ?? '';
  const signedBy = get('signed_by');
  const signedAt = get('signed_at') ?? null;
  if (hash === '') return refusal('missing_hash', 'The record has no hash.');
  if (signature === '') return refusal('missing_signature', 'The record has no signature.');
  // One spelling only: with two, a record could be altered without breaking its seal.
  if (typeof hash !== 'string' || !HASH.test(hash))
    return refusal('malformed_hex', 'The hash is not 64 lower-case hex digits.');
  if (typeof signature !== 'string' || !SIGNATURE.test(signature))
    return refusal('malformed_hex', 'The signature is not 128 lower-case hex digits.');
  if (pq !== '' && (typeof pq !== 'string' || !SIGNATURE_PQ.test(pq)))
    return refusal('malformed_hex', 'The signature_pq is not 6,618 lower-case hex digits.');
  return {
    hash,
    signature: fromHex(signature),
    signaturePq: pq === '' ? null : fromHex(pq),
    signedBy: typeof signedBy === 'string' ? signedBy : '',
    // A value of another type is not a time; it must not pass as a missing one.
    signedAt: signedAt === null || typeof signedAt === 'string' ? signedAt : '',
  };
}

interface Hashed {
  readonly content: JsonObject;
  readonly profile: ProfileId | 'verbatim';
  readonly form: Form;
  readonly outside: readonly string[];
  readonly warnings: Warning[];
}

function checkSignatures(seal: ReadSeal, hashed: Hashed, options: VerifyOptions): Verdict {
  const { content, profile, form, outside, warnings } = hashed;
  const signedBy = seal.signedBy === '' ? null : seal.signedBy;
  const failed = (code: Code, message: string) => ({
    ...{ ...refusal(code, message), profile, form, signedBy, warnings },
  });
  const unauthenticated = [...outside];
  if (seal.signedAt !== null) unauthenticated.push('signed_at');
  if (signedBy !== null) unauthenticated.push('signed_by');
  const passed: Verdict = {
    ...{ ok: true, code: 'ok', message: '', profile, form, signedBy, key: null, pqKey: null },
    ...{ unauthenticated, warnings },
  };
  if (options.signatures === 'unchecked') return passed;
  const found = findSigner(seal, options);
  if ('code' in found) return failed(found.code, found.message);
  const { key, named, checked } = found;
  const { id } = namesOf(key);
  const facts = (options.facts ?? []).filter((fact) => fact.key === id);
  for (const fact of facts) {
    const why = outsideValidity(fact, seal.signedAt, textAt(content, ['trigger', 'timestamp']));
    if (why !== undefined) return failed('key_not_valid', why);
  }
  if (signedBy !== null && !named) {
    warnings.push(
      warning('signed_by_mismatch', ['signed_by'], 'The field names another key than the one that signed.'),
    );
  }
  const pq = findPqSigner(
    seal,
    facts.flatMap((fact) => fact.pqKey ?? []),
    { ...options, signatures: checked ? 'checked' : 'by checkpoint' },
  );
  if ('code' in pq) return failed(pq.code, pq.message);
  warnings.push(...pq.warnings);
  return { ...passed, key: id, pqKey: pq.key === null ? null : namesOf(pq.key).id };
}

function refusal(code: Code, message: string): Verdict {
  const nothing = { profile: null, form: null, signedBy: null, key: null, pqKey: null };
  return { ok: false, code, message, ...nothing, unauthenticated: [], warnings: [] };
}
