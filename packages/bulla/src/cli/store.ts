import { BullaError } from '@bulla/core/error';
import { counted } from '@bulla/core/text';
import { type Access, type Notices, type Opened, open } from '../app/index.ts';
import { type Loose, tightenCommand } from '../os/index.ts';
import type { SubmitOutcome } from '../witness/index.ts';
import type { Command } from './command.ts';
import { complain, say } from './terminal/io.ts';

/** The options of the commands that use the local store. */
export interface StoreOptions {
  store?: string | undefined;
  tenant?: string | undefined;
  chain: string;
  keys?: string | undefined;
  strictInterop?: boolean | undefined;
}

export function storeOptions(command: Command): Command {
  return command
    .option('--store <url>', 'the store: a file or postgres://… (default: BULLA_HOME/store.db)')
    .option('--tenant <name>', 'whose chains (default: those of no tenant)')
    .option('--chain <name>', 'the chain', 'default');
}

/** Those of the commands that append to it. */
export function sealOptions(command: Command): void {
  command.use(storeOptions).option('--keys <folder>', 'the keyring to seal with (default: BULLA_HOME/keys)');
}

/** The option of the commands that seal what others say. */
export function strictOption(command: Command): Command {
  return command.option(
    '--strict-interop',
    'refuse what another implementation of capsules would hash differently, before anything is done',
  );
}

/** Opens the data directory for a command; what people should know goes to standard error. */
export function openFor(
  options: StoreOptions & { readonly quiet?: boolean },
  access: Access,
): Promise<Opened> {
  const { store, tenant, chain, keys, strictInterop, quiet } = options;
  return open(undefined, {
    ...{ access, store, tenant, chain, keys, strictInterop },
    ...NOTICES,
    onKeyringMade({ folder, fingerprint }) {
      if (!quiet) say(`bulla: made a keyring in ${folder}; its key is ${fingerprint}`);
    },
  });
}

const told = new Set<string>();

/** What is said on standard error, with `--quiet` too. */
export const NOTICES: Required<Omit<Notices, 'onKeyringMade'>> = {
  /** Says each of them once, with the command that mends it. */
  onLoose(loose: readonly Loose[]) {
    const command = tightenCommand(loose);
    if (told.has(command)) return;
    told.add(command);
    say([`bulla: warning: others on this machine can read or change what is yours alone; run: ${command}`]);
  },
  /** A checkpoint that too few witnesses saw is one of the log alone; one that contradicts theirs is an alarm. */
  onWitnesses({ size, quorum, results }: SubmitOutcome) {
    for (const result of results) {
      if (!result.ok) say(`bulla: witness ${result.name}: ${result.message} [${result.code}]`);
    }
    if (!quorum) say(`bulla: the checkpoint of ${counted(size, 'record')} has too few witnesses`);
  },
  onCheckpointError: (error) => complain(error),
  onLeaseError(error) {
    const why = error instanceof BullaError ? ` [${error.code}]` : '';
    say(
      `bulla: warning: the lease of this process could not be renewed${why}; once it ends, others mark its open calls`,
    );
  },
};
