import { closeSync, openSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';
import { fileError, readFound, readUpTo } from './file.ts';
import { readStandardInput } from './stdin.ts';

const MIB = 1024 * 1024;

/** How many bytes are read into memory, by what is expected; of a larger file no more is read than that. */
export const LIMITS = {
  /** A key, or a few of them. */
  key: MIB / 16,
  /** A signature, an attestation, a checkpoint, a policy. */
  signature: 16 * MIB,
  policy: 16 * MIB,
  /** One JSON document: a lock, a manifest, a capsule, an envelope, a configuration. */
  document: 64 * MIB,
  /** Many records, or a file of which nobody said what it is. */
  chain: 1024 * MIB,
} as const;

/** What a file is expected to be. */
type InputKind = keyof typeof LIMITS;

/**
 * Reads a file that somebody named, or standard input for `-`. A pipe such as `<(command)` is read too. Throws
 * `INPUT_UNREADABLE`, with the sentence `missing` where there is no such file, and `INPUT_TOO_LARGE` beyond the limit.
 */
export function readInput(path: string, kind: InputKind, missing = `There is no file ${path}.`): Uint8Array {
  const maxBytes = LIMITS[kind];
  const bytes =
    path === '-'
      ? readAs('Standard input', () => readStandardInput(maxBytes))
      : readAs(path, () => readNamed(path, maxBytes));
  if (bytes === null) throw new BullaError('INPUT_UNREADABLE', missing);
  return bytes;
}

/**
 * Reads a file that nobody named, but that was looked for; null where there is none. What is no regular file is
 * refused with `INPUT_UNREADABLE` and never waited for; else as {@link readInput}.
 */
export function findInput(path: string, kind: InputKind): Uint8Array | null {
  return readAs(path, () => readFound(path, LIMITS[kind]));
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
    throw fileError('INPUT_UNREADABLE', name, 'read', cause);
  }
}

/** Reads what a file holds; errors name the file. */
export function naming<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    // An error of a class of its own means more than its message.
    if (!(cause instanceof BullaError) || cause.constructor !== BullaError) throw cause;
    const { code, message, path, offset } = cause;
    if (message.includes(file)) throw cause;
    const name = file === '-' ? 'Standard input' : file;
    throw new BullaError(code, `${name}: ${message}`, {
      ...(path !== undefined && { path }),
      ...(offset !== undefined && { offset }),
      cause,
    });
  }
}
