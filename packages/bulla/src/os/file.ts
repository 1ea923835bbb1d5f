import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';

// Files that were found under a name, rather than named by whoever runs the program. Others may have put anything there:
// a pipe on which nobody writes, a device, a folder, a file without an end.

const PART = 64 * 1024;

/** Whether anything is there. Throws Node's errors where that cannot be told, as in a folder that is closed to us. */
export function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Opens a found file to read. Never waits. Throws Node's errors, and one with the code `ENOTFILE`. */
export function openFound(path: string): number {
  // Windows has neither flag.
  const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw Object.assign(new Error(`${path} is not a file`), { code: 'ENOTFILE' });
}

/** Reads a found file; null if it is larger than that. Throws as {@link openFound} does. */
export function readFound(path: string, maxBytes: number): Uint8Array | null {
  const file = openFound(path);
  try {
    return readUpTo(file, maxBytes);
  } finally {
    closeSync(file);
  }
}

/** Null for what is too large. What a file says of its size may change, and a device says nothing: what comes counts. */
export function readUpTo(file: number, maxBytes: number): Uint8Array | null {
  if (fstatSync(file).size > maxBytes) return null;
  return readParts((part) => readSync(file, part), maxBytes);
}

/** Reads to the end; null for more than `maxBytes`. `readPart` fills a buffer and gives the number of bytes, 0 at the end. */
export function readParts(readPart: (part: Buffer) => number, maxBytes: number): Uint8Array | null {
  const parts: Buffer[] = [];
  for (let size = 0; ; ) {
    const part = Buffer.allocUnsafe(PART);
    const count = readPart(part);
    if (count === 0) return new Uint8Array(Buffer.concat(parts, size));
    size += count;
    if (size > maxBytes) return null;
    parts.push(part.subarray(0, count));
  }
}

/** More than a key, a lock or any other small file of ours has. */
const MAX_SMALL = 64 * 1024;

/** Reads a small file; null where there is none. Throws as {@link openFound} does, and `EFBIG` for a larger one. */
export function readIfThere(path: string): Uint8Array | null {
  let bytes: Uint8Array | null;
  try {
    bytes = readFound(path, MAX_SMALL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  if (bytes === null) throw Object.assign(new Error(`${path} is too large`), { code: 'EFBIG' });
  return bytes;
}

type Access = 'read' | 'written' | 'created' | 'used';

/** Does something with a file. Errors of the system become ours, with this code; errors of ours pass. */
export function accessFile<T>(code: Code, file: string, what: Access, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw fileError(code, file, what, cause);
  }
}

/** What went wrong with a file: an error of the system as one of ours, any other as it is. */
export function fileError(code: Code, file: string, what: Access, cause: unknown): unknown {
  const why = (cause as NodeJS.ErrnoException).code;
  if (cause instanceof BullaError || why === undefined) return cause;
  return new BullaError(code, `${file} cannot be ${what} (${why}).`, { cause });
}
