import { BullaError } from '@bulla/core/error';
import { type Drift, drift, type Lock } from '@bulla/core/lock';
import type { Command } from 'commander';
import { identityOf } from '../../locks/index.ts';
import type { Run } from '../commands.ts';
import { EXIT, type Exit, print, refusing } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { type FormatOptions, formatOf, formatOptions, printDrift, writeReports } from './drift-formats.ts';
import { openLock, openLockFile, type RequireOptions, requireOptions } from './keys.ts';
import { SERVER_HELP, type ServerOptions, scanServer, serverOptions, targetFor } from './server.ts';

interface DiffOptions extends ServerOptions, FormatOptions, RequireOptions {
  lockfile?: string;
}

export function define(command: Command, run: Run): void {
  requireOptions(
    formatOptions(
      serverOptions(
        command
          .argument('[what...]', 'two lockfiles; or the server, after --')
          .option('-l, --lockfile <file>', 'the lockfile (default: mcp-lock.json)'),
      ),
    ),
  )
    .addHelpText(
      'after',
      `${SERVER_HELP}
Exits with 0 when nothing changed, 1 when anything did.

Examples:
  $ bulla diff -l mcp-lock.json -- npx -y @modelcontextprotocol/server-everything
  $ bulla diff old-lock.json new-lock.json`,
    )
    .action(run(diff));
}

async function diff(what: string[], options: DiffOptions): Promise<Exit> {
  // Only the command line tells a server of two words from two files.
  const isServer = options.lockfile !== undefined || what.length === 0 || process.argv.includes('--');
  const lockfile = isServer ? (options.lockfile ?? 'mcp-lock.json') : what[0]!;
  const { lock, bytes } = openLockFile(lockfile, options);
  const found = isServer ? await sinceLock(lock, what, options) : betweenLocks(lock, what, options);
  const isClean = found.counts.total === 0;
  writeReports(options, found, { lockfile, source: bytes });
  const isReleased = COMPAT && isClean && formatOf(options) === 'text';
  if (!options.quiet) {
    if (isReleased) await print('✓ No changes detected - server matches lockfile\n');
    else await printDrift(found, formatOf(options), { lockfile, source: bytes });
  }
  return isClean ? EXIT.good : EXIT.bad;
}

async function sinceLock(lock: Lock, words: string[], options: DiffOptions): Promise<Drift> {
  const target = targetFor(words, options.env, lock);
  const { surface, authorization } = await scanServer(target, options, !options.quiet);
  return refusing('The server cannot be compared', () =>
    drift(lock, surface, { identity: identityOf(target), authorization }),
  );
}

function betweenLocks(before: Lock, files: string[], options: DiffOptions): Drift {
  if (files.length !== 2) throw new BullaError('USAGE', 'Name two lockfiles, or the server after --.');
  return drift(before, openLock(files[1]!, options));
}
