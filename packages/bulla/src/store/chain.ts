import { randomUUID } from 'node:crypto';
import { type CapsuleInput, createCapsule, type SealedCapsule, signHashed } from '@bulla/core/capsule';
import { type Signer, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { environmentOf, withOrigin } from '@bulla/core/evidence';
import type { Checkpoint } from '@bulla/core/log';
import type { Keyring } from '../keys/index.ts';
import { Appender, type AppenderContext, type Draft, type SignHashed } from './appender.ts';
import type { checkpointFolder } from './checkpoint-file.ts';
import { Checkpointer, contradiction, newestKnown, storeTiles } from './checkpoints.ts';
import type { Driver, Effect, Head, Row, StoredCheckpoint, Tip } from './driver.ts';
import { countOpen, type Lease, MarkedError, type OpenIntent, orphansOf } from './leases.ts';
import type { Opening } from './openings.ts';
import { adoptedOrigin, nextOrigin, originOf } from './origin.ts';
import type { StoreOptions } from './store.ts';
import type { TileSource } from './tiles.ts';
import { grow, leafOf } from './tree.ts';

/** The keys that seal, from one consistent look at the keyring. */
export interface Sealer {
  readonly signer: Signer;
  readonly pqSigner?: Signer | undefined;
  /**
   * Whose records a checkpoint may be signed over, besides those that this process sealed. Default: only those that
   * the same key signed.
   */
  readonly keyring?: Keyring | undefined;
}

interface AppendOptions {
  /** The id of the new capsule; a fresh UUID if it is not given. */
  readonly id?: string;
  /** What opens the commitments in it; stored beside it, where it can be erased. */
  readonly openings?: readonly Opening[];
  readonly effect?: Effect | undefined;
  /** An intent: it stands under the lease of this process until an outcome closes it. */
  readonly opens?: boolean | undefined;
  /**
   * The place of the intent whose outcome it is. Rejects with a `MarkedError` where that was marked as one of a process
   * that ended, and with `RECORD_ENDED` where it has an outcome.
   */
  readonly closes?: number | undefined;
  /** It may wait up to 20 ms to share the commit of others. Default false. */
  readonly lazy?: boolean | undefined;
  /** Refuse content that another implementation would hash differently. Default: as the store has it for intents. */
  readonly strictInterop?: boolean;
}

/** One chain of one tenant. */
export interface Chain {
  readonly name: string;
  /** The process, as its lease and its open intents name it. */
  readonly instance: string;
  /**
   * Seals a capsule behind the head and stores it; resolves when it is durable. Rejects with `CAPSULE_LINT` for a
   * capsule that must not be sealed, and with `STORE_…`; `STORE_UNCERTAIN` alone leaves open whether it is stored.
   */
  append(input: CapsuleInput, options?: AppendOptions): Promise<SealedCapsule>;
  /**
   * Stores records that were sealed elsewhere, exactly as they are, behind a head that they continue. The caller has
   * verified them. Rejects with `STORE_ADOPT`, and with `STORE_FOREIGN` for the chain of another log.
   */
  adopt(rows: readonly Row[]): Promise<void>;
  head(): Promise<Head>;
  /** The name under which the chain's checkpoints are signed; null before the first record. */
  origin(): Promise<string | null>;
  /**
   * Makes a checkpoint of the chain as it is, shows it to the witnesses, and gives it; the newest if it covers all.
   * Rejects with `CHAIN_EMPTY` for a chain without records, and as `append` does.
   */
  checkpoint(): Promise<StoredCheckpoint>;
  /** The checkpoints that the store has, the newest first. */
  checkpoints(limit?: number): Promise<readonly StoredCheckpoint[]>;
  /** Those that the file outside the database has, as they were signed. */
  fileCheckpoints(): Promise<readonly string[]>;
  /** The tree of the chain. */
  readonly tiles: TileSource;
  /**
   * Lets a chain go on that is behind its checkpoints or not the one that they cover, under another origin, and
   * records that as a capsule. Rejects with `STORE_NOT_BEHIND` when there is nothing to recover from.
   */
  recover(reason: string): Promise<SealedCapsule>;
  /** Open intents whose process holds no lease any more, the oldest first. */
  orphans(limit?: number): Promise<readonly OpenIntent[]>;
  /** How many intents have neither an outcome nor a mark. */
  openIntents(): Promise<number>;
  /** The records from `from` on, in order, page by page; `page` records are read at a time. */
  records(from?: number, page?: number): AsyncGenerator<Row>;
}

const CHAIN_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;

const PAGE = 500;

/** What the chains of a store share. */
interface ChainContext {
  readonly driver: Driver;
  readonly lease: Lease;
  readonly folder: ReturnType<typeof checkpointFolder>;
  readonly options: StoreOptions & { readonly tenant: string | null };
}

/** Opens a chain. Throws `STORE_NAME`. */
export function openChain(
  name: string,
  { driver, lease, folder, options }: ChainContext,
): Chain & { close(): Promise<void> } {
  if (!CHAIN_NAME.test(name)) {
    throw new BullaError('STORE_NAME', 'A chain is named by letters, digits, dots, hyphens and underscores.');
  }
  const { specVersion = false } = options;
  const sealer = async (): Promise<Sealer> => {
    if (options.sealer === undefined)
      throw new BullaError('STORE_NO_KEY', 'The store was opened without a key to seal with.');
    return options.sealer();
  };
  const checkpointer = new Checkpointer({
    driver,
    chain: name,
    file: folder.of,
    sealer,
    submit: options.submit,
    failed: options.onCheckpointError ?? warnOfCheckpoint,
  });
  const newOrigin = () => originOf(options.operator ?? folder.operator(), options.tenant, name);
  const newest = (origin: string) => newestKnown(driver, name, origin, folder.of(origin));

  /** The end of the chain with its origin, made if there is none yet. */
  const rooted = (tip: Tip, claimed?: string): Tip & { readonly origin: string } => ({
    ...tip,
    origin: tip.origin ?? claimed ?? newOrigin(),
  });
  const appending: AppenderContext = {
    async beginSigning(): Promise<SignHashed> {
      // Before the key is looked at, so that a key that ends now signs nothing later than its end.
      const signedAt = new Date();
      const { signer, pqSigner } = await sealer();
      return (hashed) => signHashed(hashed, signer, { signedAt, pqSigner });
    },
    async admit(tip, locked, claimed) {
      const { origin } = rooted(tip, claimed);
      const known = await newest(origin);
      // Others append and make checkpoints meanwhile: only an end that is read after them must not be behind them.
      const end = locked ? { ...tip, origin } : rooted(await driver.tip(name), claimed);
      if (end.origin !== origin) return appending.admit(end, locked);
      const found = await contradiction(driver, name, end, known);
      if (found !== null) throw found.error;
      checkpointer.started(known.reduce((most, { size }) => Math.max(most, size), 0));
      return end;
    },
    committed: (tip, before) => checkpointer.committed(tip, before),
  };
  const appender = new Appender(driver, name, appending);

  return {
    name,
    instance: lease.instance,
    async append(input, { id = randomUUID(), ...given } = {}) {
      const { openings = [], effect, strictInterop, opens = false, closes, lazy } = given;
      const capsule = createCapsule(input, { id, now: new Date(), specVersion });
      const isIntent = capsule.outcome.status === 'pending';
      const taking = opens ? lease.taking() : null;
      const stored = appender.append({
        strictInterop: strictInterop ?? (isIntent && options.strictInterop),
        at({ length, hash }, origin) {
          const placed = { ...capsule, sequence: length, previous_hash: hash };
          return length === 0 ? withOrigin(placed, origin) : placed;
        },
        effect: taking === null ? effect : both(taking.effect, effect),
        opens: opens ? lease.instance : undefined,
        ...{ openings, closes, lazy },
      });
      try {
        const sealed = await stored;
        taking?.taken();
        if (opens) lease.opened();
        if (closes !== undefined) lease.closed();
        return sealed;
      } catch (error) {
        if (error instanceof MarkedError) lease.closed();
        throw error;
      }
    },
    async adopt(rows) {
      if (rows.length === 0) return;
      const claimed = await adoptedOrigin(driver, rows, name, newOrigin);
      const admitted = await appending.admit(await driver.tip(name), false, claimed);
      const origin = claimed ?? admitted.origin;
      let end: Tip | undefined;
      let before: Tip | undefined;
      await driver.appendLocked(name, async (tip) => {
        before = tip;
        if (rows[0]!.sequence !== tip.length) {
          throw new BullaError(
            'STORE_ADOPT',
            `The records begin at ${rows[0]!.sequence}, but the chain has ${tip.length}.`,
          );
        }
        const added = rows.map((row) => ({ ...row, leaf: leafOf(row) }));
        const grown = grow(
          tip,
          added.map(({ leaf }) => leaf),
        );
        const last = rows.at(-1)!;
        end = { length: last.sequence + 1, hash: last.hash, tree: grown.tree, origin };
        return { rows: added, origin, ...grown };
      });
      if (options.sealer !== undefined) checkpointer.committed(end!, before!);
    },
    async head() {
      const { length, hash } = await driver.tip(name);
      return { length, hash };
    },
    origin: async () => (await driver.tip(name)).origin,
    async checkpoint() {
      await appender.idle();
      const tip = await driver.tip(name);
      if (tip.length === 0)
        throw new BullaError('CHAIN_EMPTY', `The chain ${name} has no records to make a checkpoint of.`);
      return checkpointer.make(await appending.admit(tip, false));
    },
    checkpoints: (limit = 1000) => driver.checkpoints(name, limit),
    async fileCheckpoints() {
      const { origin } = await driver.tip(name);
      return origin === null ? [] : folder.of(origin).recent();
    },
    tiles: storeTiles(driver, name),
    async recover(reason) {
      const { origin: oldOrigin } = rooted(await driver.tip(name));
      const known = await newest(oldOrigin);
      const tip = rooted(await driver.tip(name));
      const found = await contradiction(driver, name, tip, tip.origin === oldOrigin ? known : []);
      if (found === null) {
        throw new BullaError(
          'STORE_NOT_BEHIND',
          `The chain ${name} continues its checkpoints; nothing is amiss.`,
        );
      }
      const origin = nextOrigin(tip.origin);
      const recovering = new Appender(driver, name, {
        ...appending,
        admit: async (end) => ({
          ...rooted(end),
          ...(end.length === 0 && { origin }),
        }),
      });
      return recovering.append(recoveryDraft(tip, found.checkpoint, reason, specVersion));
    },
    orphans: (limit = PAGE) => orphansOf(driver, name, lease.instance, limit),
    openIntents: () => countOpen(driver.reading, name),
    async *records(from = 0, page = PAGE) {
      for (let next = from; ; ) {
        const rows = await driver.read(name, next, page);
        yield* rows;
        if (rows.length < page) return;
        next = rows.at(-1)!.sequence + 1;
      }
    },
    async close() {
      await appender.idle();
      await checkpointer.close();
    },
  };
}

function both(first: Effect, second: Effect | undefined): Effect {
  return async (transaction) => {
    await first(transaction);
    await second?.(transaction);
  };
}

function warnOfCheckpoint(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(`A checkpoint could not be made: ${message}`, { code: 'CHECKPOINT_FAILED' });
}

/** The record that says that a chain goes on although records are missing or were replaced, and why. */
function recoveryDraft(
  tip: Tip & { readonly origin: string },
  known: Checkpoint,
  reason: string,
  specVersion: boolean,
): Draft {
  const origin = nextOrigin(tip.origin);
  const recovered = { origin: tip.origin, size: known.size, root: toHex(known.root), length: tip.length };
  const content = createCapsule(
    {
      type: 'system',
      domain: 'system',
      trigger: { type: 'system', source: 'bulla', request: 'chain recover' },
      context: { agent_id: 'bulla', environment: environmentOf({ origin, recovered }) },
      outcome: { status: 'success', summary: reason },
    },
    { id: randomUUID(), now: new Date(), specVersion },
  );
  return {
    at: ({ length, hash }) => ({ ...content, sequence: length, previous_hash: hash }),
    origin,
  };
}
