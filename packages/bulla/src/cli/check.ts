import { drift, type Severity, verdict } from '@bulla/core/lock';
import { type Command, Option } from 'commander';
import { identityOf } from '../lockfile/index.ts';
import type { Run } from './cli.ts';
import { COMPAT } from './compat.ts';
import { type FormatOptions, formatOf, formatOptions, rendered } from './drift-formats.ts';
import { EXIT, type Exit, print, refusing } from './io.ts';
import { openLockFile, type RequireOptions, requireOptions } from './lock-keys.ts';
import { SERVER_HELP, type ServerOptions, scanServer, serverOptions, targetFor } from './server.ts';

interface CheckOptions extends ServerOptions, FormatOptions, RequireOptions {
  lock: string;
  failOn: Severity | 'benign';
}

export function define(command: Command, run: Run): void {
  requireOptions(
    formatOptions(
      serverOptions(command.argument('[server...]', 'the server, after --; without it the one of the lock'))
        .option('-l, --lock <file>', 'the lockfile', 'mcp-lock.json')
        .addOption(
          new Option('--fail-on <severity>', 'the mildest difference that fails; benign is any, as info')
            .choices(['critical', 'moderate', 'info', 'benign'])
            .default('critical'),
        ),
    ),
  )
    .addHelpText(
      'after',
      `${SERVER_HELP}
Without a server, the command that the lock names is started: do that only with a lock that you trust, or that is
signed (--require-signature; to name a key is to require one).
Exits with 0 when nothing at or over the threshold changed, 1 when something did, 3 when it cannot be told.

Examples:
  $ bulla check
  $ bulla check --require-signature --key public.key --format sarif > drift.sarif`,
    )
    .action(run(check));
}

async function check(words: string[], options: CheckOptions): Promise<Exit> {
  const { lock, bytes } = openLockFile(options.lock, options);
  const target = targetFor(words, options.env, lock);
  const format = formatOf(options);
  const isReleased = COMPAT && format === 'text' && !options.quiet;
  if (isReleased) await print('Scanning MCP server...\n');
  const { surface, authorization } = await scanServer(target, options, !options.quiet);
  const found = refusing('The server cannot be compared', () =>
    drift(lock, surface, { identity: identityOf(target), authorization }),
  );
  const failOn = options.failOn === 'benign' ? 'info' : options.failOn;
  const { outcome } = verdict(found, failOn);
  if (isReleased) await print(`MCPTrust check: ${outcome} (policy=none, fail-on=${failOn})\n`);
  if (!options.quiet) await print(rendered(found, format, { lockfile: options.lock, source: bytes, failOn }));
  return outcome === 'PASS' ? EXIT.good : EXIT.bad;
}
