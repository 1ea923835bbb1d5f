import { fromHex, type PublicKey, publicKey, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { JsonObject, JsonValue } from '@bulla/core/json';
import { type Epoch, type EpochFacts, epochOf, type Keyring, keyringOf, type TokenKey } from './epoch.ts';
import {
  at,
  integer,
  members,
  optionalTime,
  type Path,
  parseJson,
  readFlag,
  text,
  time,
  wrongType,
} from './members.ts';

/**
 * Reads `keyring.json`, version 1 of the Python reference with our members. Whatever is not exactly expected is
 * refused with a code that starts with `KEYRING_` and, where it helps, the path; nothing is repaired.
 */
export function parseKeyring(bytes: Uint8Array): Keyring {
  const file = members(parseJson(bytes), [], ['version', 'active_epoch', 'epochs']);
  const version = integer(file, 'version', []);
  if (version !== 1)
    throw new BullaError('KEYRING_MALFORMED', `Bulla reads keyrings of version 1, not ${version}.`);
  const activeEpoch = integer(file, 'active_epoch', []);
  const list = file.get('epochs')!;
  if (!Array.isArray(list)) throw wrongType(['epochs'], 'an array');
  const epochs = list.map((value, i) => readEpoch(value, ['epochs', i]));
  return keyringOf(epochs, activeEpoch);
}

const REFERENCE_MEMBERS = [
  'epoch',
  'algorithm',
  'public_key_hex',
  'fingerprint',
  'created_at',
  'rotated_at',
  'status',
];
/** What we add to an epoch; the Python reference passes over it. */
const OUR_MEMBERS = [
  'verify_only',
  'pq',
  'not_before',
  'not_after',
  'revoked_at',
  'revoked_reason',
  'signer',
];

function readEpoch(value: JsonValue, path: Path): Epoch {
  const object = members(value, path, REFERENCE_MEMBERS, OUR_MEMBERS);
  const status = text(object, 'status', path);
  if (status !== 'active' && status !== 'retired')
    throw at('KEYRING_MALFORMED', 'The status of an epoch is active or retired.', [...path, 'status']);
  const epoch = epochOf({
    epoch: integer(object, 'epoch', path),
    publicKey: readKey(object, 'Ed25519', path),
    createdAt: time(object, 'created_at', path),
    rotatedAt: object.get('rotated_at') === null ? null : time(object, 'rotated_at', path),
    status,
    verifyOnly: readFlag(object, 'verify_only', path),
    pqPublicKey: object.has('pq')
      ? readKey(members(object.get('pq')!, [...path, 'pq'], ['algorithm', 'public_key_hex']), 'ML-DSA-65', [
          ...path,
          'pq',
        ])
      : null,
    notBefore: optionalTime(object, 'not_before', path),
    notAfter: optionalTime(object, 'not_after', path),
    revocation: readRevocation(object, path),
    token: object.has('signer') ? readToken(object.get('signer')!, [...path, 'signer']) : null,
  });
  if (text(object, 'fingerprint', path) !== epoch.fingerprint)
    throw at('KEYRING_MALFORMED', `The fingerprint of this public key is ${epoch.fingerprint}.`, [
      ...path,
      'fingerprint',
    ]);
  if ((epoch.rotatedAt === null) !== (status === 'active'))
    throw at('KEYRING_MALFORMED', 'A retired epoch has the time of its rotation, an active one null.', path);
  if (epoch.notBefore !== null && epoch.notAfter !== null && epoch.notAfter < epoch.notBefore)
    throw at('KEYRING_MALFORMED', 'The epoch ends (not_after) before it begins (not_before).', path);
  return epoch;
}

const WRITTEN_ALGORITHM = { Ed25519: 'ed25519', 'ML-DSA-65': 'ml-dsa-65' } as const;

function readKey(object: JsonObject, name: keyof typeof WRITTEN_ALGORITHM, path: Path): PublicKey {
  if (text(object, 'algorithm', path) !== WRITTEN_ALGORITHM[name])
    throw at('KEY_ALGORITHM', `The algorithm here is ${WRITTEN_ALGORITHM[name]}.`, [...path, 'algorithm']);
  const hex = text(object, 'public_key_hex', path);
  const place: Path = [...path, 'public_key_hex'];
  let bytes: Uint8Array;
  try {
    bytes = fromHex(hex);
  } catch {
    throw at('KEYRING_MALFORMED', 'A public key is written in lower-case hex.', place);
  }
  try {
    return publicKey(name, bytes);
  } catch (error) {
    throw at('KEYRING_MALFORMED', (error as BullaError).message, place);
  }
}

function readRevocation(object: JsonObject, path: Path): EpochFacts['revocation'] {
  const revokedAt = optionalTime(object, 'revoked_at', path);
  if (object.has('revoked_reason') !== (revokedAt !== null))
    throw at('KEYRING_MALFORMED', 'A revocation has both a time and a reason.', path);
  if (revokedAt === null) return null;
  return {
    at: revokedAt,
    reason: checkReason(text(object, 'revoked_reason', path), [...path, 'revoked_reason']),
  };
}

/** Gives back a reason that can be shown as it is; throws `KEYRING_REASON`. */
export function checkReason(reason: string, path: Path = []): string {
  if (/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,500}$/u.test(reason) && reason.trim() !== '') return reason;
  throw at('KEYRING_REASON', 'A reason has 1 to 500 characters that can be seen, on one line.', path);
}

