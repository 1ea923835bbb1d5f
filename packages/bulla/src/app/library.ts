import { BullaError } from '@bulla/core/error';
import { type Consent, type ConsentOptions, createConsent } from '../consent/index.ts';
import { createVerifier, type Verifier, type VerifierOptions } from '../envelope/index.ts';
import type { OpenKeyring } from '../keys/index.ts';
import { createManifests, type Manifests } from '../manifest/index.ts';
import { type Audit, type AuditOptions, createAudit, type Recorder } from '../record/index.ts';
import type { Chain, Store } from '../store/index.ts';
import { type LockTrust, type OpenedLock, openLock } from './locked.ts';
import { type OpenOptions, open } from './open.ts';

export interface LibraryOptions extends Omit<OpenOptions, 'access'>, AuditOptions {
  /** How consent is decided and waited for. */
  readonly consent?: Omit<ConsentOptions, 'chain' | 'record'> | undefined;
}

/** What a program uses of its data directory, open until it is disposed of. */
export interface Bulla extends AsyncDisposable {
  readonly keys: OpenKeyring;
  readonly store: Store;
  readonly chain: Chain;
  readonly record: Recorder;
  readonly audit: Audit;
  /** What people allow agents; questions and answers go into the same chain. */
  readonly consent: Consent;
  /** What agents declare. */
  readonly manifests: Manifests;
  /** Executes envelopes of one audience, each once. Throws as `createVerifier` does. */
  envelopes(options: Omit<VerifierOptions, 'store' | 'record'>): Verifier;
  /** Reads a lockfile; only one that a trusted key signed, where `trust` asks for that. Throws as `openLock` does. */
  lock(path: string, trust?: LockTrust): OpenedLock;
}

/**
 * Opens a data directory for a program that records what it does; store and keyring are made where they are missing.
 * Without a `home` it is `BULLA_HOME`, else the data directory of the platform. Throws `USAGE`
 * without an agent, and as `open` of the use cases does.
 */
export async function openLibrary(home: string | undefined, options: LibraryOptions): Promise<Bulla> {
  if (typeof (options as Partial<LibraryOptions> | undefined)?.agentId !== 'string')
    throw new BullaError('USAGE', 'Name the agent whose actions are recorded: open(home, { agentId }).');
  const opened = await open(home, { ...options, access: 'write' });
  const { store, chain, record, keyring } = opened;
  return {
    ...{ keys: keyring!, store, chain, record, audit: createAudit(record, store, options) },
    consent: createConsent(store, { ...options.consent, chain: chain.name, record }),
    manifests: createManifests(store),
    envelopes: (more) => createVerifier({ ...more, store, record }),
    lock: openLock,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
