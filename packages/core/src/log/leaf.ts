import { canonicalize } from '../canon/index.ts';
import { SEAL_FIELDS, type Seal } from '../capsule/index.ts';
import { fromHex, sha256Hex, toUtf8 } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { JsonObject, type JsonValue } from '../json/index.ts';

/** The size of every leaf: the profile id and a newline, the hash of the record, the hash of its seal. */
export const LEAF_BYTES = 68;

const PROFILE = toUtf8('cps\n');

/**
 * The leaf of a sealed capsule, as it is stored or as plain data: `cps`, a newline, the 32 bytes of the record's
 * hash, and SHA-256 over the JCS form of the seal fields that the record has. So the tree covers signature, signer
 * and time, which the record's own hash does not. The id is `cps` whichever profile of that family the record was
 * hashed under. Throws `LOG_HASH` when the hash is not 64 lower-case hex digits or the seal has no JCS form.
 */
export function leafData(record: JsonObject | Partial<Seal>): Uint8Array {
  const keys = SEAL_FIELDS.filter((key) =>
    record instanceof JsonObject ? record.has(key) : Object.hasOwn(record, key),
  );
  const values = keys.map((key) => (record instanceof JsonObject ? record.get(key) : record[key]));
  return leaf(values[keys.indexOf('hash')], () => {
    const text = attempt(() => canonicalize(new JsonObject(keys, values as JsonValue[]), 'jcs'));
    if (typeof text === 'string') return text;
    const message = `The seal of the record has no JCS form. ${text.message}`;
    throw new BullaError('LOG_HASH', message, { cause: text });
  });
}

/** The same, and faster, for a seal that has all its fields and a time. Throws as `leafData`. */
export function sealedLeaf(sealed: Seal): Uint8Array {
  const { hash, signature, signature_pq, signed_at, signed_by } = sealed;
  const strings =
    typeof hash === 'string' &&
    typeof signature === 'string' &&
    typeof signature_pq === 'string' &&
    typeof signed_at === 'string' &&
    typeof signed_by === 'string';
  // In this order, and a string as ECMAScript writes it, it is the JCS form (RFC 8785 §3.2.2.2, §3.2.3) …
  const text = strings ? JSON.stringify({ hash, signature, signature_pq, signed_at, signed_by }) : '';
  // … unless it holds half of a surrogate pair, which ECMAScript escapes and JCS has no form for.
  return strings && !text.includes('\\ud') ? leaf(hash, () => text) : leafData(sealed);
}

function leaf(hash: unknown, jcs: () => string): Uint8Array {
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) {
    throw new BullaError('LOG_HASH', 'The hash of the record is not 64 lower-case hex digits.', {
      path: '/hash',
    });
  }
  const out = new Uint8Array(LEAF_BYTES);
  out.set(PROFILE);
  out.set(fromHex(hash + sha256Hex(jcs())), PROFILE.length);
  return out;
}
