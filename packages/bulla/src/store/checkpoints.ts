import { equalBytes, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Checkpoint, Frontier, parseCheckpointBody, signCheckpoint } from '@bulla/core/log';
import type { Sealer } from './chain.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import type { Driver, StoredCheckpoint, Tip } from './driver.ts';
import { proveConsistency, rootAt, type TileSource } from './tiles.ts';
import { coveredTrunk, createSegments, isSigned, type Trunk, trustOf, vouch } from './vouch.ts';

/** A checkpoint is made after this number of records, */
const EVERY = 256;
/** this long after the first record that none covers, and when the store is closed. */
const AFTER_MS = 60_000;

/** A checkpoint on its way to witnesses. */
export interface Submission {
  readonly note: string;
  readonly size: number;
  /** The proof that the tree of this checkpoint continues the one of `oldSize`. */
  consistency(oldSize: number): Promise<readonly Uint8Array[]>;
}

/** Shows a checkpoint to witnesses; gives the note with the cosignatures that they added. */
export type Submit = (submission: Submission) => Promise<string>;

interface CheckpointerOptions {
  readonly driver: Driver;
  readonly chain: string;
  readonly file: (origin: string) => CheckpointFile;
  readonly sealer: () => Sealer | Promise<Sealer>;
  readonly submit?: Submit | undefined;
  /** Called when a checkpoint could not be made or witnessed; the next attempt covers the records. */
  readonly failed: (error: unknown) => void;
}

/** Makes the checkpoints of one chain, one after the other, behind its commits. */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  #tip: Tip | undefined;
  /** What the newest checkpoint covers. */
  #covered = 0;
  /** The newest that this process made or found. */
  #newest: StoredCheckpoint | undefined;
  /** The end up to which this process stands behind the chain: it sealed or verified all records. */
  #trunk: Trunk | undefined;
  /** What it appended since. */
  readonly #own = createSegments();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<unknown> = Promise.resolve();

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  /** How far the checkpoints of earlier processes go. */
  started(covered: number): void {
    this.#covered = Math.max(this.#covered, covered);
  }

  /** Called after each commit of this process. */
  committed(tip: Tip, before: Tip): void {
    this.#own.add({ before, after: tip });
    // Under a new name the chain has no checkpoint yet.
    if (this.#tip !== undefined && tip.origin !== this.#tip.origin) this.#covered = 0;
    this.#tip = tip;
    if (tip.length - this.#covered >= EVERY) this.#inBackground();
    else this.#timer ??= setTimeout(() => this.#inBackground(), AFTER_MS).unref();
  }

  /** Makes a checkpoint of this end of the chain, if none covers it yet, and gives the newest. */
  make(tip: Tip): Promise<StoredCheckpoint> {
    const made = this.#working.then(() => this.#make(tip));
    this.#working = made.catch(() => undefined);
    return made;
  }

  /** Covers what was committed, and stops. */
  async close(): Promise<void> {
    this.#inBackground();
    await this.#working;
    clearTimeout(this.#timer);
  }

  #inBackground(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Counted from now on, so that the next commits do not ask for the same again.
    const tip = this.#tip;
    if (tip === undefined || tip.length <= this.#covered) return;
    this.#covered = tip.length;
    this.make(tip).catch(this.#options.failed);
  }

  async #make(tip: Tip): Promise<StoredCheckpoint> {
    const { driver, chain, file, sealer, submit } = this.#options;
    const origin = tip.origin!;
    const sealing = await sealer();
    this.#newest ??= (await driver.checkpoints(chain, RECENT)).find(
      (known) => isOf(known, tip) && isSigned(known.note, known.size, trustOf(sealing)),
    );
    let note = this.#newest !== undefined && isOf(this.#newest, tip) ? this.#newest.note : undefined;
    if (note === undefined) {
      const root = Frontier.fromBytes(tip.length, tip.tree!).root();
      await this.#vouch(tip, sealing);
      note = await signCheckpoint({ origin, size: tip.length, root, extensions: [] }, [
        { name: origin, signer: sealing.signer },
      ]);
      await this.#keep({ origin, size: tip.length, note }, file(origin));
    }
    this.started(tip.length);
    const tiles = storeTiles(driver, chain);
    const submission: Submission = {
      note,
      size: tip.length,
      consistency: (oldSize) => proveConsistency(tiles, oldSize, tip.length),
    };
    const witnessed = submit === undefined ? note : await submit(submission);
    const checkpoint = { origin, size: tip.length, note: witnessed };
    if (witnessed !== note) await this.#keep(checkpoint, file(origin));
    return checkpoint;
  }

  /** Verifies what this process did not seal since the last checkpoint. */
  async #vouch(tip: Tip, sealing: Sealer): Promise<void> {
    const { driver, chain } = this.#options;
    const trust = trustOf(sealing);
    let trunk = this.#trunk;
    // A chain that was set back and recovered ends before the trunk.
    if (trunk === undefined || trunk.length > tip.length) {
      const known = await driver.checkpoints(chain, RECENT);
      trunk = await coveredTrunk(driver, chain, storeTiles(driver, chain), known, tip, trust);
    }
    await vouch(driver, chain, trunk, this.#own, tip, trust);
    this.#trunk = { length: tip.length, hash: tip.hash, tree: tip.tree! };
    this.#own.dropBefore(tip.length);
  }

  async #keep(checkpoint: StoredCheckpoint, file: CheckpointFile): Promise<void> {
    await this.#options.driver.putCheckpoint(this.#options.chain, checkpoint);
    await file.add(checkpoint.note, new Date());
    this.#newest = checkpoint;
  }
}

