import { equalBytes } from '../crypto/index.ts';
import {
  type Anchor,
  type AnchorReport,
  coveredBefore,
  createAnchorVerifier,
  HASH_BYTES,
  TILE_WIDTH,
  tileWidth,
} from '../log/index.ts';

/** Where the hashes of a published tree come from. */
interface Tiles {
  /** The first `width` hashes of a tile, one behind the other. */
  tile(level: number, index: number, width: number): Promise<Uint8Array>;
}

/** What a chain is compared with. */
export interface AnchorSources {
  readonly anchors: readonly Anchor[];
  /** The hashes that the log published, and up to which size; with them the first record that differs is known. */
  readonly published?: { readonly tiles: Tiles; readonly size: number } | undefined;
}

/** Compares a chain with its checkpoints while it is read. */
export class Anchoring {
  readonly #verifier: ReturnType<typeof createAnchorVerifier>;
  readonly #anchors: readonly Anchor[];
  readonly #comparison: Comparison | undefined;
  readonly #covered = new Map<number, number>();

  constructor({ anchors, published }: AnchorSources, origin: string | undefined) {
    this.#anchors = anchors;
    this.#verifier = createAnchorVerifier(anchors, origin);
    this.#comparison = published && new Comparison(published.tiles, published.size);
  }

  push(leaf: Uint8Array | null): void {
    this.#verifier.push(leaf);
    this.#comparison?.push(leaf);
  }

  /** Whether a quorum of witnesses saw the record at this place before the moment. */
  seenBefore(index: number, seconds: number): boolean {
    let covered = this.#covered.get(seconds);
    if (covered === undefined) {
      covered = coveredBefore(this.#anchors, seconds);
      this.#covered.set(seconds, covered);
    }
    return index < covered;
  }

  async finish(): Promise<AnchorReport> {
    return this.#verifier.finish(await this.#comparison?.finish());
  }
}

/** Compares leaves with those that were published, a tile at a time, until one differs. */
class Comparison {
  readonly #tiles: Tiles;
  readonly #size: number;
  #leaves: (Uint8Array | null)[] = [];
  #index = 0;
  #work: Promise<number | undefined> = Promise.resolve(undefined);

  constructor(tiles: Tiles, size: number) {
    this.#tiles = tiles;
    this.#size = size;
  }

  push(leaf: Uint8Array | null): void {
    if (this.#index * TILE_WIDTH + this.#leaves.length >= this.#size) return;
    this.#leaves.push(leaf);
    if (this.#leaves.length === TILE_WIDTH) this.#compare();
  }

  /** The first place where they differ. */
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
