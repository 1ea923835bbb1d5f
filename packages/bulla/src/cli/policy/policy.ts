import { PRESET_NAMES } from '@bulla/core/policy';
import { Option } from 'commander';
import type { Command } from '../command.ts';
import { requireOptions } from '../lock/keys.ts';
import { SERVER_HELP, serverOptions } from '../lock/server.ts';
import { recorded, recordOptions } from '../receipt.ts';
import { reportOptions } from '../terminal/io.ts';
import { check } from './check.ts';
import { explain } from './explain.ts';
import { test } from './test.ts';

export function define(command: Command): void {
  const reporting = (sub: Command) => reportOptions(sub, 'print nothing but errors; the exit code tells');
  const choosing = (sub: Command) =>
    sub
      .option('-P, --policy <file>', 'the policy, in YAML')
      .addOption(
        new Option('--preset <name>', 'a policy that comes with this program').choices(PRESET_NAMES),
      );

  reporting(
    choosing(
      command
        .command('check')
        .description('Ask the rules of a policy about what a server offers now.')
        .argument('[server...]', 'the server, after --; without it what the lock stores, or its server')
        .use(serverOptions),
    )
      .option('-l, --lockfile <file>', 'a lock: rules may then speak of the artifact and of drift')
      .use(requireOptions),
  )
    .use(recordOptions)
    .option('--save-input <file>', 'record what the rules were asked about, for "policy test"')
    .helpText(`${SERVER_HELP}
Without --policy and --preset the preset baseline is asked. Rules of phase call are asked by "policy test" alone: the
guard does not ask them yet.
Exits with 0 when the policy passes, 1 when it does not, 2 when it cannot be read, 3 when the server cannot be
scanned or no rule was asked.

Examples:
  $ bulla policy check --preset strict -l mcp-lock.json -- npx -y some-server
  $ bulla policy check --policy policy.yaml -l mcp-lock.json`)
    .run(recorded('policy check', check));

  choosing(command.command('explain').description('Show the rules of a policy.'))
    .addOption(new Option('--format <format>', 'how to print it').choices(['markdown', 'json']))
    .option('--json', 'the same as --format json')
    .option('-o, --output <file>', 'write it there')
    .helpText(`
Without --policy and --preset it is the preset baseline.

Examples:
  $ bulla policy explain --preset strict
  $ bulla policy explain --policy policy.yaml --json`)
    .run(explain);

  reporting(
    choosing(
      command
        .command('test')
        .description('Ask the rules of a policy about recorded inputs, and compare the answers.')
        .argument('<input...>', 'files with {"shape", "input", "expect"}'),
    ),
  )
    .helpText(`
An input is a JSON object: "shape" is policy-check, check, tool or call; "input" is what the rules are asked about;
"expect" holds rules by name with true or false. Without "expect" the policy must pass.
Exits with 0 when every answer is the expected one, 1 when one is not.

Examples:
  $ bulla policy check --save-input input.json -- npx -y some-server
  $ bulla policy test --policy policy.yaml input.json`)
    .run(test);
}
