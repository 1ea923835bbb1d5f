import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { entriesPath, HASH_BYTES, TILE_WIDTH, tilePath } from '@bulla/core/log';
import type { TileSource } from './tiles.ts';

/** A log as it was published: the tree, the leaves themselves, and the newest checkpoint. */
export interface PublishedLog extends TileSource {
  /** The signed note. Throws `TILES_UNREADABLE`. */
  checkpoint(): Promise<string>;
  /** A bundle of entries. */
  entries(index: number, width: number): Promise<Uint8Array>;
}

/** Fetches a file below the prefix of a log; null when there is none. */
type Fetch = (path: string) => Promise<Uint8Array | null>;

const MAX_CHECKPOINT_BYTES = 1 << 20;
const MAX_BUNDLE_BYTES = TILE_WIDTH * (2 + 0xffff);

/**
 * Opens a log that lies in a folder, or behind an address with http or https, in the layout of tlog-tiles. Nothing
 * that it gives is verified yet. Its methods reject with `TILES_UNREADABLE` for what is missing or of the wrong size.
 */
export function openPublished(place: string): PublishedLog {
  const fetchFile = /^https?:\/\//.test(place) ? fromWeb(place) : fromFolder(place);
  const missing = (path: string) =>
    new BullaError('TILES_UNREADABLE', `${place} has no ${path} that can be read.`);
  /** A partial tile may be gone once the full one is there. */
  const partial = async (path: (width?: number) => string, width: number) => {
    const found = await fetchFile(path(width));
    if (found !== null) return found;
    const full = width < TILE_WIDTH ? await fetchFile(path()) : null;
    if (full === null) throw missing(path(width));
    return full;
  };
  return {
    async checkpoint() {
      const bytes = await fetchFile('checkpoint');
      if (bytes === null) throw missing('checkpoint');
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    },
    async tile(level, index, width) {
      const bytes = await partial((w) => tilePath(level, index, w), width);
      if (bytes.length < width * HASH_BYTES) throw missing(tilePath(level, index, width));
      return bytes.subarray(0, width * HASH_BYTES);
    },
    entries: (index, width) => partial((w) => entriesPath(index, w), width),
  };
}

function fromFolder(folder: string): Fetch {
  return async (path) => {
    try {
      return new Uint8Array(await readFile(join(folder, path)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw unreadable(folder, path, error);
    }
  };
}

function fromWeb(prefix: string): Fetch {
  const base = prefix.endsWith('/') ? prefix : `${prefix}/`;
  return async (path) => {
    const limit = path === 'checkpoint' ? MAX_CHECKPOINT_BYTES : MAX_BUNDLE_BYTES;
    try {
      const response = await fetch(new URL(path, base), { signal: AbortSignal.timeout(30_000) });
      if (response.status === 404) return null;
      if (!response.ok) throw new Error(`status ${response.status}`);
      return await limited(response, limit);
    } catch (error) {
      throw unreadable(prefix, path, error);
    }
  };
}

async function limited(response: Response, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of response.body ?? []) {
    total += part.length;
    if (total > limit) throw new Error(`more than ${limit} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function unreadable(place: string, path: string, cause: unknown): BullaError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new BullaError('TILES_UNREADABLE', `${path} cannot be read from ${place} (${code ?? message}).`, {
    cause,
  });
}
