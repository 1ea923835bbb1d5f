import { BullaError } from '@bulla/core/error';
import { diffLocks, diffServer, type LockTrust } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { EXIT, type Exit, print } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { type FormatOptions, formatOf, formatOptions, printDrift, writeReports } from './drift-formats.ts';
import { lockfileAlias, requireOptions } from './options.ts';
import { accessOf, SERVER_HELP, type ServerOptions, scanning, serverOptions } from './server.ts';

interface DiffOptions extends ServerOptions, FormatOptions, LockTrust {
  lock?: string;
}

export function define(command: Command): void {
  command
    .argument('[what...]', 'two lockfiles; or the server, after --')
    .option('-l, --lock <file>', 'the lockfile (default: mcp-lock.json)')
    .use(lockfileAlias, serverOptions, formatOptions, requireOptions)
    .helpText(`${SERVER_HELP}
Exits with 0 when nothing changed, 1 when anything did.

Examples:
  $ bulla diff -l mcp-lock.json -- npx -y @modelcontextprotocol/server-everything
  $ bulla diff old-lock.json new-lock.json`)
    .run(diff);
}

async function diff(what: string[], options: DiffOptions): Promise<Exit> {
  // Only the command line tells a server of two words from two files.
  const isServer = options.lock !== undefined || what.length === 0 || process.argv.includes('--');
  if (!isServer && what.length !== 2)
    throw new BullaError('USAGE', 'Name two lockfiles, or the server after --.');
  const lockfile = isServer ? (options.lock ?? 'mcp-lock.json') : what[0]!;
  const { drift, source } = isServer
    ? await diffServer({
        ...options,
        ...{ server: what, lockfile },
        ...accessOf(options),
        ...scanning(!options.quiet),
      })
    : diffLocks(lockfile, what[1]!, options);
  const isClean = drift.counts.total === 0;
  writeReports(options, drift, { lockfile, source });
  const isReleased = COMPAT && isClean && formatOf(options) === 'text';
  if (!options.quiet) {
    if (isReleased) await print('✓ No changes detected - server matches lockfile\n');
    else await printDrift(drift, formatOf(options), { lockfile, source });
  }
  return isClean ? EXIT.good : EXIT.bad;
}
