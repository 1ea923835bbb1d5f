import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import {
  type AlgorithmName,
  detectKey,
  fromUtf8,
  type KeyFormat,
  keyId,
  type PrivateKey,
  type PublicKey,
  privateKey,
  readPrivateKey,
  readPublicKey,
  writePrivateKey,
  writePublicKey,
} from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { epochNamed, formatKeyring, loadKeyring, writeKeyFile } from '../keys/index.ts';

/** What a key file holds. */
interface ReadKey {
  readonly format: KeyFormat;
  readonly publicKey: PublicKey;
  readonly private?: PrivateKey;
}

/**
 * Reads a key in any format. 64 hex digits are a public key, and a seed only where that is said. Throws
 * `KEY_MALFORMED`, and the `KEY_…` codes.
 */
export function readKeyFile(
  bytes: Uint8Array,
  {
    algorithm,
    seed,
  }: { readonly algorithm?: AlgorithmName | undefined; readonly seed?: boolean | undefined },
): ReadKey {
  const text = fromUtf8(bytes);
  const { format, kind } = detectKey(text);
  if (kind === 'private' || (kind === 'either' && seed)) {
    const key = readPrivateKey(text, algorithm);
    return { format, publicKey: key.publicKey, private: key };
  }
  if (seed) throw new BullaError('KEY_MALFORMED', 'The file does not hold a seed of 64 hex digits.');
  return { format, publicKey: readPublicKey(text, algorithm) };
}

/** Which public key of a keyring is meant. Default: the active one. */
interface PublicKeyChoice {
  /** As `epochNamed` takes it. */
  readonly name?: string | undefined;
  readonly epoch?: number | undefined;
  /** Every key with its time and revocation, as a `keyring.json`. */
  readonly all?: boolean | undefined;
  /** The ML-DSA-65 key instead. */
  readonly pq?: boolean | undefined;
  readonly format?: KeyFormat | undefined;
}

/** The text of a public key of a keyring, or of all. Throws `KEYRING_KEY_AMBIGUOUS` and `KEYRING_KEY_UNKNOWN`. */
export function exportPublic(dir: string, choice: PublicKeyChoice): string {
  const { name, epoch: number, all, pq, format = 'hex' } = choice;
  if (name !== undefined && (all || number !== undefined))
    throw new BullaError('KEYRING_KEY_AMBIGUOUS', 'Name one key, or --epoch, or --all.');
  const { epochs, active } = loadKeyring(dir);
  // Where a private key lies is nobody else's business.
  if (all) return formatKeyring(epochs.map((epoch) => ({ ...epoch, token: null })));
  const numbered = () => (number === undefined ? active : epochs.find((one) => one.epoch === number));
  const epoch = name === undefined ? numbered() : epochNamed(epochs, name);
  if (epoch === undefined) throw new BullaError('KEYRING_KEY_UNKNOWN', `The keyring has no epoch ${number}.`);
  const key = pq ? epoch.pqPublicKey : epoch.publicKey;
  if (key === null) throw new BullaError('KEYRING_KEY_UNKNOWN', `Epoch ${epoch.epoch} has no ML-DSA-65 key.`);
  return writePublicKey(key, format);
}

/**
 * Makes a pair of Ed25519 keys in the format of the released lock program, and gives its key id. The private key is
 * for its owner alone. Throws `FILE_EXISTS`: nothing is ever overwritten.
 */
export function makeLockKeys(privateFile: string, publicFile: string): string {
  const there = [privateFile, publicFile].find((file) => existsSync(file));
  if (there !== undefined)
    throw new BullaError('FILE_EXISTS', `${there} exists already; it is never overwritten.`);
  if (privateFile === publicFile) throw new BullaError('FILE_EXISTS', 'The two keys need a file each.');
  const key = privateKey('Ed25519', new Uint8Array(randomBytes(32)));
  writeKeyFile(privateFile, writePrivateKey(key, 'lock-pem'), 'private');
  try {
    writeKeyFile(publicFile, writePublicKey(key.publicKey, 'lock-pem'), 'public');
  } catch (error) {
    rmSync(privateFile, { force: true });
    throw error;
  }
  return keyId(key.publicKey);
}
