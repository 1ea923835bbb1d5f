import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { dataDirectory, openKeyring } from '../keys/index.ts';
import { openStore, type Store } from '../store/index.ts';
import { createSubmit, loadPolicy, POLICY_FILE, type SubmitOutcome } from '../witness/index.ts';
import { complain } from './io.ts';

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

/** Opens the store to read; nothing is created. */
export function openToRead(options: PlaceOptions): Promise<Store> {
  return openStore({ url: storeUrl(options), tenant: options.tenant ?? null });
}

/** Opens the store to write, sealing with the active key of the keyring and showing checkpoints to the witnesses. */
export async function openToWrite(options: PlaceOptions, create = true): Promise<Store> {
  const keyring = openKeyring(keysFolder(options), { now: () => new Date() });
  const policy = loadPolicy(join(home(), POLICY_FILE));
  const store = await openStore({
    url: storeUrl(options),
    tenant: options.tenant ?? null,
    create,
    sealer: () => keyring.sealer(),
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
  return store;
}

/** A checkpoint that too few witnesses saw is one of the log alone; one that contradicts theirs is an alarm. */
function tellOutcome({ size, quorum, results }: SubmitOutcome): void {
  for (const result of results) {
    if (!result.ok)
      process.stderr.write(`bulla: witness ${result.name}: ${result.message} [${result.code}]\n`);
  }
  if (!quorum) process.stderr.write(`bulla: the checkpoint of ${size} records has too few witnesses\n`);
}
