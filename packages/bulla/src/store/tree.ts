import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { Frontier, leafData, leafHash } from '@bulla/core/log';
import type { Row, Tip, TreeNode } from './driver.ts';

/** A tile has the hashes of 2^8 subtrees, so every eighth level of the tree is kept. */
const TILE_HEIGHT = 8;

/** A chain's tree with more leaves: its frontier, and the tiles that they fill. */
export function grow(
  { length, tree }: Pick<Tip, 'length' | 'tree'>,
  leaves: readonly Uint8Array[],
): { tree: Uint8Array; nodes: readonly TreeNode[] } {
  const frontier = Frontier.fromBytes(length, tree);
  const nodes: TreeNode[] = [];
  for (const leaf of leaves) {
    frontier.push(leaf, (height, index, hash) => {
      if (height % TILE_HEIGHT === 0) nodes.push({ level: height / TILE_HEIGHT, index, hash });
    });
  }
  return { tree: frontier.toBytes(), nodes };
}

/** The hash of a stored record's leaf. Throws `STORE_ADOPT` for one that has none. */
export function leafOf({ sequence, data }: Row): Uint8Array {
  const record = parse(data, { allow: ['non-finite', 'lone-surrogates'] });
  try {
    if (record instanceof JsonObject) return leafHash(leafData(record));
  } catch (cause) {
    throw new BullaError('STORE_ADOPT', `Record ${sequence} has no leaf in the tree.`, { cause });
  }
  throw new BullaError('STORE_ADOPT', `Record ${sequence} is not an object.`);
}
