import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  type CapsuleInput,
  chainLink,
  createCapsule,
  readHashed,
  type SealedCapsule,
  signHashed,
} from '@bulla/core/capsule';
import type { Signer } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { withOrigin } from '@bulla/core/evidence';
import type { Keyring } from '../keys/index.ts';
import { dataDirectory } from '../os/index.ts';
import { adoptedOrigin } from './adopted.ts';
import { Appender, type AppenderContext, type SignHashed } from './appender.ts';
import { checkpointFolder } from './checkpoint-file.ts';
import { Checkpointer, contradiction, newestKnown, type Submit, storeTiles } from './checkpoints.ts';
import type {
  Driver,
  Effect,
  Found,
  Head,
  Query,
  Row,
  StoredCheckpoint,
  Tip,
  Transaction,
} from './driver.ts';
import { catchUp, indexEntry } from './indexer.ts';
import { assertNotKilled, type StandingKill, standingKills } from './kills.ts';
import { eraseOpenings, type FoundOpening, findOpening, type Opening } from './openings.ts';
import { originOf } from './origin.ts';
import { isAskedFor } from './query.ts';
import { nextOrigin, recoveryDraft } from './recover.ts';
import { parseStoreUrl } from './store-url.ts';
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

export interface StoreOptions {
  /** A file name, or `postgres://…`. */
  readonly url: string;
  /** Whose chains these are. Null is a tenant of its own, not "any". Default null. */
  readonly tenant?: string | null;
  /** Make the store if it is not there. Default false. */
  readonly create?: boolean;
  readonly readOnly?: boolean;
  /** Asked before each commit, so that a rotated key is used from then on. Without it nothing can be appended. */
  readonly sealer?: () => Sealer | Promise<Sealer>;
  /** Write the 13-key form. Default false. */
  readonly specVersion?: boolean;
  /**
   * Refuse an intent (status `pending`) that another implementation would hash differently, so that the action is not
   * begun. What records an action that ran is sealed all the same. Default false.
   */
  readonly strictInterop?: boolean | undefined;
  /**
   * A folder outside the database that keeps the checkpoints too. Default: beside the file, with `.checkpoints`
   * behind its name; for PostgreSQL a folder of the database in `checkpoints` in the data directory.
   */
  readonly checkpoints?: string;
  /** The first part of the names of new chains' logs, such as `example.com/agents`. Default: one chosen at random. */
  readonly operator?: string | undefined;
  /** Shows each checkpoint to witnesses. */
  readonly submit?: Submit | undefined;
  /** Told when a checkpoint could not be made or witnessed. Default: a process warning. */
  readonly onCheckpointError?: (error: unknown) => void;
}

interface AppendOptions {
  /** The id of the new capsule; a fresh UUID if it is not given. */
  readonly id?: string;
  /** What opens the commitments in it; stored beside it, where it can be erased. */
  readonly openings?: readonly Opening[];
  readonly effect?: Effect;
  /** Refuse content that another implementation would hash differently. Default: as the store has it for intents. */
  readonly strictInterop?: boolean;
}

/** One chain of one tenant. */
export interface Chain {
  readonly name: string;
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
  keptOutside(): Promise<readonly string[]>;
  /** The tree of the chain. */
  readonly tiles: TileSource;
  /**
   * Lets a chain go on that is behind its checkpoints or not the one that they cover, under another origin, and
   * records that as a capsule. Rejects with `STORE_NOT_BEHIND` when there is nothing to recover from.
   */
  recover(reason: string): Promise<SealedCapsule>;
  /** The records from `from` on, in order, page by page. */
  records(from?: number): AsyncGenerator<Row>;
}

/** A record that a query found. */
export interface FoundRecord extends Found {
  /** Whether its content has the hash and the place that it was stored with, and says what was asked for. */
  readonly intact: boolean;
}

