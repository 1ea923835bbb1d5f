import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import type { Command } from 'commander';
import { ensureKeyring, type OpenKeyring, openKeyring } from '../keys/index.ts';
import { dataDirectory, findLoose, tightenCommand } from '../os/index.ts';
import { openStore, type Store } from '../store/index.ts';
import { createSubmit, loadPolicy, POLICY_FILE, type SubmitOutcome } from '../witness/index.ts';
import { complain, say } from './terminal/io.ts';
import { counted } from './terminal/words.ts';

/** The options of the commands that use the local store. */
export interface PlaceOptions {
  store?: string;
  tenant?: string;
  chain: string;
  keys?: string;
}

export function placeOptions(command: Command): Command {
  return command
    .option('--store <url>', 'the store: a file or postgres://… (default: BULLA_HOME/store.db)')
    .option('--tenant <name>', 'whose chains (default: those of no tenant)')
    .option('--chain <name>', 'the chain', 'default');
}

/** The data directory. */
export function home(): string {
  return dataDirectory(process.env, process.platform, homedir());
}

export function storeUrl({ store }: Pick<PlaceOptions, 'store'>): string {
  return store ?? join(home(), 'store.db');
}

export function keysFolder({ keys }: Pick<PlaceOptions, 'keys'>): string {
  return keys ?? join(home(), 'keys');
}

/** Files and folders of a store and its keyring, whether they are there or not. */
function ownFiles(options: PlaceOptions): string[] {
  const [store, keys] = [storeUrl(options), keysFolder(options)];
  const folders = [`${store}.checkpoints`, keys].flatMap(withContents);
  return [home(), store, `${store}-wal`, `${store}-shm`, ...folders, join(home(), 'installation')];
}

function withContents(folder: string): string[] {
  return [folder, ...namesIn(folder).map((name) => join(folder, name))];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

const told = new Set<string>();

/** Says once what others on this machine can read or change of these, with the command that mends it. */
export function tellLoose(paths: readonly string[]): void {
  const loose = findLoose(paths);
  const command = tightenCommand(loose);
  if (loose.length === 0 || told.has(command)) return;
  told.add(command);
  say([`bulla: warning: others on this machine can read or change what is yours alone; run: ${command}`]);
}

/** The same of a folder that holds secrets, and what lies in it. */
export function tellLooseIn(folder: string): void {
  tellLoose(withContents(folder));
}

/** Opens the store to read; nothing is created. */
export function openToRead(options: PlaceOptions): Promise<Store> {
  tellLoose(ownFiles(options));
  return openStore({ url: storeUrl(options), tenant: options.tenant ?? null });
}

/** Opens the store to verify or copy what is in it: nothing is written, so that it may lie on any medium. */
export function openToVerify(options: PlaceOptions): Promise<Store> {
  // What somebody names may be a copy that was made for others to read.
  if (options.store === undefined) tellLoose(ownFiles(options));
  return openStore({ url: storeUrl(options), tenant: options.tenant ?? null, readOnly: true });
}

/**
 * Opens the store to write, sealing with the active key of the keyring and showing checkpoints to the witnesses. Where
 * the store may be created, so may the keyring: who seals for the first time has one made.
 */
export async function openToWrite(
  options: PlaceOptions & { readonly quiet?: boolean },
  create = true,
): Promise<Store> {
  tellLoose(ownFiles(options));
  let keyring = keyringFor(options, create);
  const policy = loadPolicy(join(home(), POLICY_FILE));
  const store = await openStore({
    url: storeUrl(options),
    tenant: options.tenant ?? null,
    create,
    sealer: () => keyring!.sealer(),
    operator: process.env.BULLA_OPERATOR || undefined,
    submit:
      policy === null
        ? undefined
        : createSubmit(policy, {
            onOutcome: tellOutcome,
            length: async () => (await store.chain(options.chain).head()).length,
          }),
    onCheckpointError: (error) => complain(error),
  });
  try {
    keyring ??= await firstKeyring(store, options);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The keyring to seal with; null where there is none and one may be made. */
function keyringFor(options: PlaceOptions, mayMake: boolean): OpenKeyring | null {
  try {
    return openKeyring(keysFolder(options), { now: () => new Date() });
  } catch (error) {
    if (mayMake && error instanceof BullaError && error.code === 'KEYRING_MISSING') return null;
    throw error;
  }
}

/**
 * Makes the keyring of a store without records. Where there are records there was a keyring: that it is gone, or on a
 * disk that is not there now, is not covered up with another.
 */
async function firstKeyring(
  store: Store,
  options: PlaceOptions & { readonly quiet?: boolean },
): Promise<OpenKeyring> {
  const folder = keysFolder(options);
  const isFirst = (await store.chains()).every(({ head }) => head.length === 0);
  // Another process may have made it meanwhile, and sealed with it.
  const known = keyringFor(options, true);
  if (known !== null) return known;
  if (!isFirst) {
    throw new BullaError(
      'KEYRING_MISSING',
      `There is no keyring in ${folder}, but the store has records. Name the keyring that sealed them, bring it back, or make another one with "bulla keys init".`,
    );
  }
  const { keyring, made } = await ensureKeyring(folder);
  if (made && !options.quiet)
    say(`bulla: made a keyring in ${folder}; its key is ${keyring.active.fingerprint}`);
  return openKeyring(folder, { now: () => new Date() });
}

/** A checkpoint that too few witnesses saw is one of the log alone; one that contradicts theirs is an alarm. */
function tellOutcome({ size, quorum, results }: SubmitOutcome): void {
  for (const result of results) {
    if (!result.ok) say(`bulla: witness ${result.name}: ${result.message} [${result.code}]`);
  }
  if (!quorum) say(`bulla: the checkpoint of ${counted(size, 'record')} has too few witnesses`);
}
