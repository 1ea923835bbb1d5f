import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BullaError } from '@bulla/core/error';
import type { TreePackage } from '@bulla/core/lock';
import { createDirectory, readFound } from '../os/index.ts';
import type { Registry } from './registry.ts';

/** The largest tarball that is fetched. */
export const MAX_TARBALL = 500 * 1024 * 1024;

type Wanted = Pick<TreePackage, 'name' | 'version' | 'integrity' | 'tarball'>;

/**
 * Tarballs by their SHA-512, in a folder. What is read from it is hashed again each time: a file there proves nothing.
 */
export interface Cache {
  /** Whether there is a file, good or bad. */
  has(entry: Wanted): boolean;
  /**
   * The bytes of a tarball, if they are there. Throws `PIN_CACHE_TAMPERED` when they are not what they are filed under;
   * the file is left for whoever wants to know why.
   */
  read(entry: Wanted): Buffer | null;
  /** Fetches a tarball, keeps it and gives its size. Rejects with `PIN_INTEGRITY` and the `DOWNLOAD_…` codes. */
  fetch(entry: Wanted, registry: Registry, maxBytes?: number): Promise<number>;
}

export function openCache(folder: string): Cache {
  const pathOf = ({ integrity }: Wanted) => join(folder, `${hexOf(integrity)}.tgz`);
  const load = (entry: Wanted): Buffer | null => {
    const unreadable = (cause?: unknown) =>
      new BullaError('PIN_INSTALL_FAILED', `${pathOf(entry)} cannot be read.`, { cause });
    let bytes: Uint8Array | null;
    try {
      bytes = readFound(pathOf(entry), MAX_TARBALL);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw unreadable(error);
    }
    if (bytes === null) throw unreadable();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  };
  return {
    has: (entry) => existsSync(pathOf(entry)),
    read(entry) {
      const bytes = load(entry);
      if (bytes === null || integrityOf(bytes) === entry.integrity) return bytes;
      const what = `integrity mismatch (${entry.name} ${entry.version} is pinned to ${entry.integrity}, ${pathOf(entry)} is ${integrityOf(bytes)})`;
      throw new BullaError('PIN_CACHE_TAMPERED', `${what}. Remove the file if you know why.`);
    },
    async fetch(entry, registry, maxBytes = MAX_TARBALL) {
      createDirectory(folder);
      const draft = join(folder, `${randomBytes(12).toString('hex')}.part`);
      try {
        const found = await fetchTo(draft, entry, registry, maxBytes);
        if (found !== entry.integrity) throw mismatch(entry, found);
        const { size } = statSync(draft);
        renameSync(draft, pathOf(entry));
        return size;
      } finally {
        rmSync(draft, { force: true });
      }
    },
  };
}

/** Writes a tarball to a file that is new, and gives the integrity of what came. */
async function fetchTo(file: string, entry: Wanted, registry: Registry, maxBytes: number): Promise<string> {
  const hash = createHash('sha512');
  const body = await bodyOf(entry, registry, maxBytes);
  await pipeline(Readable.from(hashed(body, hash)), createWriteStream(file, { flags: 'wx', mode: 0o600 }));
  return `sha512-${hash.digest('base64')}`;
}

/** Fetches a tarball and keeps nothing of it. Rejects with `PIN_INTEGRITY` and the `DOWNLOAD_…` codes. */
export async function checkDownload(entry: Wanted, registry: Registry): Promise<void> {
  const hash = createHash('sha512');
  for await (const chunk of await bodyOf(entry, registry, MAX_TARBALL)) hash.update(chunk);
  const found = `sha512-${hash.digest('base64')}`;
  if (found !== entry.integrity) throw mismatch(entry, found);
}

async function bodyOf(
  entry: Wanted,
  registry: Registry,
  maxBytes: number,
): Promise<AsyncIterable<Uint8Array>> {
  const url = registry.tarballUrl(entry);
  const reply = await registry.fetcher.get(url, { maxBytes });
  if (reply.status === 200) return reply.body;
  const message = `The registry ${url.host} answered with status ${reply.status} for ${entry.name} ${entry.version}.`;
  throw new BullaError('DOWNLOAD_FAILED', message);
}

async function* hashed(
  body: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    hash.update(chunk);
    yield chunk;
  }
}

function mismatch({ name, version, integrity }: Wanted, found: string): BullaError {
  const message = `integrity mismatch (${name} ${version} is pinned to ${integrity}, the download is ${found}).`;
  return new BullaError('PIN_INTEGRITY', message);
}

/** The integrity of bytes, as registries write it. */
export function integrityOf(bytes: Uint8Array): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
}

/** A SHA-512 integrity in hex. */
export function hexOf(integrity: string): string {
  return Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
}
