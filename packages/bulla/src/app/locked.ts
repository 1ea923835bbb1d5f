import { keyId } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Lock, openWith, readLock, type VerifiedLock } from '@bulla/core/lock';
import { findKeyring, trustIn } from '../keys/index.ts';
import { type LockKeys, loadKeys, signatureBeside } from '../locks/index.ts';
import { findInput, naming, readInput } from '../os/index.ts';
import { pathsOf } from './paths.ts';

/** Whose signatures on a lock count. */
export interface KeyChoice {
  /** Files, or 64 hex digits. */
  readonly key?: readonly string[] | undefined;
  /** A folder or a `keyring.json`. Default: without keys, the keyring of the data directory. */
  readonly keyring?: string | undefined;
}

/** How a lock is trusted. To name a key or a signature is to require one. */
export interface LockTrust extends KeyChoice {
  readonly requireSignature?: boolean | undefined;
  /** Default: what lies beside the lock. */
  readonly signature?: string | undefined;
}

/**
 * The keys that were named, else those of the local keyring if there is one; never one that the local keyring knows to
 * be revoked.
 */
export function keysFrom({ key = [], keyring }: KeyChoice): LockKeys {
  const local = pathsOf().keys;
  const epochs = findKeyring(local)?.epochs ?? [];
  const found = loadKeys(key, keyring ?? (key.length === 0 && epochs.length > 0 ? local : null));
  const revoked = new Set(trustIn(epochs).revoked.map((one) => one.key));
  return { ...found, keys: found.keys.filter((one) => !revoked.has(keyId(one))) };
}

/** A lockfile's bytes and what they say, which a trusted key signed where that was required. */
export interface OpenedLock {
  readonly bytes: Uint8Array;
  readonly lock: Lock | VerifiedLock;
}

/**
 * Reads a lock, and where a signature is required, only the bytes that a trusted key signed. Throws `LOCK_UNSIGNED`
 * when there is none, and what `readLock` and `openWith` throw.
 */
export function openLock(path: string, trust: LockTrust = {}): OpenedLock {
  const bytes = readLockFile(path);
  const isRequired =
    trust.requireSignature ||
    (trust.key ?? []).length > 0 ||
    trust.keyring !== undefined ||
    trust.signature !== undefined;
  if (!isRequired) return { bytes, lock: naming(path, () => readLock(bytes)) };
  const signature =
    trust.signature === undefined ? signatureBeside(path)?.bytes : readInput(trust.signature, 'signature');
  if (signature === undefined)
    throw new BullaError('LOCK_UNSIGNED', `There is no signature beside ${path}, and one is required.`);
  return { bytes, lock: openWith(bytes, signature, keysFrom(trust)) };
}

/** Reads a lockfile, usually the default one. Refuses pipes and devices instead of waiting for them. */
export function readLockFile(path: string): Uint8Array {
  const bytes = path === '-' ? readInput(path, 'document') : findInput(path, 'document');
  if (bytes !== null) return bytes;
  // The first thing that goes wrong for somebody new, so it says what to do.
  const sentence = `There is no lockfile ${path}. "bulla lock -- SERVER…" makes one; "-l FILE" names another.`;
  throw new BullaError('INPUT_UNREADABLE', sentence);
}
