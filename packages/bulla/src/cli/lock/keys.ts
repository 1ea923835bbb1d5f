import { keyId } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Lock, readLock, type VerifiedLock } from '@bulla/core/lock';
import type { Command } from 'commander';
import { findKeyring, trustIn } from '../../keys/index.ts';
import { type LockKeys, loadKeys, openWith, signatureBeside } from '../../locks/index.ts';
import { findInput, naming, readInput } from '../../os/index.ts';
import { keysFolder } from '../place.ts';

/** Whose signatures on a lock count. */
export interface KeyOptions {
  key: string[];
  keyring?: string;
}

/** How a command that uses a lock is told to trust it. */
export interface RequireOptions extends KeyOptions {
  requireSignature?: boolean;
  signature?: string;
}

const collect = (value: string, previous: string[]) => [...previous, value];

export function keyOptions(command: Command): Command {
  return command
    .option('-k, --key <file|hex>', 'a public key to trust; may be repeated', collect, [])
    .option(
      '--keyring <path>',
      'a keyring (its folder or its keyring.json) whose keys to trust when verifying',
    );
}

export function requireOptions(command: Command): Command {
  return keyOptions(
    command.option('--require-signature', 'use the lock only if a trusted key signed it'),
  ).option('-s, --signature <file>', 'the signature (default: what lies beside the lock)');
}

/**
 * The keys that were named, else those of the local keyring if there is one; never one that the local keyring knows to
 * be revoked.
 */
export function keysFrom({ key, keyring }: KeyOptions): LockKeys {
  const local = keysFolder({});
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
 * Reads a lock, and where a signature is required, only the bytes that a trusted key signed. To name a key or a
 * signature is to require one. Throws `LOCK_UNSIGNED` when there is none, and what `readLock` and `openWith` throw.
 */
export function openLockFile(path: string, options: RequireOptions): OpenedLock {
  const bytes = readLockFile(path);
  const isRequired =
    options.requireSignature ||
    options.key.length > 0 ||
    options.keyring !== undefined ||
    options.signature !== undefined;
  if (!isRequired) return { bytes, lock: naming(path, () => readLock(bytes)) };
  const signature =
    options.signature === undefined
      ? signatureBeside(path)?.bytes
      : readInput(options.signature, 'signature');
  if (signature === undefined)
    throw new BullaError('LOCK_UNSIGNED', `There is no signature beside ${path}, and one is required.`);
  return { bytes, lock: openWith(bytes, signature, keysFrom(options)) };
}

/** Reads a lockfile, which mostly nobody named: what is no file is refused, and not waited for. */
export function readLockFile(path: string): Uint8Array {
  return path === '-' ? readInput(path, 'document') : (findInput(path, 'document') ?? missing(path));
}

/** The first thing that goes wrong for somebody new, so it says what to do. */
function missing(path: string): never {
  const sentence = `There is no lockfile ${path}. "bulla lock -- SERVER…" makes one; "-l FILE" names another.`;
  throw new BullaError('INPUT_UNREADABLE', sentence);
}

/** The same without the bytes. */
export function openLock(path: string, options: RequireOptions): Lock | VerifiedLock {
  return openLockFile(path, options).lock;
}
