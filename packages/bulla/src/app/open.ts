import { BullaError } from '@bulla/core/error';
import { ensureKeyring, type OpenKeyring, openKeyring } from '../keys/index.ts';
import { findLoose, type Loose } from '../os/index.ts';
import { createRecorder, type Recorder } from '../record/index.ts';
import { type Chain, openStore, type Store, type StoreOptions } from '../store/index.ts';
import { createSubmit, loadPolicy, type SubmitOutcome } from '../witness/index.ts';
import { type Paths, pathsOf, privateFiles } from './paths.ts';

/**
 * What is done with the store: `verify` reads and writes nothing, so that it may lie on any medium; `read` brings its
 * search tables up to date; `extend` appends to what must be there; `write` makes store and keyring where they are
 * missing.
 */
export type Access = 'verify' | 'read' | 'extend' | 'write';

/** What people should be told while a data directory is open. */
export interface Notices {
  /** Others on this machine can read or change these, which are their owner's alone. */
  readonly onLoose?: ((loose: readonly Loose[]) => void) | undefined;
  readonly onKeyringMade?: ((made: { folder: string; fingerprint: string }) => void) | undefined;
  /** Witnesses were shown a checkpoint. */
  readonly onWitnesses?: ((outcome: SubmitOutcome) => void) | undefined;
  /** A checkpoint could not be made or witnessed. */
  readonly onCheckpointError?: StoreOptions['onCheckpointError'] | undefined;
  /** The lease under which calls are recorded could not be renewed. */
  readonly onLeaseError?: StoreOptions['onLeaseError'] | undefined;
}

export interface OpenOptions extends Notices {
  /** Default `write`. */
  readonly access?: Access;
  /** Default: `store.db` in the data directory. */
  readonly store?: string | undefined;
  /** Default: the folder `keys` in the data directory. */
  readonly keys?: string | undefined;
  /** Whose chains. Default: those of no tenant. */
  readonly tenant?: string | null | undefined;
  /** Default `default`. */
  readonly chain?: string | undefined;
  /** See `StoreOptions`. Default: the variable `BULLA_OPERATOR`. */
  readonly operator?: string | undefined;
  /** See `StoreOptions`. */
  readonly strictInterop?: boolean | undefined;
  /** Keep arguments and results beside the chain, where they can be erased. Default false: only the salts. */
  readonly recordPayloads?: boolean | undefined;
}

/** What a data directory holds, open until it is disposed of. */
export interface Opened extends AsyncDisposable {
  readonly paths: Paths;
  readonly store: Store;
  readonly chain: Chain;
  /** Records calls and acts on the chain. */
  readonly record: Recorder;
  /** What seals; null where nothing can be appended. */
  readonly keyring: OpenKeyring | null;
}

/**
 * Opens a data directory. To append, records are sealed with the active key of the keyring, and checkpoints are shown
 * to the witnesses of the policy. Throws what `openStore`, `openKeyring` and `loadPolicy` throw, and `KEYRING_MISSING`
 * where records have no keyring.
 */
export async function open(home?: string, options: OpenOptions = {}): Promise<Opened> {
  const { access = 'write', chain: name = 'default' } = options;
  const paths = pathsOf(home, options);
  // A store that somebody names to verify may be a copy that was made for others to read.
  if (access !== 'verify' || options.store === undefined) tellLoose(privateFiles(paths), options);
  const at = { url: paths.store, tenant: options.tenant ?? null };
  if (access === 'verify' || access === 'read') {
    const store = await openStore({ ...at, readOnly: access === 'verify' });
    return openedOf(paths, store, options, null);
  }
  const create = access === 'write';
  let keyring = keyringIn(paths.keys, create);
  const policy = loadPolicy(paths.witnesses);
  const store: Store = await openStore({
    ...at,
    create,
    strictInterop: options.strictInterop,
    sealer: () => keyring!.sealer(),
    operator: options.operator ?? (process.env.BULLA_OPERATOR || undefined),
    submit:
      policy === null
        ? undefined
        : createSubmit(policy, {
            onOutcome: (outcome) => options.onWitnesses?.(outcome),
            length: async () => (await store.chain(name).head()).length,
          }),
    ...(options.onCheckpointError && { onCheckpointError: options.onCheckpointError }),
    ...(options.onLeaseError && { onLeaseError: options.onLeaseError }),
  });
  try {
    keyring ??= await firstKeyring(store, paths.keys, options);
    return openedOf(paths, store, options, keyring);
  } catch (error) {
    await store.close();
    throw error;
  }
}

function openedOf(
  paths: Paths,
  store: Store,
  { chain: name = 'default', recordPayloads = false }: OpenOptions,
  keyring: OpenKeyring | null,
): Opened {
  const chain = store.chain(name);
  return {
    ...{ paths, store, chain, record: createRecorder(chain, { recordPayloads }), keyring },
    async [Symbol.asyncDispose]() {
      // Closing makes the last checkpoint, which the keyring signs.
      try {
        await store.close();
      } finally {
        keyring?.close();
      }
    },
  };
}

/** Tells what others on this machine can read or change of these. */
export function tellLoose(paths: readonly string[], { onLoose }: Notices): void {
  const loose = onLoose === undefined ? [] : findLoose(paths);
  if (loose.length > 0) onLoose?.(loose);
}

/** The keyring to seal with; null where there is none and one may be made. */
function keyringIn(folder: string, mayMake: boolean): OpenKeyring | null {
  try {
    return openKeyring(folder, { now: () => new Date() });
  } catch (error) {
    if (mayMake && error instanceof BullaError && error.code === 'KEYRING_MISSING') return null;
    throw error;
  }
}

/**
 * Makes the keyring of a store without records. Where there are records there was a keyring: that it is gone, or on a
 * disk that is not there now, is not covered up with another.
 */
async function firstKeyring(store: Store, folder: string, { onKeyringMade }: Notices): Promise<OpenKeyring> {
  const isFirst = (await store.chains()).every(({ head }) => head.length === 0);
  // Another process may have made it meanwhile, and sealed with it.
  const known = keyringIn(folder, true);
  if (known !== null) return known;
  if (!isFirst) {
    throw new BullaError(
      'KEYRING_MISSING',
      `There is no keyring in ${folder}, but the store has records. Name the keyring that sealed them, bring it back, or make another one with "bulla keys init".`,
    );
  }
  const { keyring, made } = await ensureKeyring(folder);
  if (made) onKeyringMade?.({ folder, fingerprint: keyring.active.fingerprint });
  return openKeyring(folder, { now: () => new Date() });
}
