import { readHashed } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { leafData } from '@bulla/core/log';
import { exportTiles } from '../log/index.ts';
import type { Chain } from '../store/index.ts';

/**
 * Writes the log of a chain, with a checkpoint of all its records, into a folder that any static host can serve.
 * `progress` is told of how many records there are, and of how many are done. Gives the number of files that were
 * written. Throws `USAGE` for a folder without a name, and as {@link exportTiles}.
 */
export async function publishTiles(
  chain: Chain,
  dir: string,
  progress: (total: number) => (done: number) => void,
): Promise<{ origin: string; size: number; files: number }> {
  if (dir === '') throw new BullaError('USAGE', 'The name of the folder is empty.');
  const { note, size, origin } = await chain.checkpoint();
  const publication = {
    tiles: chain.tiles,
    leaves: (from: number) => leavesOf(chain, from),
    checkpoint: note,
  };
  return { origin, size, files: await exportTiles(publication, dir, progress(size)) };
}

async function* leavesOf(chain: Chain, from: number): AsyncGenerator<Uint8Array> {
  for await (const { data, hash } of chain.records(from)) yield leafData(readHashed(data, hash));
}
