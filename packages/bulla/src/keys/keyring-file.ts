import { fromHex, type PublicKey, publicKey, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { DEFAULT_MAX_BYTES, Member, oneCode, type Path, parseStrictly, pointer } from '@bulla/core/json';
import { type Epoch, type EpochFacts, epochOf, type Keyring, keyringOf, type TokenKey } from './epoch.ts';
import { isTimestamp } from './timestamp.ts';

/**
 * Reads `keyring.json`, version 1 of the Python reference with our members. Whatever is not exactly expected is
 * refused with a code that starts with `KEYRING_` and, where it helps, the path; nothing is repaired.
 */
export function parseKeyring(bytes: Uint8Array): Keyring {
  const limits = { maxBytes: DEFAULT_MAX_BYTES, maxDepth: 8 };
  const document = parseStrictly(bytes, limits, 'KEYRING_MALFORMED', 'The keyring is not strict JSON');
  const file = new Member(document, READING).record({ required: ['version', 'active_epoch', 'epochs'] });
  const version = file.get('version').natural();
  if (version !== 1)
    throw new BullaError('KEYRING_MALFORMED', `Bulla reads keyrings of version 1, not ${version}.`);
  const epochs = file.get('epochs').list().map(readEpoch);
  return keyringOf(epochs, file.get('active_epoch').natural());
}

const READING = oneCode('KEYRING_MALFORMED');

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

function readEpoch(value: Member): Epoch {
  const object = value.record({ required: REFERENCE_MEMBERS, optional: OUR_MEMBERS });
  const status = object.get('status').text();
  if (status !== 'active' && status !== 'retired')
    throw object.get('status').error('KEYRING_MALFORMED', 'The status of an epoch is active or retired.');
  const epoch = epochOf({
    epoch: object.get('epoch').natural(),
    publicKey: readKey(object, 'Ed25519'),
    createdAt: readTime(object.get('created_at')),
    rotatedAt: object.get('rotated_at').orNull(readTime),
    status,
    verifyOnly: object.optional('verify_only', (flag) => flag.flag()) ?? false,
    pqPublicKey: object.optional('pq', (pq) =>
      readKey(pq.record({ required: ['algorithm', 'public_key_hex'] }), 'ML-DSA-65'),
    ),
    notBefore: object.optional('not_before', readTime),
    notAfter: object.optional('not_after', readTime),
    revocation: readRevocation(object),
    token: object.optional('signer', readToken),
  });
  const fingerprint = object.get('fingerprint');
  if (fingerprint.text() !== epoch.fingerprint)
    throw fingerprint.error(
      'KEYRING_MALFORMED',
      `The fingerprint of this public key is ${epoch.fingerprint}.`,
    );
  if ((epoch.rotatedAt === null) !== (status === 'active'))
    throw value.error(
      'KEYRING_MALFORMED',
      'A retired epoch has the time of its rotation, an active one null.',
    );
  if (epoch.notBefore !== null && epoch.notAfter !== null && epoch.notAfter < epoch.notBefore)
    throw value.error('KEYRING_MALFORMED', 'The epoch ends (not_after) before it begins (not_before).');
  return epoch;
}

function readTime(value: Member): string {
  const time = value.text();
  if (isTimestamp(time)) return time;
  const message = 'Times are written like 2026-01-31T12:00:00+00:00, with no fraction or six digits.';
  throw value.error('KEYRING_TIME', message);
}

const WRITTEN_ALGORITHM = { Ed25519: 'ed25519', 'ML-DSA-65': 'ml-dsa-65' } as const;

function readKey(object: Member, name: keyof typeof WRITTEN_ALGORITHM): PublicKey {
  const algorithm = object.get('algorithm');
  if (algorithm.text() !== WRITTEN_ALGORITHM[name])
    throw algorithm.error('KEY_ALGORITHM', `The algorithm here is ${WRITTEN_ALGORITHM[name]}.`);
  const hex = object.get('public_key_hex');
  const written = hex.text();
  try {
    return publicKey(name, fromHex(written));
  } catch (error) {
    throw hex.error('KEYRING_MALFORMED', (error as BullaError).message);
  }
}

function readRevocation(object: Member): EpochFacts['revocation'] {
  const at = object.optional('revoked_at', readTime);
  const reason = object.optional('revoked_reason', (reason) => checkReason(reason.text(), reason.at));
  if ((reason === null) !== (at === null))
    throw object.error('KEYRING_MALFORMED', 'A revocation has both a time and a reason.');
  return at === null || reason === null ? null : { at, reason };
}

/** Gives back a reason that can be shown as it is; throws `KEYRING_REASON`. */
export function checkReason(reason: string, path: Path = []): string {
  if (/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,500}$/u.test(reason) && reason.trim() !== '') return reason;
  const message = 'A reason has 1 to 500 characters that can be seen, on one line.';
  throw new BullaError('KEYRING_REASON', message, { path: pointer(path) });
}

function readToken(value: Member): TokenKey {
  const object = value.record({
    required: ['type', 'module', 'key_label'],
    optional: ['token_label', 'slot'],
  });
  const [type, module] = [object.get('type'), object.get('module')];
  if (type.text() !== 'pkcs11')
    throw type.error('KEYRING_TOKEN', 'A signer other than a key file is of type pkcs11.');
  const common = { module: module.text(), keyLabel: object.get('key_label').text() };
  // The library is loaded into this process, so its name must not depend on the folder where it was started.
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(common.module))
    throw module.error('KEYRING_TOKEN', 'The path of a PKCS#11 library is absolute.');
  if (object.has('token_label') === object.has('slot'))
    throw object.error('KEYRING_TOKEN', 'A token is named by its label or by its slot, not both.');
  return object.has('slot')
    ? { ...common, slot: object.get('slot').natural() }
    : { ...common, tokenLabel: object.get('token_label').text() };
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
  const where = 'slot' in token ? { slot: token.slot } : { token_label: token.tokenLabel };
  return { type: 'pkcs11', module, ...where, key_label: keyLabel };
}
