import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { BullaError } from '@bulla/core/error';
import { normalized } from '@bulla/core/text';
import { Parser, type ReadEntry } from 'tar';

export interface UntarLimits {
  /** The most bytes of a tarball that is unpacked. Default 1 GiB. */
  readonly maxBytes?: number;
  /** The most files and folders. Default 100,000. */
  readonly maxEntries?: number;
}

/** No disk takes longer paths; work on a path grows with the square of its length. */
const MAX_PATH = 1024;
const FILES = ['File', 'OldFile', 'ContiguousFile'];

export interface PackedFile {
  readonly bytes: Buffer;
  readonly isProgram: boolean;
}

/** What is in a package's tarball, by paths without their first part; folders also where only files name them. */
export type Contents = Pick<Gathered, 'files' | 'folders' | 'size'>;

/**
 * Reads a package's tarball. Files and folders only, each below the package, none twice, also where a disk does not
 * tell `A` from `a`. Of their modes only counts whether they can be run. Rejects with `PIN_TARBALL`.
 */
export async function contentsOf(tarball: Uint8Array, limits: UntarLimits = {}): Promise<Contents> {
  const { maxBytes = 2 ** 30, maxEntries = 100_000 } = limits;
  const bytes = await unzipped(tarball, maxBytes);
  // The parser would unpack once more, without a limit.
  if (isPacked(bytes)) throw form('is compressed twice');
  const gathered = new Gathered(maxEntries);
  let entries = 0;
  const take = (entry: ReadEntry): void => {
    if (++entries > maxEntries) throw tooMany(maxEntries);
    const parts = partsOf(entry);
    if (entry.type === 'Directory') {
      gathered.folder(parts);
      entry.resume();
      return;
    }
    if (!FILES.includes(entry.type) || parts.length === 0) throw refused(entry, `is a ${entry.type}`);
    const chunks: Buffer[] = [];
    entry.on('data', (chunk: Buffer) => chunks.push(chunk));
    entry.on('end', () => {
      const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      gathered.file(parts, { bytes, isProgram: ((entry.mode ?? 0) & 0o111) !== 0 });
    });
  };
  parseAll(bytes, take);
  return gathered;
}

const unzip = promisify(gunzip);
/** Most packages come out in one piece. */
const CHUNK = 1 << 18;

async function unzipped(tarball: Uint8Array, maxBytes: number): Promise<Buffer> {
  try {
    return await unzip(tarball, { maxOutputLength: maxBytes, chunkSize: CHUNK });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new BullaError('PIN_TARBALL', `The tarball unpacks to more than ${maxBytes} bytes.`);
    throw form('is not compressed as a tarball of a package is', error);
  }
}

function tooMany(maxEntries: number): BullaError {
  return new BullaError('PIN_TARBALL', `The tarball has more than ${maxEntries} entries.`);
}

function isPacked(bytes: Buffer): boolean {
  return ['1f8b', '28b52ffd'].some((magic) => bytes.subarray(0, 4).toString('hex').startsWith(magic));
}

function form(what: string, cause?: unknown): BullaError {
  return new BullaError('PIN_TARBALL', `The tarball ${what}.`, { cause });
}

function refused({ path }: Pick<ReadEntry, 'path'>, what: string): BullaError {
  return new BullaError('PIN_TARBALL', `The entry ${JSON.stringify(path)} of the tarball ${what}.`);
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
  if (path.length > MAX_PATH) throw refused({ path: path.slice(0, 100) }, 'and so on has too long a path');
  const text = path.endsWith('/') ? path.slice(0, -1) : path;
  const parts = text.split('/');
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!isPlain || /[\\\0]/.test(path) || /^[A-Za-z]:/.test(path)) throw refused(entry, 'lies outside of it');
  return parts.slice(1);
}

/** Gathers files and folders, and knows every path by its letters, whatever their case and composition. */
class Gathered {
  size = 0;
  readonly files = new Map<string, PackedFile>();
  readonly folders = new Set<string>();
  readonly #seen = new Map<string, string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  folder(parts: readonly string[]): void {
    const upTo = (count: number) => parts.slice(0, count).join('/');
    let known = parts.length;
    while (known > 0 && !this.folders.has(upTo(known))) known--;
    for (let count = known + 1; count <= parts.length; count++) {
      this.#claim(upTo(count));
      this.folders.add(upTo(count));
    }
  }

  file(parts: readonly string[], file: PackedFile): void {
    this.folder(parts.slice(0, -1));
    const path = parts.join('/');
    this.#claim(path);
    this.files.set(path, file);
    this.size += file.bytes.length;
  }

  /** Takes a path that is new. Folders that only paths of files name count as entries too. */
  #claim(path: string): void {
    const folded = foldPath(path);
    const before = this.#seen.get(folded);
    if (before !== undefined)
      throw new BullaError(
        'PIN_TARBALL',
        `The tarball has both ${JSON.stringify(before)} and ${JSON.stringify(path)}.`,
      );
    if (this.#seen.size === this.#max) throw tooMany(this.#max);
    this.#seen.set(folded, path);
  }
}

/** A path as the least exact disk knows it. */
export function foldPath(path: string): string {
  return normalized(path, 'NFC').toLowerCase();
}
