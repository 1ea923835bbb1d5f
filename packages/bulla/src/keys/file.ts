import { BullaError } from '@bulla/core/error';
import { fileError, realDisk, writeNewFile } from '../os/index.ts';

/**
 * Writes a new key file, readable by its owner alone if it is private, and durable when this returns. Throws
 * `FILE_EXISTS` rather than overwrite, and `FILE_UNWRITABLE`; a file that could not be written whole is removed.
 */
export function writeKeyFile(path: string, text: string, kind: 'private' | 'public'): void {
  try {
    writeNewFile(realDisk, path, Buffer.from(text), kind === 'private' ? 0o600 : 0o644);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new BullaError('FILE_EXISTS', `${path} exists already; it is never overwritten.`);
    realDisk.remove(path);
    throw fileError('FILE_UNWRITABLE', path, 'written', cause);
  }
}
