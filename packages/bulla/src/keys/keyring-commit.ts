import { join } from 'node:path';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Disk, type LockOptions, realDisk, withLock, writeNewFile } from '../os/index.ts';
import type { Epoch, Keyring } from './epoch.ts';
import { findKeyring, KEYRING_FILE, loadKeyring } from './keyring.ts';
import { formatKeyring, parseKeyring } from './keyring-file.ts';
import { type Seeds, stageSeeds, tidy } from './private-keys.ts';

export interface ChangeOptions {
  readonly now: () => Date;
  /** Draws bytes for new keys; they must come from a cryptographic generator. */
  readonly randomBytes: (size: number) => Uint8Array;
  readonly disk?: Disk;
  readonly lock?: LockOptions;
}

/** A new epoch with the seeds that have to be written before it is active. */
export interface Fresh extends Seeds {
  readonly epoch: Epoch;
}

export interface Plan {
  readonly epochs: readonly Epoch[];
  readonly fresh: Fresh | null;
}

/**
 * Changes what is on disk, under the lock, to what `edit` makes of it. A directory without a keyring is left as it is,
 * without even a lock.
 */
export async function change(
  dir: string,
  options: ChangeOptions,
  edit: (keyring: Keyring) => Plan,
): Promise<Keyring> {
  loadKeyring(dir);
  return locked(dir, options, (disk) => {
    const keyring = loadKeyring(dir);
    tidy(dir, keyring, disk);
    const { epochs, fresh } = edit(keyring);
    return commit(dir, epochs, fresh, disk);
  });
}

/** Runs `action` under the lock of the directory; errors of the disk become `KEYRING_UNWRITABLE`. */
export async function locked(
  dir: string,
  options: ChangeOptions,
  action: (disk: Disk) => Keyring,
): Promise<Keyring> {
  const { disk = realDisk, lock } = options;
  try {
    return await withLock(join(dir, 'keyring.lock'), { disk, ...lock }, () => action(disk));
  } catch (error) {
    throw isDiskError(error) ? unwritable(dir, error) : error;
  }
}

/** Writes the private keys, then the keyring, whose rename is the moment of change, then tidies. */
export function commit(dir: string, epochs: readonly Epoch[], fresh: Fresh | null, disk: Disk): Keyring {
  const bytes = toUtf8(formatKeyring(epochs));
  const keyring = parseKeyring(bytes); // nothing is written that could not be read
  const file = join(dir, KEYRING_FILE);
  try {
    if (fresh !== null) stageSeeds(dir, fresh.epoch.epoch, fresh, disk);
    writeNewFile(disk, `${file}.new`, bytes);
    disk.syncDirectory(dir);
    disk.rename(`${file}.new`, file);
    disk.syncDirectory(dir);
  } catch (error) {
    abandon(dir, disk);
    throw isDiskError(error) ? unwritable(dir, error) : error;
  } finally {
    fresh?.seed?.fill(0);
    fresh?.pqSeed?.fill(0);
  }
  try {
    tidy(dir, keyring, disk);
  } catch (cause) {
    throw new BullaError(
      'KEYRING_NOT_TIDY',
      `The keyring is changed and epoch ${keyring.active.epoch} is active, but a retired private key could not be erased (${(cause as NodeJS.ErrnoException).code}).`,
      { cause },
    );
  }
  return keyring;
}

/** Removes what a failed write left. What counts is the keyring on disk: a rename may fail and yet be made. */
function abandon(dir: string, disk: Disk): void {
  try {
    tidy(dir, findKeyring(dir), disk);
  } catch {} // the next open or change does it
}

function isDiskError(error: unknown): boolean {
  return error instanceof Error && /^E[A-Z]+$/.test((error as NodeJS.ErrnoException).code ?? '');
}

function unwritable(dir: string, cause: unknown): BullaError {
  const { code } = cause as NodeJS.ErrnoException;
  let state = 'the keyring cannot be read';
  try {
    const keyring = findKeyring(dir);
    state = keyring === null ? 'there is no keyring' : `epoch ${keyring.active.epoch} is active`;
  } catch {} // the sentence above says so
  return new BullaError('KEYRING_UNWRITABLE', `${dir} cannot be written (${code}); ${state}.`, { cause });
}
