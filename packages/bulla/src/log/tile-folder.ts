import { join } from 'node:path';
import { fromUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { entriesPath, HASH_BYTES, TILE_WIDTH, tilePath } from '@bulla/core/log';
import { createFetcher, readBody, readFound } from '../os/index.ts';
import type { TileSource } from '../store/index.ts';

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
      try {
        return fromUtf8(bytes);
      } catch (error) {
        throw unreadable(place, 'checkpoint', error);
      }
    },
    async tile(level, index, width) {
      const bytes = await partial((w) => tilePath(level, index, w), width);
      if (bytes.length < width * HASH_BYTES) throw missing(tilePath(level, index, width));
      return bytes.subarray(0, width * HASH_BYTES);
    },
    entries: (index, width) => partial((w) => entriesPath(index, w), width),
  };
}

const limitOf = (path: string) => (path === 'checkpoint' ? MAX_CHECKPOINT_BYTES : MAX_BUNDLE_BYTES);

function fromFolder(folder: string): Fetch {
  return async (path) => {
    try {
      const bytes = readFound(join(folder, path), limitOf(path));
      if (bytes === null) throw new Error(`more than ${limitOf(path)} bytes`);
      return bytes;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw unreadable(folder, path, error);
    }
  };
}

/** Whoever publishes a log may redirect to public addresses, and to the place itself. */
function fromWeb(prefix: string): Fetch {
  const base = URL.parse(prefix.endsWith('/') ? prefix : `${prefix}/`);
  // It is not shown: what does not parse may hold a secret anywhere.
  if (base === null)
    throw new BullaError('TILES_UNREADABLE', 'The address of the tiles cannot be read as a URL.');
  const fetcher = createFetcher({ privateOrigins: new Set([base.origin]), totalMs: 30_000 });
  return async (path) => {
    try {
      const reply = await fetcher.get(new URL(path, base), { maxBytes: limitOf(path) });
      const bytes = await readBody(reply);
      if (reply.status === 404) return null;
      if (reply.status !== 200) throw new Error(`status ${reply.status}`);
      return new Uint8Array(bytes);
    } catch (error) {
      throw unreadable(prefix, path, error);
    }
  };
}

function unreadable(place: string, path: string, cause: unknown): BullaError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new BullaError('TILES_UNREADABLE', `${path} cannot be read from ${place} (${code ?? message}).`, {
    cause,
  });
}
