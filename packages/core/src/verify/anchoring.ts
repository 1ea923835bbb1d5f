import { equalBytes } from '../crypto/index.ts';
import { type Anchor, HASH_BYTES, TILE_WIDTH, tileWidth } from '../log/index.ts';

/** Where the hashes of a published tree come from. */
interface Tiles {
  /** The first `width` hashes of a tile, one behind the other. */
  tile(level: number, index: number, width: number): Promise<Uint8Array>;
}

export interface AnchorSources {
  readonly anchors: readonly Anchor[];
  /** The hashes that the log published, and up to which size; with them the first record that differs is known. */
  readonly published?: { readonly tiles: Tiles; readonly size: number } | undefined;
}

/** Compares leaves with those that were published, a tile at a time, until one differs. */
export class Comparison {
  readonly #tiles: Tiles;
  readonly #size: number;
  #leaves: (Uint8Array | null)[] = [];
  #index = 0;
  #work: Promise<number | undefined> = Promise.resolve(undefined);

  constructor({ tiles, size }: NonNullable<AnchorSources['published']>) {
    this.#tiles = tiles;
    this.#size = size;
  }

  push(leaf: Uint8Array | null): void {
    if (this.#index * TILE_WIDTH + this.#leaves.length >= this.#size) return;
    this.#leaves.push(leaf);
    if (this.#leaves.length === TILE_WIDTH) this.#compare();
  }

  async finish(): Promise<number | undefined> {
    if (this.#leaves.length > 0) this.#compare();
    return this.#work;
  }

  #compare(): void {
    const [leaves, index] = [this.#leaves, this.#index++];
    this.#leaves = [];
    this.#work = this.#work.then(async (found) => {
      if (found !== undefined) return found;
      const tile = await this.#tiles.tile(0, index, tileWidth(0, index, this.#size));
      const at = leaves.findIndex(
        (leaf, i) => leaf === null || !equalBytes(leaf, tile.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES)),
      );
      return at < 0 ? undefined : index * TILE_WIDTH + at;
    });
    // Told when it is asked for.
    this.#work.catch(() => undefined);
  }
}
