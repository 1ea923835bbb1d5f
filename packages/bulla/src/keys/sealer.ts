import { join } from 'node:path';
import { localSigner, type PublicKey, type Signer } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Disk, type Environment, type LockOptions, realDisk, tryLock } from '../os/index.ts';
import type { Epoch, Keyring } from './epoch.ts';
import { keyringIdentity, loadKeyring, readKeyring } from './keyring.ts';
import type { TokenSigner } from './pkcs11.ts';
import { isUntidy, readSeeds, tidy } from './private-keys.ts';
import { timestamp } from './timestamp.ts';
import { tokenSigner } from './token.ts';

/**
 * The key that signs now, with its names: one consistent view, which never changes. Take one for each signature or
 * batch, write the label that it gives, and let it go; one that is kept goes on signing with its own epoch.
 */
export interface Sealer {
  readonly epoch: number;
  readonly keyId: string;
  readonly fingerprint: string;
  readonly label: string;
  readonly publicKey: PublicKey;
  readonly signer: Signer;
  readonly pqPublicKey?: PublicKey;
  readonly pqSigner?: Signer;
  /** The whole keyring at that moment: who else may have signed what this key signs next to. */
  readonly keyring: Keyring;
}

/** A keyring to sign with, which sees what other processes change. */
export interface OpenKeyring {
  /** The keyring as it is on disk now. Throws as {@link loadKeyring} does. */
  current(): Keyring;
  /**
   * The active key as it is on disk now. Throws as {@link loadKeyring} does, `KEYRING_PRIVATE_KEY_MISSING`,
   * `KEYRING_PRIVATE_KEY` or `KEY_EXPOSED` for what is wrong with the private key, and `KEYRING_KEY_NOT_VALID`
   * outside the epoch's time.
   */
  sealer(): Sealer;
  /**
   * A signer that may be kept: before each signature it looks whether its key is still the active one, and throws
   * `KEYRING_ROTATED` if it is not. Then ask for another; its public key, and so the label, is a new one.
   */
  signer(): Signer;
  /** Ends the sessions with tokens, once pending signatures are made. */
  close(): void;
}

export interface OpenOptions {
  /** Default: the clock of this machine. */
  readonly now?: () => Date;
  /** Where the PIN of a token is. Default `process.env`. */
  readonly env?: Environment;
  readonly disk?: Disk;
  readonly lock?: LockOptions;
}

/**
 * Opens a keyring to sign with, and ends a rotation that a crash cut short, unless another process is at it. Throws
 * as {@link loadKeyring} does.
 */
export function openKeyring(dir: string, options: OpenOptions = {}): OpenKeyring {
  recover(dir, options);
  const { now = () => new Date(), env = process.env } = options;
  const tokens = new Map<string, TokenSigner>();
  let loaded: ReturnType<typeof readKeyring> | undefined;
  let sealed: Sealer | undefined;

  function current(): Keyring {
    if (loaded === undefined || loaded.identity !== keyringIdentity(dir)) loaded = readKeyring(dir);
    return loaded.keyring;
  }

  /** A private key is erased only after the keyring was replaced: if it was not, the two belong together. */
  function load(): Sealer {
    for (;;) {
      const keyring = current();
      if (sealed?.keyring === keyring) return sealed;
      try {
        sealed = makeSealer(keyring);
      } catch (error) {
        if (current() === keyring) throw error;
      }
    }
  }

  function makeSealer(keyring: Keyring): Sealer {
    const { active } = keyring;
    const { epoch, keyId, fingerprint, label, publicKey, token, pqPublicKey } = active;
    const { seed, pqSeed } = readSeeds(dir, active);
    const sealer: Sealer = Object.freeze({
      epoch,
      keyId,
      fingerprint,
      label,
      publicKey,
      signer: token === null ? localSigner('Ed25519', seed!) : inToken(active, token),
      ...(pqPublicKey && { pqPublicKey, pqSigner: localSigner('ML-DSA-65', pqSeed!) }),
      keyring,
    });
    seed?.fill(0);
    pqSeed?.fill(0);
    return sealer;
  }

  function inToken({ keyId, publicKey }: Epoch, token: NonNullable<Epoch['token']>): TokenSigner {
    const signer = tokens.get(keyId) ?? tokenSigner(token, publicKey, env);
    tokens.set(keyId, signer);
    return signer;
  }

  function sealer(): Sealer {
    const found = load();
    checkWindow(found.keyring.active, now);
    return found;
  }

  return {
    current,
    sealer,
    signer() {
      const own = sealer();
      return {
        algorithm: own.signer.algorithm,
        publicKey: own.signer.publicKey,
        sign(message) {
          if (sealer().keyId === own.keyId) return own.signer.sign(message);
          throw new BullaError(
            'KEYRING_ROTATED',
            `The key of epoch ${own.epoch} was rotated; ask for a new signer.`,
          );
        },
      };
    },
    close() {
      for (const token of tokens.values()) token.close();
      tokens.clear();
    },
  };
}

function checkWindow({ epoch, notBefore, notAfter }: Epoch, now: () => Date): void {
  if (notBefore === null && notAfter === null) return;
  const time = timestamp(now());
  if (notBefore !== null && time < notBefore)
    throw new BullaError('KEYRING_KEY_NOT_VALID', `The key of epoch ${epoch} is valid from ${notBefore}.`);
  if (notAfter !== null && time > notAfter)
    throw new BullaError(
      'KEYRING_KEY_NOT_VALID',
      `The key of epoch ${epoch} was valid until ${notAfter}; rotate it.`,
    );
}

function recover(dir: string, { disk = realDisk, lock }: OpenOptions): void {
  const keyring = loadKeyring(dir);
  try {
    if (!isUntidy(dir, keyring)) return;
    const release = tryLock(join(dir, 'keyring.lock'), { disk, ...lock });
    if (typeof release !== 'function') return;
    try {
      tidy(dir, loadKeyring(dir), disk);
    } finally {
      release();
    }
  } catch (error) {
    // Signing needs no tidy directory, and a read-only one cannot be tidied; the next change will try again.
    if (error instanceof BullaError && error.code !== 'KEYRING_LOCK_MALFORMED') throw error;
  }
}
