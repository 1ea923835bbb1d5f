import type { Severity } from '@bulla/core/lock';
import { Option } from 'commander';
import type { Command } from '../command.ts';
import { collect } from '../terminal/io.ts';

export function lockOption(command: Command): void {
  command.option('-l, --lock <file>', 'the lockfile', 'mcp-lock.json');
}

/** A threshold; `benign` is any difference, as `info`. */
export type FailOn = Severity | 'benign';

export function failOnOption(description: string): Option {
  return new Option('--fail-on <severity>', description).choices(['critical', 'moderate', 'info', 'benign']);
}

export function severityOf(failOn: FailOn): Severity {
  return failOn === 'benign' ? 'info' : failOn;
}

/** For scripts of the released lock program, which has another name for it in some of its commands. */
export function lockfileAlias(command: Command): void {
  command
    .option('--lockfile <file>', 'the same as --lock, as the released lock program calls it')
    .on('option:lockfile', (file: string) => command.setOptionValue('lock', file));
}

export function keyOptions(command: Command): Command {
  return command
    .option('-k, --key <file|hex>', 'a public key to trust', collect, [])
    .option(
      '--keyring <path>',
      'a keyring (its folder or its keyring.json) whose keys to trust when verifying',
    );
}

export function requireOptions(command: Command): Command {
  return command
    .option('--require-signature', 'use the lock only if a trusted key signed it')
    .use(keyOptions)
    .option('-s, --signature <file>', 'the signature (default: what lies beside the lock)');
}
