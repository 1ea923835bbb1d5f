import { check, type LockTrust } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { note, type RecordOptions, recorded, recordOptions } from '../receipt.ts';
import { type FetchOptions, fetchOptions, observing } from '../run/options.ts';
import { EXIT, type Exit, print } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { type ConfineOptions, confinementOf, confineOptions } from './confine.ts';
import { type FormatOptions, formatOf, formatOptions, printDrift, writeReports } from './drift-formats.ts';
import { type FailOn, failOnOption, lockOption, requireOptions, severityOf } from './options.ts';
import { accessOf, SERVER_HELP, type ServerOptions, serverOptions } from './server.ts';

interface CheckOptions
  extends ServerOptions,
    ConfineOptions,
    FormatOptions,
    LockTrust,
    FetchOptions,
    RecordOptions {
  lock: string;
  pinned?: boolean;
  failOn: FailOn;
  policy?: string;
}

export function define(command: Command): void {
  command
    .argument('[server...]', 'the server, after --; without it the one of the lock')
    .use(serverOptions, confineOptions, fetchOptions, lockOption)
    .option('--pinned', 'start the program that the lock pins, not whatever the command would start now')
    .addOption(failOnOption('the mildest difference that fails; benign is any, as info').default('critical'))
    .option('-P, --policy <file|preset>', 'rules that must hold too: a policy, or baseline or strict')
    .use(formatOptions, requireOptions, recordOptions)
    .helpText(`${SERVER_HELP}
Without a server, the command that the lock names is started: do that only with a lock that you trust, or that is
signed (--require-signature; to name a key is to require one).
Exits with 0 when nothing at or over the threshold changed and the policy passes, 1 when something changed or the
policy denies the server, 3 when it cannot be told.

Examples:
  $ bulla check
  $ bulla check --require-signature --key public.key --format sarif > drift.sarif`)
    .run(recorded('check', act));
}

async function act(words: string[], options: CheckOptions): Promise<Exit> {
  const { lock: lockfile } = options;
  const failOn = severityOf(options.failOn);
  const format = formatOf(options);
  const isReleased = COMPAT && format === 'text' && !options.quiet;
  const found = await check({
    ...options,
    ...{ server: words, lockfile, failOn },
    ...accessOf(options),
    confine: confinementOf(options, [lockfile]),
    ...observing(options),
    onTarget: async () => {
      if (isReleased) await print('Scanning MCP server...\n');
    },
    onFacts: note,
  });
  const { drift, source, outcome, policy } = found;
  const shown = { lockfile, source, failOn, policy: policy ?? undefined };
  writeReports(options, drift, shown);
  if (isReleased)
    await print(`MCPTrust check: ${outcome} (policy=${policy?.preset ?? 'none'}, fail-on=${failOn})\n`);
  if (!options.quiet) await printDrift(drift, format, shown);
  return outcome === 'PASS' ? EXIT.good : EXIT.bad;
}
