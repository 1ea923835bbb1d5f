import { concat } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { checkSizes, HASH_BYTES, type NodeAt, nodeHash } from './merkle.ts';

// Tiles, https://c2sp.org/tlog-tiles: the tree as static files. A tile at level l holds up to 256 hashes, each the
// root over 256^l leaves; entry bundles hold the leaves themselves under the coordinates of level 0.

/** How many hashes a full tile has, and how many entries a full bundle. */
export const TILE_WIDTH = 256;

const TILE_HEIGHT = 8;
const MAX_LEVEL = 63;
const MAX_ENTRY_BYTES = 0xffff;

/** One tile as it is served; a width below 256 makes it a partial one. */
interface Tile {
  readonly level: number;
  readonly index: number;
  readonly width: number;
}

/** The path of a tile below the prefix of its log. Throws `LOG_TILE` for coordinates that no tile has. */
export function tilePath(level: number, index: number, width: number = TILE_WIDTH): string {
  if (!Number.isInteger(level) || level < 0 || level > MAX_LEVEL)
    throw tileError(`The level of a tile is from 0 to ${MAX_LEVEL}, not ${level}.`);
  return `tile/${level}/${indexPath(index, width)}`;
}

/** The path of a bundle of entries below the prefix of its log. Throws `LOG_TILE`. */
export function entriesPath(index: number, width: number = TILE_WIDTH): string {
  return `tile/entries/${indexPath(index, width)}`;
}

/** The index in groups of three digits, all but the last behind an x; then the width, if it is partial. */
function indexPath(index: number, width: number): string {
  if (!Number.isSafeInteger(index) || index < 0)
    throw tileError(`The index of a tile is an integer from 0 to 2^53 - 1, not ${index}.`);
  if (!Number.isInteger(width) || width < 1 || width > TILE_WIDTH)
    throw tileError(`A tile has 1 to ${TILE_WIDTH} hashes, not ${width}.`);
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g)!;
  const path = groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/');
  return width === TILE_WIDTH ? path : `${path}.p/${width}`;
}

/** Where the hash of a perfect subtree is kept: it folds from `count` hashes of a tile, the first of them `from`. */
interface NodeInTile {
  readonly level: number;
  readonly index: number;
  readonly from: number;
  readonly count: number;
}

/** The tile that holds a perfect subtree, or the hashes that it folds from. Throws `LOG_SIZE`. */
export function tileOf({ height, index }: NodeAt): NodeInTile {
  checkSizes(height, index);
  const count = 2 ** (height % TILE_HEIGHT);
  const first = index * count;
  checkSizes(first);
  return {
    level: Math.floor(height / TILE_HEIGHT),
    index: Math.floor(first / TILE_WIDTH),
    from: first % TILE_WIDTH,
    count,
  };
}

/**
 * The hash of a perfect subtree from the bytes of its tile, full or partial. Throws `LOG_TILE` when the bytes are
 * not 1 to 256 hashes, or too few to hold it. The bytes are anybody's until a root over them was checked.
 */
export function nodeFromTile(node: NodeAt, tile: Uint8Array): Uint8Array {
  const { from, count } = tileOf(node);
  const width = tile.length / HASH_BYTES;
  if (!Number.isInteger(width) || width < 1 || width > TILE_WIDTH)
    throw tileError(`A tile is 1 to ${TILE_WIDTH} hashes of ${HASH_BYTES} bytes, not ${tile.length} bytes.`);
  if (from + count > width) {
    throw tileError(`A tile of ${width} hashes does not hold those from ${from} to before ${from + count}.`);
  }
  let hashes = Array.from({ length: count }, (_, i) => hashAt(tile, from + i));
  while (hashes.length > 1) {
    hashes = Array.from({ length: hashes.length / 2 }, (_, i) =>
      nodeHash(hashes[2 * i]!, hashes[2 * i + 1]!),
    );
  }
  return hashes[0]!;
}

function hashAt(tile: Uint8Array, place: number): Uint8Array {
  return new Uint8Array(tile.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES));
}

/** How many hashes a tile has in a tree of that size; 0 when there is none. Throws `LOG_SIZE`. */
export function tileWidth(level: number, index: number, size: number): number {
  checkSizes(level, index, size);
  return Math.max(0, Math.min(TILE_WIDTH, hashesAt(level, size) - index * TILE_WIDTH));
}

/** How many hashes there are at a level: the roots over 256^level leaves each. */
function hashesAt(level: number, size: number): number {
  return Math.floor(size / TILE_WIDTH ** level);
}

/**
 * The tiles that a tree has at one size and not yet, or not of that width, at an older one. A partial tile that has
 * grown is there anew, under another path. Throws `LOG_SIZE`, also when the old tree is the larger one.
 */
export function* tilesSince(oldSize: number, size: number): Generator<Tile> {
  checkSizes(oldSize, size);
  if (oldSize > size) {
    throw new BullaError('LOG_SIZE', `A tree of ${size} leaves has not grown from one of ${oldSize}.`);
  }
  for (let level = 0; hashesAt(level, size) > 0; level++) {
    const [before, now] = [hashesAt(level, oldSize), hashesAt(level, size)];
    if (before === now) continue;
    for (let index = Math.floor(before / TILE_WIDTH); index * TILE_WIDTH < now; index++) {
      yield { level, index, width: tileWidth(level, index, size) };
    }
  }
}

/**
 * Writes a bundle of entries: each behind its length in two bytes. Throws `LOG_TILE` for none or more than 256,
 * and for one of more than 65,535 bytes.
 */
export function entryBundle(entries: readonly Uint8Array[]): Uint8Array {
  if (entries.length < 1 || entries.length > TILE_WIDTH)
    throw tileError(`A bundle has 1 to ${TILE_WIDTH} entries, not ${entries.length}.`);
  return concat(
    ...entries.flatMap((entry) => {
      if (entry.length > MAX_ENTRY_BYTES)
        throw tileError(`An entry has at most ${MAX_ENTRY_BYTES} bytes, not ${entry.length}.`);
      return [Uint8Array.of(entry.length >> 8, entry.length & 0xff), entry];
    }),
  );
}

function tileError(message: string): BullaError {
  return new BullaError('LOG_TILE', message);
}
