import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import {
  type LockTrust,
  type PinnedProgram,
  type ProvenanceChoice,
  pinnedProgram,
  tellOpenFolder,
} from '../../app/index.ts';
import { interruptible, runCommand } from '../../pin/index.ts';
import type { Command } from '../command.ts';
import { keepExit } from '../lock/compat.ts';
import { lockOption, requireOptions } from '../lock/options.ts';
import { note, type RecordOptions, recorded, recordOptions } from '../receipt.ts';
import { EXIT, type Exit, print } from '../terminal/io.ts';
import { type FetchOptions, fetchOptions, observing, provenanceOptions } from './options.ts';

interface RunOptions extends FetchOptions, LockTrust, ProvenanceChoice, RecordOptions {
  lock: string;
  dryRun?: boolean;
  bin?: string;
  requireProvenance?: boolean | string;
}

export function define(command: Command): void {
  command
    .argument('[words...]', 'after --: other arguments, or a whole command for the same package')
    .use(lockOption, requireOptions, fetchOptions, provenanceOptions, recordOptions)
    .option('--dry-run', 'do everything except the last step, and tell what it would be')
    .option('--bin <name>', 'the program of the package, where it has several')
    .option('--require-provenance [true|false]', 'run only with a provenance (--bundle) that verifies')
    .option('--quiet', 'show no progress')
    .helpText(`
The lock must pin an npm package (bulla lock --pin). Every tarball of it and of what it needs is hashed, each time,
and the unpacked files are compared with it, byte by byte; then Node runs the program with the standard streams of this
command. No script of a package runs. Tarballs are kept in BULLA_HOME/cache, unpacked packages in BULLA_HOME/trees. The
program gets the environment of this command without NODE_OPTIONS and NODE_PATH, unless the lock names them. The exit code is that of the program, or 128 and the signal; when
nothing was run it is 1 for what differs from the lock, 2 for a lock that cannot be run, 3 for trouble with the network.

Examples:
  $ bulla run
  $ bulla run --lock mcp-lock.json --key public.key -- /srv/files
  $ bulla guard --pinned --lock mcp-lock.json`)
    .run(recorded('run', runPinned));
}

async function runPinned(words: string[], options: RunOptions): Promise<Exit> {
  const observer = { ...observing(options), onFacts: note };
  const input = {
    ...options,
    ...{ lockfile: options.lock, words },
    ...observer,
    ...(needsProvenance(options) && { provenance: options }),
  };
  using pinned = await interruptible(() => pinnedProgram(input));
  if (options.dryRun) {
    await print(dryRunText(pinned));
    return EXIT.good;
  }
  tellOpenFolder(pinned.installed.folder, observer);
  const code = await runCommand(pinned.command, pinned.environment);
  keepExit();
  return code as Exit;
}

function dryRunText({ artifact, installed, program, args }: PinnedProgram): string {
  const script = program.script.slice(installed.folder.length + 1);
  const shown = ['node', ...program.flags, script, ...args];
  const pin = `${artifact.name} ${artifact.version}, ${installed.packages} packages, integrity verified`;
  return `would execute: ${visible(shown.join(' '))}\n  ${pin} (${artifact.integrity})\n`;
}

/** To name a bundle is to require it. Throws `USAGE` for a word that is neither true nor false. */
function needsProvenance({ requireProvenance, bundle }: RunOptions): boolean {
  if (requireProvenance === undefined) return bundle !== undefined;
  if (requireProvenance === true || requireProvenance === 'true') return true;
  if (requireProvenance === 'false') return false;
  throw new BullaError('USAGE', '--require-provenance is true or false.');
}
