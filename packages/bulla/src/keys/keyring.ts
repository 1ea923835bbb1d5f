import { type BigIntStats, closeSync, fstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { fileError, LIMITS, naming, openFound, readUpTo } from '../os/index.ts';
import type { Keyring } from './epoch.ts';
import { parseKeyring } from './keyring-file.ts';

export const KEYRING_FILE = 'keyring.json';

/**
 * Reads a keyring to verify with. Touches nothing but `keyring.json`, never a private key, and creates nothing.
 * Throws `KEYRING_MISSING`, `KEYRING_UNREADABLE`, and the codes of {@link parseKeyring}.
 */
export function loadKeyring(dir: string): Keyring {
  return readKeyring(dir).keyring;
}

/** The same, and null where there is none. What is there and cannot be read is never taken for none. */
export function findKeyring(dir: string): Keyring | null {
  try {
    return loadKeyring(dir);
  } catch (error) {
    if (error instanceof BullaError && error.code === 'KEYRING_MISSING') return null;
    throw error;
  }
}

/** The keyring, and the identity of the very file that it was read from. Throws as {@link loadKeyring} does. */
export function readKeyring(dir: string): { keyring: Keyring; identity: string } {
  const path = join(dir, KEYRING_FILE);
  const [bytes, identity] = reading(path, () => {
    const file = openFound(path);
    try {
      const bytes = readUpTo(file, LIMITS.document);
      if (bytes === null) throw Object.assign(new Error(`${path} is too large`), { code: 'EFBIG' });
      return [bytes, identityOf(fstatSync(file, { bigint: true }))] as const;
    } finally {
      closeSync(file);
    }
  });
  return { keyring: naming(path, () => parseKeyring(bytes)), identity };
}

/**
 * Tells whether the file was replaced since: every change makes a new file, which is longer or was made later. Throws
 * `KEYRING_MISSING` or `KEYRING_UNREADABLE`.
 */
export function keyringIdentity(dir: string): string {
  const path = join(dir, KEYRING_FILE);
  return reading(path, () => identityOf(statSync(path, { bigint: true })));
}

function identityOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

function reading<Result>(path: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new BullaError('KEYRING_MISSING', `There is no keyring at ${path}; "bulla keys init" makes one.`);
    throw fileError('KEYRING_UNREADABLE', path, 'read', cause);
  }
}