/** A database, opened for one tenant. */
export interface Store {
  readonly tenant: string | null;
  /** What is read instead of the file that was named, where that cannot be opened as it is; null for the file. */
  readonly copied: string | null;
  chain(name: string): Chain;
  chains(): Promise<readonly { name: string; head: Head; indexed: number }[]>;
  /**
   * Finds records, newest first; the search tables are brought up to date before. One that was changed in the store, or
   * that they name falsely, is not `intact`: it must not be shown, proved or served under its hash.
   */
  find(query: Query): Promise<readonly FoundRecord[]>;
  /** Fills the search tables anew from the chains; how many records there are. */
  reindex(): Promise<number>;
  /** The kill switches that stand. */
  kills(): Promise<readonly StandingKill[]>;
  /** Throws `KILLED` while a kill switch stands for this agent or for all. */
  assertMayAct(agentId: string): Promise<void>;
  /** Reads the tables that effects write. */
  readonly reading: Driver['reading'];
  /** Unix time in milliseconds by the database's own clock, which is the same for every process that uses it. */
  time(): Promise<number>;
  /** Changes the tables that effects write, where no record goes with it. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** What opens a commitment of a record; null where there is nothing, or nothing any more. */
  opening(commitment: string): Promise<FoundOpening | null>;
  /** Erases what opens the commitments of a capsule, and the same commitments in others; how many there were. */
  eraseOpenings(capsuleId: string): Promise<number>;
  /** Waits for what is under way, and closes; `await using` calls it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const CHAIN_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;

/**
 * Opens a store. Throws `STORE_MISSING` unless it is there or `create` is set, `STORE_NAME` for an empty tenant,
 * `STORE_URL`, and the codes of the database.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { tenant = null } = options;
  if (tenant === '') throw new BullaError('STORE_NAME', 'A tenant has a name, or is null.');
  if (tenant?.includes('\0') || tenant?.isWellFormed() === false)
    throw new BullaError('STORE_NAME', 'The name of a tenant has no NUL and no half of a character.');
  return createStore(await openDriver({ ...options, tenant }), { ...options, tenant });
}

async function openDriver(options: StoreOptions & { tenant: string | null }): Promise<Driver> {
  const { tenant, create = false, readOnly = false } = options;
  const place = parseStoreUrl(options.url);
  if (place.kind === 'postgres')
    return (await import('./postgres.ts')).openPostgres(place.url, { tenant, create, readOnly });
  return (await import('./sqlite.ts')).openSqlite(place.file, { tenant, create, readOnly });
}

/** The store over a driver; apart from `openStore` for tests that break the driver. */
export function createStore(driver: Driver, options: StoreOptions & { tenant: string | null }): Store {
  const context = storeContext(driver, options);
  const chains = new Map<string, Chain & { close(): Promise<void> }>();
  const chain = (name: string) => {
    let found = chains.get(name);
    if (found === undefined) {
      found = chainOf(name, context);
      chains.set(name, found);
    }
    return found;
  };

  const index = async (only?: string) => {
    let added = 0;
    for (const { name, head, indexed } of await driver.chains()) {
      if (indexed < head.length && (only === undefined || name === only))
        added += await catchUp(driver, name, warnOfRecord);
    }
    return added;
  };

  return {
    tenant: options.tenant,
    copied: driver.copied ?? null,
    chain,
    chains: () => driver.chains(),
    async find(query) {
      await index(query.chain);
      const found = await driver.find(query);
      return found.map((one) => ({ ...one, intact: isIntact(one, query) }));
    },
    async reindex() {
      await driver.dropIndex();
      return index();
    },
    kills: () => standingKills(driver.reading),
    assertMayAct: (agentId) => assertNotKilled(driver.reading, agentId),
    reading: driver.reading,
    time: () => driver.time(),
    transaction: (work) => driver.transaction(work),
    async opening(commitment) {
      await index();
      return findOpening(driver.reading, commitment);
    },
    async eraseOpenings(capsuleId) {
      await index();
      return eraseOpenings(driver, capsuleId);
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
    async close() {
      await Promise.all([...chains.values()].map((one) => one.close()));
      await driver.close();
    },
  };
}

/** What the chains of a store share. */
interface StoreContext {
  readonly driver: Driver;
  readonly options: StoreOptions & { tenant: string | null };
  readonly folder: ReturnType<typeof checkpointFolder>;
  sealer(): Promise<Sealer>;
}

function storeContext(driver: Driver, options: StoreOptions & { tenant: string | null }): StoreContext {
  return {
    driver,
    options,
    folder: checkpointFolder(options.checkpoints ?? defaultFolder(options.url)),
    async sealer() {
      if (options.sealer === undefined)
        throw new BullaError('STORE_NO_KEY', 'The store was opened without a key to seal with.');
      return options.sealer();
    },
  };
}

function defaultFolder(url: string): string {
  const place = parseStoreUrl(url);
  if (place.kind === 'sqlite') return `${place.file}.checkpoints`;
  const data = dataDirectory(process.env, process.platform, homedir());
  return join(data, 'checkpoints', encodeURIComponent(place.database));
}

function warnOfCheckpoint(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(`A checkpoint could not be made: ${message}`, { code: 'CHECKPOINT_FAILED' });
}

function warnOfRecord(chain: string, sequence: number, { code }: BullaError): void {
  process.emitWarning(`Record ${sequence} of the chain ${chain} can be found by its hash only (${code}).`, {
    code: 'STORE_UNSEARCHABLE',
  });
}

function isIntact(found: Found, query: Query): boolean {
  try {
    const { sequence } = chainLink(readHashed(found.data, found.hash));
    return sequence === found.sequence && isAskedFor(indexEntry(found), query);
  } catch (error) {
    if (error instanceof BullaError) return false;
    throw error;
  }
}

const PAGE = 500;

function chainOf(name: string, store: StoreContext): Chain & { close(): Promise<void> } {
  if (!CHAIN_NAME.test(name)) {
    throw new BullaError('STORE_NAME', 'A chain is named by letters, digits, dots, hyphens and underscores.');
  }
  const { driver, folder, options } = store;
  const { specVersion = false } = options;
  const checkpointer = new Checkpointer({
    driver,
    chain: name,
    file: folder.of,
    sealer: store.sealer,
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
      const { signer, pqSigner } = await store.sealer();
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
    append(input, { id = randomUUID(), openings = [], effect, strictInterop } = {}) {
      const capsule = createCapsule(input, { id, now: new Date(), specVersion });
      const isIntent = capsule.outcome.status === 'pending';
      return appender.append({
        strictInterop: strictInterop ?? (isIntent && options.strictInterop),
        at({ length, hash }, origin) {
          const placed = { ...capsule, sequence: length, previous_hash: hash };
          return length === 0 ? withOrigin(placed, origin) : placed;
        },
        openings,
        effect,
      });
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
    async keptOutside() {
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
    async *records(from = 0) {
      for (let next = from; ; ) {
        const rows = await driver.read(name, next, PAGE);
        yield* rows;
        if (rows.length < PAGE) return;
        next = rows.at(-1)!.sequence + 1;
      }
    },
    async close() {
      await appender.idle();
      await checkpointer.close();
    },
  };
}
