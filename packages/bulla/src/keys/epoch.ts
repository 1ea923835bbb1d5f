import { keyId, type PublicKey, qpLabel, shortLabel, shownKeyId } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';

/** A key in a PKCS#11 token, and how to find it. The PIN is never written down. */
export type TokenKey = {
  /** The path of the token's PKCS#11 library. */
  readonly module: string;
  /** The label of the private key and of the public key that belongs to it. */
  readonly keyLabel: string;
  /** A slot is given by its id, as the token's own tools print it. */
} & ({ readonly tokenLabel: string } | { readonly slot: number });

/** What the keyring file says of one key. Times are texts as the file has them; they sort by time. */
export interface EpochFacts {
  readonly epoch: number;
  readonly publicKey: PublicKey;
  readonly createdAt: string;
  readonly rotatedAt: string | null;
  readonly status: 'active' | 'retired';
  /** A key of somebody else, registered to verify with. */
  readonly verifyOnly: boolean;
  readonly pqPublicKey: PublicKey | null;
  readonly notBefore: string | null;
  readonly notAfter: string | null;
  readonly revocation: { readonly at: string; readonly reason: string } | null;
  /** Where the private key lies if it is in a token; null for a key file. */
  readonly token: TokenKey | null;
}

/** A key of the keyring under all its names. */
export interface Epoch extends EpochFacts {
  /** SHA3-256 of the public key: the only name that nobody can forge. */
  readonly keyId: string;
  /** `qp_key_` and four hex digits, as the Python reference writes. Unique in a keyring, and nowhere else. */
  readonly fingerprint: string;
  /** The first 16 hex digits of the public key, which our capsules carry as `signed_by`. */
  readonly label: string;
}

/** A keyring as it was at one moment. */
export interface Keyring {
  readonly epochs: readonly Epoch[];
  readonly active: Epoch;
}

export function epochOf(facts: EpochFacts): Epoch {
  const { publicKey: key } = facts;
  return Object.freeze({ ...facts, keyId: keyId(key), fingerprint: qpLabel(key), label: shortLabel(key) });
}

/**
 * The key that a person means: by its epoch, fingerprint, label, key id, or the beginning of the key id that reports
 * show. Throws `KEYRING_KEY_UNKNOWN`, and `KEYRING_KEY_AMBIGUOUS` where several keys can be meant.
 */
export function epochNamed(epochs: readonly Epoch[], name: string): Epoch {
  const id = name.replace(/…$/, '');
  const [found, other] = epochs.filter(
    ({ epoch, fingerprint, label, keyId }) =>
      [`${epoch}`, fingerprint, label, keyId].includes(name) ||
      (id.length >= shownKeyId(keyId).length && keyId.startsWith(id)),
  );
  if (found === undefined)
    throw new BullaError('KEYRING_KEY_UNKNOWN', `The keyring has no key ${JSON.stringify(name)}.`);
  if (other !== undefined) {
    const message = `${JSON.stringify(name)} names the keys of epochs ${found.epoch} and ${other.epoch}; name one by its key id.`;
    throw new BullaError('KEYRING_KEY_AMBIGUOUS', message);
  }
  return found;
}

/**
 * Makes a keyring of epochs, and holds its rules: numbers ascend, fingerprints are unique, exactly one epoch is
 * active and can sign. Throws `KEYRING_MALFORMED`, `KEYRING_KEY_KNOWN` or a `KEYRING_ACTIVE_…` code.
 */
export function keyringOf(epochs: readonly Epoch[], activeEpoch: number): Keyring {
  const fingerprints = new Map<string, number>();
  for (const [i, { epoch, fingerprint }] of epochs.entries()) {
    const where = { path: pointer(['epochs', i]) };
    if (i > 0 && epoch <= epochs[i - 1]!.epoch)
      throw new BullaError('KEYRING_MALFORMED', 'The epochs of a keyring ascend, each number once.', where);
    const twin = fingerprints.get(fingerprint);
    if (twin !== undefined)
      throw new BullaError(
        'KEYRING_KEY_KNOWN',
        `Epochs ${twin} and ${epoch} are both ${fingerprint}.`,
        where,
      );
    fingerprints.set(fingerprint, epoch);
  }
  const [active, ...others] = epochs.filter(({ status }) => status === 'active');
  if (active === undefined || others.length > 0) {
    const count = active === undefined ? 'none is' : `${others.length + 1} are`;
    throw new BullaError('KEYRING_MALFORMED', `Exactly one epoch is active in a keyring; here ${count}.`);
  }
  if (active.epoch !== activeEpoch) {
    const message = `active_epoch is ${activeEpoch}, but epoch ${active.epoch} is the active one.`;
    throw new BullaError('KEYRING_MALFORMED', message, { path: '/active_epoch' });
  }
  if (active.revocation !== null || active.verifyOnly)
    throw new BullaError('KEYRING_MALFORMED', 'The active epoch is revoked or only for verification.');
  return { epochs, active };
}
