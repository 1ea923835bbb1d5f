import { randomUUID } from 'node:crypto';
import { type CapsuleInput, createCapsule, type SealedCapsule, signHashed } from '@bulla/core/capsule';
import type { Signer } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { Appender, type SignHashed } from './appender.ts';
import type { Driver, Effect, Found, Head, Opening, Query, Row, StandingKill } from './driver.ts';
import { catchUp } from './indexer.ts';

/** The keys that seal, from one consistent look at the keyring. */
export interface Sealer {
  readonly signer: Signer;
  readonly pqSigner?: Signer | undefined;
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
}

export interface AppendOptions {
  /** The id of the new capsule; a fresh UUID if it is not given. */
  readonly id?: string;
  readonly effect?: Effect;
}

/** One chain of one tenant. */
export interface Chain {
  readonly name: string;
  /**
   * Seals a capsule behind the head and stores it; resolves when it is durable. Rejects with `CAPSULE_LINT` for a
   * capsule that must not be sealed, and with `STORE_…`; `STORE_UNCERTAIN` alone leaves open whether it is stored.
   */
  append(input: CapsuleInput, options?: AppendOptions): Promise<SealedCapsule>;
  /** Stores records that were sealed elsewhere, exactly as they are, behind a head that they continue. */
  adopt(rows: readonly Row[]): Promise<void>;
  head(): Promise<Head>;
  /** The records from `from` on, in order, page by page. */
  records(from?: number): AsyncGenerator<Row>;
}

/** A database, opened for one tenant. */
export interface Store {
  readonly tenant: string | null;
  chain(name: string): Chain;
  chains(): Promise<readonly { name: string; head: Head; indexed: number }[]>;
  /** Finds records, newest first; the search tables are brought up to date before. */
  find(query: Query): Promise<readonly Found[]>;
  /** Fills the search tables anew from the chains; how many records there are. */
  reindex(): Promise<number>;
  /** The kill switches that stand. */
  kills(): Promise<readonly StandingKill[]>;
  /** Throws `KILLED` while a kill switch stands for this agent or for all. */
  assertMayAct(agentId: string): Promise<void>;
  addOpenings(openings: readonly Opening[]): Promise<void>;
  opening(commitment: string): Promise<Opening | null>;
  eraseOpenings(capsuleId: string): Promise<number>;
  /** Waits for what is under way, and closes. */
  close(): Promise<void>;
}

const CHAIN_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;

/**
 * Opens a store. Throws `STORE_MISSING` unless it is there or `create` is set, `STORE_TENANT` for an empty tenant,
 * and the codes of the database.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { tenant = null } = options;
  if (tenant === '') throw new BullaError('STORE_TENANT', 'A tenant has a name, or is null.');
  return createStore(await openDriver({ ...options, tenant }), { ...options, tenant });
}

async function openDriver(options: StoreOptions & { tenant: string | null }): Promise<Driver> {
  const { url, tenant, create = false, readOnly = false } = options;
  if (/^postgres(?:ql)?:\/\//.test(url)) {
    return (await import('./postgres.ts')).openPostgres(url, { tenant, create });
  }
  return (await import('./sqlite.ts')).openSqlite(url, { tenant, create, readOnly });
}

/** The store over a driver; apart from `openStore` for tests that break the driver. */
export function createStore(driver: Driver, options: StoreOptions & { tenant: string | null }): Store {
  const appenders = new Map<string, Appender>();
  const beginSigning = async (): Promise<SignHashed> => {
    if (options.sealer === undefined)
      throw new BullaError('STORE_NO_KEY', 'The store was opened without a key to seal with.');
    const { signer, pqSigner } = await options.sealer();
    const signedAt = new Date();
    return (hashed) => signHashed(hashed, signer, { signedAt, pqSigner });
  };
  const appender = (name: string): Appender => {
    let found = appenders.get(name);
    if (found === undefined) {
      found = new Appender(driver, name, beginSigning);
      appenders.set(name, found);
    }
    return found;
  };

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
    chain: (name) => chainOf(name, driver, appender, options.specVersion ?? false),
    chains: () => driver.chains(),
    async find(query) {
      await index(query.chain);
      return driver.find(query);
    },
    async reindex() {
      await driver.dropIndex();
      return index();
    },
    kills: () => driver.kills(),
    async assertMayAct(agentId) {
      const standing = (await driver.kills()).find(
        (kill) => kill.agentId === null || kill.agentId === agentId,
      );
      if (standing === undefined) return;
      const whom = standing.agentId === null ? 'everything' : `agent ${standing.agentId}`;
      throw new BullaError('KILLED', `A kill switch stands for ${whom}: ${standing.reason}`);
    },
    addOpenings: (openings) => driver.addOpenings(openings),
    opening: (commitment) => driver.opening(commitment),
    eraseOpenings: (capsuleId) => driver.eraseOpenings(capsuleId),
    async close() {
      await Promise.all([...appenders.values()].map((one) => one.idle()));
      await driver.close();
    },
  };
}

const PAGE = 500;

function chainOf(
  name: string,
  driver: Driver,
  appender: (name: string) => Appender,
  specVersion: boolean,
): Chain {
  if (!CHAIN_NAME.test(name)) {
    throw new BullaError(
      'STORE_CHAIN_NAME',
      'A chain is named by letters, digits, dots, hyphens and underscores.',
    );
  }
  return {
    name,
    append(input, { id = randomUUID(), effect } = {}) {
      const capsule = createCapsule(input, { id, now: new Date(), specVersion });
      return appender(name).append({
        at: ({ length, hash }) => ({ ...capsule, sequence: length, previous_hash: hash }),
        ...(effect && { effect }),
      });
    },
    async adopt(rows) {
      if (rows.length === 0) return;
      await driver.appendLocked(name, async (head) => {
        if (rows[0]!.sequence !== head.length) {
          throw new BullaError(
            'STORE_ADOPT',
            `The records begin at ${rows[0]!.sequence}, but the chain has ${head.length}.`,
          );
        }
        return rows;
      });
    },
    head: () => driver.head(name),
    async *records(from = 0) {
      for (let next = from; ; ) {
        const rows = await driver.read(name, next, PAGE);
        yield* rows;
        if (rows.length < PAGE) return;
        next = rows.at(-1)!.sequence + 1;
      }
    },
  };
}