function isOf({ origin, size }: StoredCheckpoint, tip: Tip): boolean {
  return origin === tip.origin && size === tip.length;
}

/** How many rows to look at for the newest checkpoint: two processes may store theirs in either order. */
const RECENT = 16;

/** The longest checkpoints of an origin that are known: that of the database, and that of the file beside it. */
export async function newestKnown(
  driver: Driver,
  chain: string,
  origin: string,
  file: CheckpointFile,
): Promise<readonly Checkpoint[]> {
  const stored = (await driver.checkpoints(chain, RECENT))
    .filter((checkpoint) => checkpoint.origin === origin)
    .map(({ note }) => parseCheckpointBody(parseNote(note).text))
    .toSorted((a, b) => b.size - a.size);
  return [stored[0], file.newest()].filter((checkpoint) => checkpoint !== undefined && checkpoint !== null);
}

/** A checkpoint that the chain does not continue. */
interface Contradiction {
  readonly checkpoint: Checkpoint;
  /**
   * `STORE_BEHIND` when the chain is shorter than the checkpoint says, `STORE_FORKED` when it is not the one that
   * the checkpoint was made of: the store was set back, or records were replaced.
   */
  readonly error: BullaError;
}

/** The first of the checkpoints that the chain does not continue, or null. */
export async function contradiction(
  driver: Driver,
  chain: string,
  tip: Tip,
  known: readonly Checkpoint[],
): Promise<Contradiction | null> {
  const wayOut = `If that is meant to be so, run "bulla chain recover --chain ${chain} --reason TEXT".`;
  for (const checkpoint of known) {
    const { size, root } = checkpoint;
    if (size > tip.length) {
      const message = `The chain ${chain} has ${tip.length} records, but a checkpoint of it covers ${size}: the store was set back. ${wayOut}`;
      return { checkpoint, error: new BullaError('STORE_BEHIND', message) };
    }
    if (!equalBytes(await rootAt(storeTiles(driver, chain), size), root)) {
      const message = `The first ${size} records of the chain ${chain} are not those that a checkpoint of it covers. ${wayOut}`;
      return { checkpoint, error: new BullaError('STORE_FORKED', message) };
    }
  }
  return null;
}

/** The tree of a chain as its store keeps it. */
export function storeTiles(driver: Pick<Driver, 'hashes'>, chain: string): TileSource {
  return {
    async tile(level, index, width) {
      const hashes = await driver.hashes(chain, level, index * 256, width);
      return Buffer.concat(hashes);
    },
  };
}
