import type { OpenKeyring } from '../keys/index.ts';
import { type Audit, type AuditOptions, createAudit, type Recorder } from '../record/index.ts';
import type { Chain, Store } from '../store/index.ts';
import { type OpenOptions, open } from './open.ts';

export interface LibraryOptions extends Omit<OpenOptions, 'access'>, AuditOptions {}

/** What a program uses of its data directory, open until it is disposed of. */
export interface Bulla extends AsyncDisposable {
  readonly keys: OpenKeyring;
  readonly store: Store;
  readonly chain: Chain;
  readonly record: Recorder;
  readonly audit: Audit;
}

/**
 * Opens a data directory for a program that records what it does; store and keyring are made where they are missing.
 * Without a `home` it is `BULLA_HOME`, else the data directory of the platform. Throws as `open` of the use cases does.
 */
export async function openLibrary(home: string | undefined, options: LibraryOptions): Promise<Bulla> {
  const opened = await open(home, { ...options, access: 'write' });
  const { store, chain, record, keyring } = opened;
  return {
    ...{ keys: keyring!, store, chain, record, audit: createAudit(record, store, options) },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
