import { homedir } from 'node:os';
import { join } from 'node:path';
import { chainLink, readHashed } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { dataDirectory } from '../os/index.ts';
import { type Chain, openChain, type Sealer } from './chain.ts';
import { checkpointFolder } from './checkpoint-file.ts';
import type { Submit } from './checkpoints.ts';
import type { Driver, Found, Head, Query, Reading, Transaction } from './driver.ts';
import { catchUp, indexEntry } from './indexer.ts';
import { assertNotKilled, type StandingKill, standingKills } from './kills.ts';
import { Lease } from './leases.ts';
import { eraseOpenings, type FoundOpening, findOpening } from './openings.ts';
import { matchesQuery } from './query.ts';
import { parseStoreUrl } from './store-url.ts';

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
  /** Called when a checkpoint could not be made or witnessed. Default: a process warning. */
  readonly onCheckpointError?: (error: unknown) => void;
  /** Called when the lease under which calls are recorded could not be renewed. Default: a process warning. */
  readonly onLeaseError?: (error: unknown) => void;
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
  readonly reading: Reading;
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

/**
 * Opens a store. Throws `STORE_MISSING` unless it is there or `create` is set, `STORE_NAME` for an empty tenant,
 * `STORE_URL`, and the codes of the database.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { tenant = null } = options;
  if (tenant === '' || tenant?.includes('\0') || tenant?.isWellFormed() === false)
    throw new BullaError('STORE_NAME', 'A tenant is null, or a text without NUL and half characters.');
  return createStore(await openDriver({ ...options, tenant }), { ...options, tenant });
}

async function openDriver(options: StoreOptions & { tenant: string | null }): Promise<Driver> {
  const { tenant, create = false, readOnly = false } = options;
  const address = parseStoreUrl(options.url);
  if (address.kind === 'postgres')
    return (await import('./postgres.ts')).openPostgres(address.url, { tenant, create, readOnly });
  return (await import('./sqlite.ts')).openSqlite(address.file, { tenant, create, readOnly });
}

/** The store over a driver; apart from `openStore` for tests that break the driver. */
export function createStore(driver: Driver, options: StoreOptions & { tenant: string | null }): Store {
  const folder = checkpointFolder(options.checkpoints ?? defaultFolder(options.url));
  const chains = new Map<string, ReturnType<typeof openChain>>();
  const lease = new Lease(driver, { onError: options.onLeaseError ?? warnOfLease });

  const index = async (only?: string) => {
    let added = 0;
    for (const { name, head, indexed } of await driver.chains()) {
      if (indexed < head.length && (only === undefined || name === only))
        added += await catchUp(driver, name);
    }
    return added;
  };

  return {
    tenant: options.tenant,
    copied: driver.copied ?? null,
    chain(name) {
      const chain = chains.get(name) ?? openChain(name, { driver, lease, folder, options });
      chains.set(name, chain);
      return chain;
    },
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
      await lease.release();
      await driver.close();
    },
  };
}

function warnOfLease(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(`The lease of this process could not be renewed: ${message}`, { code: 'LEASE_FAILED' });
}

function defaultFolder(url: string): string {
  const address = parseStoreUrl(url);
  if (address.kind === 'sqlite') return `${address.file}.checkpoints`;
  const data = dataDirectory(process.env, process.platform, homedir());
  return join(data, 'checkpoints', encodeURIComponent(address.database));
}

function isIntact(found: Found, query: Query): boolean {
  try {
    const { sequence } = chainLink(readHashed(found.data, found.hash));
    return sequence === found.sequence && matchesQuery(indexEntry(found), query);
  } catch (error) {
    if (error instanceof BullaError) return false;
    throw error;
  }
}
