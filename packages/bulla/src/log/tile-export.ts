import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { equalBytes, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  entriesPath,
  entryBundle,
  parseCheckpointBody,
  TILE_WIDTH,
  tilePath,
  tilesSince,
} from '@bulla/core/log';
import { fileError, makeDirectories } from '../os/index.ts';
import { rootAt, type TileSource } from '../store/index.ts';
import { openPublished } from './tile-folder.ts';

/** What is published: the tree of a chain and its leaves, up to a checkpoint. */
interface Publication {
  readonly tiles: TileSource;
  /** The leaves from `from` on, in order. */
  leaves(from: number): AsyncIterable<Uint8Array>;
  /** The signed note. */
  readonly checkpoint: string;
}

/**
 * Writes a log into a folder in the layout of tlog-tiles, so that any static host can serve it; what is there
 * already is not written again. The checkpoint comes last, so that nobody sees one whose tiles are missing. Gives the
 * number of files that were written. Throws `TILES_DIFFER` when the folder holds another log, or records that this
 * chain does not have, and `TILES_UNWRITABLE`.
 */
export async function exportTiles(
  { tiles, leaves, checkpoint }: Publication,
  folder: string,
  progress?: (done: number) => void,
): Promise<number> {
  const { origin, size } = parseCheckpointBody(parseNote(checkpoint).text);
  const oldSize = await publishedSize(folder, origin, size, tiles);
  let written = 0;
  const write = async (path: string, bytes: Uint8Array | string) => {
    await writeWhole(folder, path, bytes);
    written++;
  };
  for (const { level, index, width } of tilesSince(oldSize, size))
    await write(tilePath(level, index, width), await tiles.tile(level, index, width));
  const from = oldSize - (oldSize % TILE_WIDTH);
  let bundle: Uint8Array[] = [];
  let next = from;
  const flush = async () => {
    if (bundle.length === 0) return;
    await write(entriesPath(Math.floor((next - 1) / TILE_WIDTH), bundle.length), entryBundle(bundle));
    bundle = [];
    progress?.(next);
  };
  if (oldSize < size) {
    for await (const leaf of leaves(from)) {
      if (next === size) break;
      bundle.push(leaf);
      next++;
      if (bundle.length === TILE_WIDTH) await flush();
    }
    await flush();
  }
  await write('checkpoint', checkpoint);
  return written;
}

/** How much of the log the folder holds already. */
async function publishedSize(
  folder: string,
  origin: string,
  size: number,
  tiles: TileSource,
): Promise<number> {
  if (!existsSync(join(folder, 'checkpoint'))) return 0;
  const old = parseCheckpointBody(parseNote(await openPublished(folder).checkpoint()).text);
  if (old.origin !== origin)
    throw new BullaError('TILES_DIFFER', `${folder} holds the log ${old.origin}, not ${origin}.`);
  if (old.size > size || !equalBytes(await rootAt(tiles, old.size), old.root)) {
    throw new BullaError(
      'TILES_DIFFER',
      `${folder} holds a checkpoint of ${old.size} records that this chain does not continue.`,
    );
  }
  return old.size;
}

/** Under another name first, so that nobody reads half a file. */
async function writeWhole(folder: string, path: string, bytes: Uint8Array | string): Promise<void> {
  const target = join(folder, path);
  const draft = `${target}.${process.pid}.tmp`;
  try {
    // For everybody to read, and for its owner to write, whatever the umask.
    makeDirectories(dirname(target), 0o755);
    const file = await open(draft, 'w', 0o644);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, target);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw fileError('TILES_UNWRITABLE', target, 'written', cause);
  }
}
