import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BullaError } from '@bulla/core/error';
import { Parser, type ReadEntry } from 'tar';

export interface UntarLimits {
  /** The most bytes of a tarball that is unpacked. Default 1 GiB. */
  readonly maxBytes?: number;
  /** The most files and folders. Default 100,000. */
  readonly maxEntries?: number;
}

const FILES = ['File', 'OldFile', 'ContiguousFile'];

/**
 * Unpacks a package's tarball into a folder that must not exist yet, without the first part of each path. Files and
 * folders only, each below the folder, none twice, also where a disk does not tell `A` from `a`. Files can be read by
 * all and, where they say so, run; nothing else of their modes is kept. Gives the bytes that were written. Throws
 * `PIN_TARBALL_FORM` for what is no sound tarball, `PIN_TARBALL_ENTRY` for an entry that is refused,
 * `PIN_TARBALL_COLLISION`, and `PIN_TARBALL_LIMIT`.
 */
export function untar(tarball: Uint8Array, folder: string, limits: UntarLimits = {}): number {
  const { maxBytes = 2 ** 30, maxEntries = 100_000 } = limits;
  const bytes = unzipped(tarball, maxBytes);
  // The parser would unpack once more, without a limit.
  if (isPacked(bytes)) throw form('is compressed twice');
  make(folder, false);
  const writer = new Writer(folder);
  let entries = 0;
  const take = (entry: ReadEntry): void => {
    if (++entries > maxEntries)
      throw new BullaError('PIN_TARBALL_LIMIT', `The tarball has more than ${maxEntries} entries.`);
    const parts = partsOf(entry);
    if (entry.type === 'Directory') {
      writer.directory(parts);
      entry.resume();
      return;
    }
    if (!FILES.includes(entry.type) || parts.length === 0) throw refused(entry, `is a ${entry.type}`);
    const chunks: Buffer[] = [];
    entry.on('data', (chunk: Buffer) => chunks.push(chunk));
    entry.on('end', () => writer.file(parts, Buffer.concat(chunks), ((entry.mode ?? 0) & 0o111) !== 0));
  };
  parseAll(bytes, take);
  return writer.written;
}

function unzipped(tarball: Uint8Array, maxBytes: number): Buffer {
  try {
    return gunzipSync(tarball, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new BullaError('PIN_TARBALL_LIMIT', `The tarball unpacks to more than ${maxBytes} bytes.`);
    throw form('is not compressed as a tarball of a package is', error);
  }
}

function isPacked(bytes: Buffer): boolean {
  return ['1f8b', '28b52ffd'].some((magic) => bytes.subarray(0, 4).toString('hex').startsWith(magic));
}

function form(what: string, cause?: unknown): BullaError {
  return new BullaError('PIN_TARBALL_FORM', `The tarball ${what}.`, { cause });
}

function refused({ path }: Pick<ReadEntry, 'path'>, what: string): BullaError {
  return new BullaError('PIN_TARBALL_ENTRY', `The entry ${JSON.stringify(path)} of the tarball ${what}.`);
}

/** All entries, in turn. The parser takes bytes at once and answers at once, so that what is thrown comes from here. */
function parseAll(bytes: Buffer, take: (entry: ReadEntry) => void): void {
  const parser = new Parser({ strict: true, onReadEntry: take });
  let hasEnded = false;
  parser.on('error', (error: Error) => {
    throw error instanceof BullaError ? error : form(`cannot be read (${error.message})`, error);
  });
  // What the parser would pass over: kinds it does not know, and headers that are too large.
  parser.on('ignoredEntry', (entry: ReadEntry) => {
    throw refused(entry, `is of a kind that packages do not have (${entry.type})`);
  });
  parser.on('end', () => {
    hasEnded = true;
  });
  parser.write(bytes);
  parser.end();
  if (!hasEnded) throw form('ends too early');
}

/** The parts of an entry's path, without the first. */
function partsOf(entry: ReadEntry): string[] {
  const { path } = entry;
  const text = path.endsWith('/') ? path.slice(0, -1) : path;
  const parts = text.split('/');
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!isPlain || /[\\\0]/.test(path) || /^[A-Za-z]:/.test(path)) throw refused(entry, 'lies outside of it');
  return parts.slice(1);
}

/** Writes below a folder, and knows what it wrote. */
class Writer {
  written = 0;
  /** Every path by its letters, whatever their case and composition. */
  readonly #seen = new Map<string, { path: string; isFile: boolean }>();
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  directory(parts: readonly string[]): void {
    for (let i = 1; i <= parts.length; i++) {
      const path = parts.slice(0, i).join('/');
      if (this.#claim(path, false)) make(join(this.#folder, path), true);
    }
  }

  file(parts: readonly string[], bytes: Buffer, isProgram: boolean): void {
    this.directory(parts.slice(0, -1));
    const path = parts.join('/');
    this.#claim(path, true);
    write(join(this.#folder, path), bytes, isProgram ? 0o755 : 0o644);
    this.written += bytes.length;
  }

  /** Whether the path is new. A folder may be named again; a file may not. */
  #claim(path: string, isFile: boolean): boolean {
    const folded = path.normalize('NFC').toLowerCase();
    const before = this.#seen.get(folded);
    if (before === undefined) {
      this.#seen.set(folded, { path, isFile });
      return true;
    }
    if (!isFile && !before.isFile && before.path === path) return false;
    throw new BullaError(
      'PIN_TARBALL_COLLISION',
      `The tarball has both ${JSON.stringify(before.path)} and ${JSON.stringify(path)}.`,
    );
  }
}

function make(path: string, isBelow: boolean): void {
  try {
    mkdirSync(path, { recursive: !isBelow, mode: 0o755 });
  } catch (cause) {
    throw new BullaError('PIN_INSTALL_FAILED', `${path} cannot be made.`, { cause });
  }
}

function write(path: string, bytes: Buffer, mode: number): void {
  try {
    writeFileSync(path, bytes, { flag: 'wx', mode });
  } catch (cause) {
    throw new BullaError('PIN_INSTALL_FAILED', `${path} cannot be written in ${dirname(path)}.`, { cause });
  }
}
