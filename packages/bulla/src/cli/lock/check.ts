import { driftJson, type Severity } from '@bulla/core/lock';
import { Option } from 'commander';
import { check, type DriftPolicy, type LockTrust } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { tellingProblems } from '../policy/problems.ts';
import { note, type RecordOptions, recorded, recordOptions } from '../receipt.ts';
import { type FetchOptions, fetchOptions, observing } from '../run/pinned.ts';
import { EXIT, type Exit, print, printExact, say } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { type FormatOptions, formatOf, formatOptions, printDrift, writeReports } from './drift-formats.ts';
import { requireOptions, trustOf } from './keys.ts';
import { accessOf, SERVER_HELP, type ServerOptions, serverOptions } from './server.ts';

interface CheckOptions extends ServerOptions, FormatOptions, LockTrust, FetchOptions, RecordOptions {
  lock: string;
  pinned?: boolean;
  failOn: Severity | 'benign';
  policy?: string;
}

export function define(command: Command): void {
  command
    .argument('[server...]', 'the server, after --; without it the one of the lock')
    .use(serverOptions, fetchOptions)
    .option('-l, --lock <file>', 'the lockfile', 'mcp-lock.json')
    .option('--pinned', 'start the program that the lock pins, not whatever the command would start now')
    .addOption(
      new Option('--fail-on <severity>', 'the mildest difference that fails; benign is any, as info')
        .choices(['critical', 'moderate', 'info', 'benign'])
        .default('critical'),
    )
    .option('-P, --policy <file|preset>', 'rules that must hold too: a policy, or baseline or strict')
    .use(formatOptions, requireOptions, recordOptions)
    .helpText(`${SERVER_HELP}
Without a server, the command that the lock names is started: do that only with a lock that you trust, or that is
signed (--require-signature; to name a key is to require one).
Exits with 0 when nothing at or over the threshold changed, 1 when something did, 3 when it cannot be told.

Examples:
  $ bulla check
  $ bulla check --require-signature --key public.key --format sarif > drift.sarif`)
    .run(recorded('check', act));
}

async function act(words: string[], options: CheckOptions): Promise<Exit> {
  const { lock: lockfile, env, pinned, allowPrivateRegistry } = options;
  const failOn = options.failOn === 'benign' ? 'info' : options.failOn;
  const format = formatOf(options);
  const isReleased = COMPAT && format === 'text' && !options.quiet;
  const { drift, source, outcome, policy } = await tellingProblems(() =>
    check({
      ...{ server: words, env, lockfile, pinned, allowPrivateRegistry, failOn, policy: options.policy },
      ...trustOf(options),
      ...accessOf(options),
      ...observing(options),
      onTarget: async () => {
        if (isReleased) await print('Scanning MCP server...\n');
      },
      onFacts: note,
      onDrift: (found) => writeReports(options, found.drift, { lockfile, source: found.source, failOn }),
    }),
  );
  if (isReleased)
    await print(`MCPTrust check: ${outcome} (policy=${policy?.preset ?? 'none'}, fail-on=${failOn})\n`);
  if (!options.quiet) {
    const shown = { lockfile, source, failOn };
    if (policy !== null && format === 'json') {
      const { preset, passed, reasons } = policy;
      await printExact(driftJson(drift, { ...shown, policy: { preset, passed, reasons } }));
    } else await printDrift(drift, format, shown);
    // The other formats have no place for it.
    if (policy !== null && format === 'text') await print(`${policyText(policy)}\n`);
    else if (policy !== null && format !== 'json') say(policyText(policy));
  }
  return outcome === 'PASS' ? EXIT.good : EXIT.bad;
}

/** In the released program's words. */
function policyText({ passed, reasons }: DriftPolicy): string {
  return [passed ? 'Policy: PASS' : 'Policy: DENY', ...reasons.map((reason) => `- ${reason}`)].join('\n');
}
