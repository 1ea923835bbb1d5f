import { createHash, randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import type { TreePackage } from '@bulla/core/lock';
import { createDirectory, readFound } from '../os/index.ts';
import type { Registry } from './registry.ts';

export const MAX_TARBALL = 500 * 1024 * 1024;

type Wanted = Pick<TreePackage, 'name' | 'version' | 'integrity' | 'tarball'>;

export type Cache = ReturnType<typeof openCache>;

/** Tarballs by their SHA-512, in a folder. What is read is hashed each time: a file there proves nothing. */
export function openCache(folder: string) {
  const pathOf = ({ integrity }: Wanted) => join(folder, `${hexOf(integrity)}.tgz`);
  const load = (path: string): Buffer | null => {
    try {
      const bytes = readFound(path, MAX_TARBALL);
      if (bytes === null) throw new Error('It is too large.');
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new BullaError('PIN_INSTALL_FAILED', `${path} cannot be read.`, { cause });
    }
  };
  return {
    /** Whether there is a file, good or bad. */
    has: (entry: Wanted): boolean => existsSync(pathOf(entry)),
    /**
     * The bytes of a tarball, if they are there. Throws `PIN_CACHE_TAMPERED` when they are not what they are filed under;
     * the file is left for whoever wants to know why.
     */
    read(entry: Wanted): Buffer | null {
      const path = pathOf(entry);
      const bytes = load(path);
      if (bytes === null || integrityOf(bytes) === entry.integrity) return bytes;
      const what = `integrity mismatch (${entry.name} ${entry.version} is pinned to ${entry.integrity}, ${path} is ${integrityOf(bytes)})`;
      throw new BullaError('PIN_CACHE_TAMPERED', `${what}. Remove the file if you know why.`);
    },
    /** Fetches a tarball, keeps it and gives its size. Rejects with `PIN_INTEGRITY` and the `DOWNLOAD_…` codes. */
    async fetch(entry: Wanted, registry: Registry, maxBytes = MAX_TARBALL): Promise<number> {
      createDirectory(folder);
      const draft = join(folder, `${randomBytes(12).toString('hex')}.part`);
      try {
        await writeFile(draft, download(entry, registry, maxBytes), { flag: 'wx', mode: 0o600 });
        const { size } = statSync(draft);
        renameSync(draft, pathOf(entry));
        return size;
      } finally {
        rmSync(draft, { force: true });
      }
    },
  };
}

/** Fetches a tarball and keeps nothing of it. Rejects with `PIN_INTEGRITY` and the `DOWNLOAD_…` codes. */
export async function checkDownload(entry: Wanted, registry: Registry): Promise<void> {
  for await (const _ of download(entry, registry, MAX_TARBALL)) {
    // Hashing it is all.
  }
}

/** A tarball as it comes, whose end throws when it is not the one that is pinned. */
async function* download(entry: Wanted, registry: Registry, maxBytes: number): AsyncGenerator<Uint8Array> {
  const { name, version, integrity } = entry;
  const url = registry.tarballUrl(entry);
  const reply = await registry.fetcher.get(url, { maxBytes });
  if (reply.status !== 200) {
    const message = `The registry ${url.host} answered with status ${reply.status} for ${name} ${version}.`;
    throw new BullaError('DOWNLOAD_FAILED', message);
  }
  const hash = createHash('sha512');
  for await (const chunk of reply.body) {
    hash.update(chunk);
    yield chunk;
  }
  const found = `sha512-${hash.digest('base64')}`;
  if (found === integrity) return;
  const message = `integrity mismatch (${name} ${version} is pinned to ${integrity}, the download is ${found}).`;
  throw new BullaError('PIN_INTEGRITY', message);
}

/** The integrity of bytes, as registries write it. */
export function integrityOf(bytes: Uint8Array): string {
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
}

/** A SHA-512 integrity in hex. */
export function hexOf(integrity: string): string {
  return Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
}