function readToken(value: JsonValue, path: Path): TokenKey {
  const object = members(value, path, ['type', 'module', 'key_label'], ['token_label', 'slot']);
  if (text(object, 'type', path) !== 'pkcs11')
    throw at('KEYRING_TOKEN', 'A signer other than a key file is of type pkcs11.', [...path, 'type']);
  const common = { module: text(object, 'module', path), keyLabel: text(object, 'key_label', path) };
  // The library is loaded into this process, so its name must not depend on the folder where it was started.
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(common.module))
    throw at('KEYRING_TOKEN', 'The path of a PKCS#11 library is absolute.', [...path, 'module']);
  if (object.has('token_label') === object.has('slot'))
    throw at('KEYRING_TOKEN', 'A token is named by its label or by its slot, not both.', path);
  return object.has('slot')
    ? { ...common, slot: integer(object, 'slot', path) }
    : { ...common, tokenLabel: text(object, 'token_label', path) };
}

/** Writes `keyring.json` as the Python reference lays it out; what we add stands last in an epoch, where it is set. */
export function formatKeyring(epochs: readonly Epoch[]): string {
  const document = {
    version: 1,
    active_epoch: epochs.find(({ status }) => status === 'active')?.epoch,
    epochs: epochs.map((epoch) => ({
      epoch: epoch.epoch,
      algorithm: WRITTEN_ALGORITHM.Ed25519,
      public_key_hex: toHex(epoch.publicKey.bytes),
      fingerprint: epoch.fingerprint,
      created_at: epoch.createdAt,
      rotated_at: epoch.rotatedAt,
      status: epoch.status,
      ...(epoch.verifyOnly && { verify_only: true }),
      ...(epoch.pqPublicKey && {
        pq: { algorithm: WRITTEN_ALGORITHM['ML-DSA-65'], public_key_hex: toHex(epoch.pqPublicKey.bytes) },
      }),
      ...(epoch.notBefore && { not_before: epoch.notBefore }),
      ...(epoch.notAfter && { not_after: epoch.notAfter }),
      ...(epoch.revocation && { revoked_at: epoch.revocation.at, revoked_reason: epoch.revocation.reason }),
      ...(epoch.token && { signer: formatToken(epoch.token) }),
    })),
  };
  // Python reads files in the encoding of its locale, so everything beyond ASCII is escaped.
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `${JSON.stringify(document, null, 2).replace(/[^\x20-\x7e\n]/g, escapeUnit)}\n`;
}

function formatToken(token: TokenKey): object {
  const { module, keyLabel } = token;
  const place = 'slot' in token ? { slot: token.slot } : { token_label: token.tokenLabel };
  return { type: 'pkcs11', module, ...place, key_label: keyLabel };
}
