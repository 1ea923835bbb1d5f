import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';

/**
 * Writes a new key file, readable by its owner alone if it is private, and durable when this returns. Throws
 * `FILE_EXISTS` rather than overwrite, and `FILE_UNWRITABLE`; a file that could not be written whole is removed.
 */
export function writeKeyFile(path: string, text: string, kind: 'private' | 'public'): void {
  let file: number;
  try {
    file = openSync(path, 'wx', kind === 'private' ? 0o600 : 0o644);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new BullaError('FILE_EXISTS', `${path} exists already; it is never overwritten.`);
    throw new BullaError('FILE_UNWRITABLE', `${path} cannot be created (${code}).`, { cause: error });
  }
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } catch (error) {
    rmSync(path, { force: true });
    throw new BullaError(
      'FILE_UNWRITABLE',
      `${path} cannot be written (${(error as NodeJS.ErrnoException).code}).`,
      { cause: error },
    );
  } finally {
    closeSync(file);
  }
}
