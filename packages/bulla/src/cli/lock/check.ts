import { drift, driftJson, lockDigest, type Severity, verdict } from '@bulla/core/lock';
import { type Command, Option } from 'commander';
import { identityOf } from '../../locks/index.ts';
import type { Run } from '../commands.ts';
import { note, type RecordOptions, recorded, recordOptions } from '../receipt.ts';
import { artifactNow, type FetchOptions, fetchOptions, pinnedServer } from '../run/pinned.ts';
import { EXIT, type Exit, print, printExact, refusing, say } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { type FormatOptions, formatOf, formatOptions, printDrift, writeReports } from './drift-formats.ts';
import { openLockFile, type RequireOptions, requireOptions } from './keys.ts';
import { SERVER_HELP, type ServerOptions, scanServer, serverOptions, targetFor } from './server.ts';

interface CheckOptions extends ServerOptions, FormatOptions, RequireOptions, FetchOptions, RecordOptions {
  lock: string;
  pinned?: boolean;
  failOn: Severity | 'benign';
  policy?: string;
}

export function define(command: Command, run: Run): void {
  recordOptions(
    requireOptions(
      formatOptions(
        fetchOptions(
          serverOptions(
            command.argument('[server...]', 'the server, after --; without it the one of the lock'),
          ),
        )
          .option('-l, --lock <file>', 'the lockfile', 'mcp-lock.json')
          .option(
            '--pinned',
            'start the program that the lock pins, not whatever the command would start now',
          )
          .addOption(
            new Option('--fail-on <severity>', 'the mildest difference that fails; benign is any, as info')
              .choices(['critical', 'moderate', 'info', 'benign'])
              .default('critical'),
          )
          .option('-P, --policy <file|preset>', 'rules that must hold too: a policy, or baseline or strict'),
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
    .action(run(recorded('check', check)));
}

async function check(words: string[], options: CheckOptions): Promise<Exit> {
  const ask = options.policy ? (await import('../policy/drift.ts')).driftPolicy(options.policy) : null;
  const { lock, bytes } = openLockFile(options.lock, options);
  note({ lock: lockDigest(lock) });
  const target = targetFor(words, options.env, lock);
  const format = formatOf(options);
  const isReleased = COMPAT && format === 'text' && !options.quiet;
  if (isReleased) await print('Scanning MCP server...\n');
  const pinned = options.pinned ? await pinnedServer(lock, target, options) : null;
  const now = pinned === null ? await artifactNow(lock, target) : {};
  const { surface, authorization } = await scanServer(
    pinned?.target ?? target,
    options,
    !options.quiet,
  ).finally(() => pinned?.release());
  const found = refusing('The server cannot be compared', () =>
    drift(lock, surface, { identity: identityOf(target), authorization, ...now }),
  );
  const failOn = options.failOn === 'benign' ? 'info' : options.failOn;
  writeReports(options, found, { lockfile: options.lock, source: bytes, failOn });
  const asked = ask?.(lock, surface, found);
  note({ drift: { ...found.counts } });
  if (asked)
    note({ policy: { name: asked.policy.preset, digest: asked.digest, passed: asked.policy.passed } });
  const outcome = asked?.policy.passed === false ? 'FAIL' : verdict(found, failOn).outcome;
  if (isReleased)
    await print(`MCPTrust check: ${outcome} (policy=${asked?.policy.preset ?? 'none'}, fail-on=${failOn})\n`);
  if (!options.quiet) {
    const shown = { lockfile: options.lock, source: bytes, failOn };
    if (asked && format === 'json') await printExact(driftJson(found, { ...shown, policy: asked.policy }));
    else await printDrift(found, format, shown);
    // The other formats have no place for it.
    if (asked && format === 'text') await print(asked.text);
    else if (asked && format !== 'json') say(asked.text.trimEnd());
  }
  return outcome === 'PASS' ? EXIT.good : EXIT.bad;
}
