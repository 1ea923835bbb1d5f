import { randomBytes } from 'node:crypto';
import { chmodSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Disk, realDisk } from './disk.ts';
import { accessFile } from './file.ts';

/**
 * Puts a file in the place of another in one step: a reader sees the old one or the new one, whole, at any time. The
 * new one keeps the mode of the old one, and a link goes on leading to it. Throws `FILE_UNWRITABLE`; then the old file
 * is as it was and nothing is left beside it.
 */
export function replaceFile(path: string, bytes: Uint8Array, disk: Disk = realDisk): void {
  accessFile('FILE_UNWRITABLE', path, 'written', () => {
    const old = statSync(path, { throwIfNoEntry: false });
    if (old !== undefined && !old.isFile()) throw Object.assign(new Error(), { code: 'EEXIST' });
    const target = old === undefined ? path : realpathSync(path);
    const folder = dirname(target);
    const draft = join(folder, `.${basename(target)}.${process.pid}.${randomBytes(4).toString('hex')}.new`);
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
      disk.rename(draft, target);
    } catch (error) {
      disk.remove(draft);
      throw error;
    }
    // Without it, a crash of the machine may leave the old file in place; either of the two is whole.
    try {
      disk.syncDirectory(folder);
    } catch {} // some file systems cannot
  });
}
