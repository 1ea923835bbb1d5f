import { statSync } from 'node:fs';
import {
  detectKey,
  fromUtf8,
  type NoteVerifier,
  type PrivateKey,
  type PublicKey,
  readPrivateKey,
  readPublicKey,
  type Signer,
  signerOf,
} from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { loadKeyring, openKeyring, parseKeyring } from '../keys/index.ts';
import { readInput } from '../os/index.ts';

/** Whose signatures on a lock count. */
export interface LockKeys {
  readonly keys: readonly PublicKey[];
  readonly vkeys: readonly NoteVerifier[];
  /** Where they come from, for the report. */
  readonly origin: string;
}

/**
 * The keys that were named (files in any format, or 64 hex digits), and those of a keyring. A revoked key is not among
 * them: nothing shows that its signature is older than the revocation. Throws `INPUT_UNREADABLE`, `INPUT_TOO_LARGE`,
 * and the `KEY_…` and `KEYRING_…` codes.
 */
export function loadKeys(files: readonly string[], keyring: string | null): LockKeys {
  const keys = files.map((file) =>
    readPublicKey(/^[0-9a-f]{64}$/.test(file) ? file : readText(file), 'Ed25519'),
  );
  if (keyring === null) return { keys, vkeys: [], origin: files.length === 0 ? 'none' : files.join(', ') };
  const { epochs } = readKeyring(keyring);
  const standing = epochs.filter((epoch) => epoch.revocation === null).map((epoch) => epoch.publicKey);
  return { keys: [...keys, ...standing], vkeys: [], origin: [...files, keyring].join(', ') };
}

/** A keyring that was named: its folder or its file. Throws `INPUT_UNREADABLE` and the `KEYRING_…` codes. */
export function readKeyring(path: string): ReturnType<typeof loadKeyring> {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (isFolder) return loadKeyring(path);
  const bytes = readInput(path, 'document');
  try {
    return parseKeyring(bytes);
  } catch (cause) {
    if (!(cause instanceof BullaError)) throw cause;
    const { code, message, path: place } = cause;
    throw new BullaError(code, `${path} is no keyring that can be read. ${message}`, {
      ...(place !== undefined && { path: place }),
      cause,
    });
  }
}

function readText(file: string, missing?: string): string {
  return fromUtf8(readInput(file, 'key', missing));
}

interface SigningKey {
  readonly signer: Signer;
  close(): void;
}

/**
 * The key in a file, in any format that tells private keys from public ones, or the active key of a keyring. Throws
 * `INPUT_UNREADABLE`, `INPUT_TOO_LARGE`, `USAGE` for neither or both, `KEY_AMBIGUOUS` for hex, and the `KEY_…`
 * and `KEYRING_…` codes.
 */
export function loadSigner(from: {
  readonly file?: string | undefined;
  readonly keyring?: string | undefined;
}): SigningKey {
  if ((from.file === undefined) === (from.keyring === undefined))
    throw new BullaError('USAGE', 'Name the key to sign with: a file, or a keyring.');
  if (from.file !== undefined) return { signer: signerOf(readSigningKey(from.file)), close: () => undefined };
  const keyring = openKeyring(from.keyring!, { now: () => new Date() });
  return { signer: keyring.signer(), close: () => keyring.close() };
}

/** With a public key for a seed, everybody who has the public key could sign the same. */
function readSigningKey(file: string): PrivateKey {
  const text = readText(
    file,
    `There is no key ${file}. "bulla keygen" makes a pair; "-k FILE" names another.`,
  );
  if (detectKey(text).kind === 'either')
    throw new BullaError(
      'KEY_AMBIGUOUS',
      `${file} holds 64 hex digits, which may be a public key. "bulla keys convert" writes a private one as PEM.`,
    );
  return readPrivateKey(text, 'Ed25519');
}
