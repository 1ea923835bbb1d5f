import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { derivePublicKey, type PublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { createDirectory, type Environment } from '../os/index.ts';
import { type Epoch, epochNamed, epochOf, type Keyring, type TokenKey } from './epoch.ts';
import { findKeyring, loadKeyring } from './keyring.ts';
import { type ChangeOptions, change, commit, type Fresh, locked, type Plan } from './keyring-commit.ts';
import { checkReason } from './keyring-file.ts';
import { checkReplaceable, tidy } from './private-keys.ts';
import { timestamp } from './timestamp.ts';
import { tokenPublicKey } from './token.ts';
import { refuseSeed } from './trust.ts';

/** What a new key is like. */
export interface NewKeyOptions extends ChangeOptions {
  /** Also make an ML-DSA-65 key. Default: as the active epoch has one, and no in a new keyring. */
  readonly pq?: boolean;
  /**
   * The Ed25519 key of a token instead of a new one in a file. `null` says that a key file shall follow a token,
   * which is not done unasked.
   */
  readonly token?: TokenKey | null;
  /** Where the PIN of the token is. Default `process.env`. */
  readonly env?: Environment;
  /** When the new key's time ends. Default never. */
  readonly notAfter?: Date;
}

interface RegisterOptions extends ChangeOptions {
  readonly pqPublicKey?: PublicKey;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

interface RevokeOptions extends ChangeOptions {
  readonly reason: string;
  /** Since when the key is not to be trusted. Default now; never later. */
  readonly revokedAt?: Date;
}

/*
 * Every change is made under the lock, from what is on disk at that moment, and rejects with `KEYRING_MISSING` (all
 * but init), `KEYRING_LOCKED`, `KEYRING_LOCK_MALFORMED`, `KEYRING_UNWRITABLE` (the message tells which epoch is active),
 * `KEYRING_NOT_TIDY` (done, but something is left to remove, which the next open or change does), and the codes of
 * reading a keyring.
 */

/**
 * Makes a keyring with one epoch, 0, and the directory if need be. Rejects with `KEYRING_EXISTS` if the directory
 * holds a keyring or a private key, and with the codes of {@link tokenPublicKey} for a key in a token.
 */
export async function initKeyring(dir: string, options: NewKeyOptions): Promise<Keyring> {
  const tokenKey = await readToken(options);
  createDirectory(dir, options.disk);
  return locked(dir, options, (disk) => {
    const found = readdirSync(dir).find((name) =>
      /^(?:keyring\.json|key(?:\.ml)?(?:\.[1-9]\d*|\.retired|\.pub)?)$/.test(name),
    );
    if (found !== undefined)
      throw new BullaError('KEYRING_EXISTS', `${join(dir, found)} exists already; it is never overwritten.`);
    tidy(dir, null, disk);
    const fresh = newKey([], 0, options.pq ?? false, tokenKey, options);
    return commit(dir, [fresh.epoch], fresh, disk);
  });
}

/**
 * The keyring of a directory; one is made where there is none. Safe when several processes do it at the same time:
 * one makes it, the others get that one. A keyring that cannot be read is never replaced: then this rejects as
 * {@link loadKeyring} throws. Rejects with `KEYRING_EXISTS` for a directory that holds private keys without their
 * keyring, and as {@link initKeyring} does.
 */
export async function ensureKeyring(dir: string): Promise<{ keyring: Keyring; made: boolean }> {
  const found = findKeyring(dir);
  if (found !== null) return { keyring: found, made: false };
  try {
    return { keyring: await initKeyring(dir, { now: () => new Date(), randomBytes }), made: true };
  } catch (error) {
    if (!(error instanceof BullaError) || error.code !== 'KEYRING_EXISTS') throw error;
    const other = findKeyring(dir);
    if (other === null) throw error;
    return { keyring: other, made: false };
  }
}

/**
 * Makes a new key, one number above all others, the active one, and retires the old, whose private key is erased.
 * Rejects with `KEYRING_TOKEN` if the old key lies in a token and no `token` is given, with `KEYRING_KEY_KNOWN`
 * for a token's key, and with the codes of the private key if the file to erase holds
 * another key than the active one.
 */
export async function rotateKeys(dir: string, options: NewKeyOptions): Promise<Keyring> {
  loadKeyring(dir);
  const tokenKey = await readToken(options);
  return change(dir, options, (keyring) => rotation(dir, keyring, tokenKey, options));
}

/**
 * Adds somebody's public key to verify with. It is written as a retired epoch with `verify_only`, so that exactly one
 * epoch stays active. Rejects with `KEY_ALGORITHM`, and with `KEYRING_KEY_KNOWN` for a key that is there, or
 * another one with its fingerprint.
 */
export async function registerKey(dir: string, key: PublicKey, options: RegisterOptions): Promise<Epoch> {
  const { pqPublicKey = null, notBefore, notAfter } = options;
  if (key.algorithm !== 'Ed25519' || (pqPublicKey?.algorithm ?? 'ML-DSA-65') !== 'ML-DSA-65')
    throw new BullaError(
      'KEY_ALGORITHM',
      'A keyring holds Ed25519 keys, each with an ML-DSA-65 key or none.',
    );
  const { epochs } = await change(dir, options, (keyring) => {
    refuseSeed(key, keyring.epochs);
    const time = timestamp(options.now());
    const epoch = epochOf({
      epoch: nextNumber(keyring.epochs),
      publicKey: key,
      createdAt: time,
      rotatedAt: time,
      status: 'retired',
      verifyOnly: true,
      pqPublicKey,
      notBefore: notBefore ? timestamp(notBefore) : null,
      notAfter: notAfter ? timestamp(notAfter) : null,
      revocation: null,
      token: null,
    });
    refuseTaken(keyring.epochs, epoch);
    return { epochs: [...keyring.epochs, epoch], fresh: null };
  });
  return epochs.at(-1)!;
}

/**
 * Revokes the key that a name is of, as {@link epochNamed} finds it. A key that is active is rotated in the same write,
 * so that it never signs again. Rejects with `KEYRING_KEY_UNKNOWN`, `KEYRING_KEY_AMBIGUOUS`, `KEYRING_ALREADY_REVOKED`, `KEYRING_REASON`, and as {@link rotateKeys} does if it must rotate.
 */
export async function revokeKey(dir: string, name: string, options: RevokeOptions): Promise<Keyring> {
  const reason = checkReason(options.reason);
  return change(dir, options, (keyring) => {
    const target = epochNamed(keyring.epochs, name);
    if (target.revocation !== null)
      throw new BullaError(
        'KEYRING_ALREADY_REVOKED',
        `The key of epoch ${target.epoch} is revoked since ${target.revocation.at}.`,
      );
    const now = options.now();
    const at = timestamp(options.revokedAt ?? now);
    if (at > timestamp(now))
      throw new BullaError('KEYRING_REASON', 'A key cannot be revoked from a later time on.');
    const plan =
      target.status === 'active'
        ? rotation(dir, keyring, null, options)
        : { epochs: keyring.epochs, fresh: null };
    const epochs = plan.epochs.map((epoch) =>
      epoch.epoch === target.epoch ? epochOf({ ...epoch, revocation: { at, reason } }) : epoch,
    );
    return { epochs, fresh: plan.fresh };
  });
}

type TokenPublicKey = { readonly token: TokenKey; readonly key: PublicKey } | null;

async function readToken({ token, env = process.env }: NewKeyOptions): Promise<TokenPublicKey> {
  return token ? { token, key: await tokenPublicKey(token, env) } : null;
}

function rotation(dir: string, keyring: Keyring, tokenKey: TokenPublicKey, options: NewKeyOptions): Plan {
  const { epochs, active } = keyring;
  if (active.token !== null && tokenKey === null && options.token !== null) {
    const message = 'The active key lies in a token; rotate to another key of a token first.';
    throw new BullaError('KEYRING_TOKEN', message);
  }
  const pq = options.pq ?? active.pqPublicKey !== null;
  const fresh = newKey(epochs, nextNumber(epochs), pq, tokenKey, options);
  checkReplaceable(dir, active, fresh.epoch);
  const retired = epochOf({ ...active, status: 'retired', rotatedAt: fresh.epoch.createdAt });
  return { epochs: [...epochs.map((epoch) => (epoch === active ? retired : epoch)), fresh.epoch], fresh };
}

function nextNumber(epochs: readonly Epoch[]): number {
  return epochs.at(-1)!.epoch + 1;
}

function newKey(
  epochs: readonly Epoch[],
  number: number,
  pq: boolean,
  tokenKey: TokenPublicKey,
  options: NewKeyOptions,
): Fresh {
  const pqSeed = pq ? options.randomBytes(32) : null;
  const of = (publicKey: PublicKey) =>
    epochOf({
      epoch: number,
      publicKey,
      createdAt: timestamp(options.now()),
      rotatedAt: null,
      status: 'active',
      verifyOnly: false,
      pqPublicKey: pqSeed && derivePublicKey('ML-DSA-65', pqSeed),
      notBefore: null,
      notAfter: options.notAfter ? timestamp(options.notAfter) : null,
      revocation: null,
      token: tokenKey?.token ?? null,
    });
  if (tokenKey !== null) {
    const epoch = of(tokenKey.key);
    refuseTaken(epochs, epoch);
    return { epoch, seed: null, pqSeed };
  }
  // A fingerprint has 16 bits, so a new key may meet an old one's; then another is drawn.
  for (let draws = 0; draws < 1000; draws++) {
    const seed = options.randomBytes(32);
    const epoch = of(derivePublicKey('Ed25519', seed));
    if (epochs.every(({ fingerprint }) => fingerprint !== epoch.fingerprint)) return { epoch, seed, pqSeed };
  }
  throw new BullaError('KEYRING_FULL', 'No key with a fingerprint of its own was found in 1,000 draws.');
}

function refuseTaken(epochs: readonly Epoch[], { fingerprint, keyId }: Epoch): void {
  const twin = epochs.find((epoch) => epoch.fingerprint === fingerprint);
  if (twin === undefined) return;
  const message =
    twin.keyId === keyId
      ? `The key is in the keyring already, as epoch ${twin.epoch}.`
      : `Epoch ${twin.epoch} has the same fingerprint, ${fingerprint}; fingerprints are unique in a keyring.`;
  throw new BullaError('KEYRING_KEY_KNOWN', message);
}
