import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { type Disk, realDisk } from '../keys/index.ts';
import { readFound, readStandardInput, readUpTo } from '../os/index.ts';

/** The largest lockfile that is read, and so written. */
export const MAX_LOCK_BYTES: number = 64 * 1024 * 1024;

/**
 * Reads a file that somebody named, or standard input for `-`. A pipe such as `<(command)` is read too. Throws
 * `INPUT_UNREADABLE`, with the sentence `missing` where there is no such file, and `INPUT_TOO_LARGE` beyond the limit of
 * 64 MiB, of which no more is read than that.
 */
export function readWhole(
  path: string,
  maxBytes = MAX_LOCK_BYTES,
  missing = `There is no file ${path}.`,
): Uint8Array {
  const bytes =
    path === '-'
      ? readAs('Standard input', () => readStandardInput(maxBytes))
      : readAs(path, () => readNamed(path, maxBytes));
  if (bytes === null) throw new BullaError('INPUT_UNREADABLE', missing);
  return bytes;
}

/**
 * Reads a file that nobody named, but that was looked for; null where there is none. What is no regular file is
 * refused with `INPUT_UNREADABLE` and never waited for; else as {@link readWhole}.
 */
export function readLimited(path: string, maxBytes = MAX_LOCK_BYTES): Uint8Array | null {
  return readAs(path, () => readFound(path, maxBytes));
}

function readNamed(path: string, maxBytes: number): Uint8Array | null {
  const file = openSync(path, 'r');
  try {
    return readUpTo(file, maxBytes);
  } finally {
    closeSync(file);
  }
}

function readAs(name: string, read: () => Uint8Array | null): Uint8Array | null {
  try {
    const bytes = read();
    if (bytes === null) throw new BullaError('INPUT_TOO_LARGE', `${name} is larger than is read here.`);
    return bytes;
  } catch (cause) {
    if (cause instanceof BullaError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EALREADY')
      throw new BullaError('INPUT_UNREADABLE', 'Standard input can stand for one file only.', { cause });
    if (code === 'ENOTFILE')
      throw new BullaError('INPUT_UNREADABLE', `${name} is not a regular file.`, { cause });
    throw new BullaError('INPUT_UNREADABLE', `${name} cannot be read (${code}).`, { cause });
  }
}

/**
 * Puts a file in the place of another in one step: whoever looks, whenever, sees the old one or the new one, whole. The
 * new one keeps the mode of the old one, and a link goes on leading to it. Throws `FILE_UNWRITABLE`; then the old file
 * is as it was and nothing is left beside it.
 */
export function replaceFile(path: string, bytes: Uint8Array, disk: Disk = realDisk): void {
  try {
    const old = statSync(path, { throwIfNoEntry: false });
    if (old !== undefined && !old.isFile()) throw Object.assign(new Error(), { code: 'EEXIST' });
    const place = old === undefined ? path : realpathSync(path);
    const draft = join(
      dirname(place),
      `.${basename(place)}.${process.pid}.${randomBytes(4).toString('hex')}.new`,
    );
    try {
      // Never looser than the old one, not for a moment: who opens it then reads what is written later.
      const file = disk.create(draft, old === undefined ? 0o644 : old.mode & 0o777);
      try {
        if (old !== undefined) chmodSync(draft, old.mode & 0o777);
        disk.write(file, bytes);
        disk.sync(file);
      } finally {
        disk.close(file);
      }
      disk.rename(draft, place);
    } catch (error) {
      disk.remove(draft);
      throw error;
    }
    syncFolder(dirname(place), disk);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new BullaError('FILE_UNWRITABLE', `${path} cannot be written (${code}).`, { cause });
  }
}

/** Without it, a crash of the machine may leave the old file in place; either of the two is whole. */
function syncFolder(folder: string, disk: Disk): void {
  try {
    disk.syncDirectory(folder);
  } catch {} // some file systems cannot
}
