import type { ApproverKey, ExecProfile } from '@bulla/core/envelope';
import type { KeyTrust } from '@bulla/core/verify';
import { InvalidArgumentError, Option } from 'commander';
import { type Approver, approverKeys } from '../../app/index.ts';
import type { Command } from '../command.ts';

export function execProfileOption(): Option {
  return new Option('--profile <id>', 'the form that is hashed: of the seed, or of the later draft')
    .choices(['envelope-v1', 'envelope-v1-nul'] satisfies ExecProfile[])
    .default('envelope-v1');
}

/** Whose signatures count. */
export interface ApproverOptions {
  approver: readonly Approver[];
}

/** One person and a key of theirs. */
function approver(text: string, before: readonly Approver[]) {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError('A name and a public key are expected, such as alice=alice.pub.');
  return [...before, { person: text.slice(0, at), file: text.slice(at + 1) }];
}

export function approverOption(command: Command): Command {
  return command.option(
    '--approver <name=key>',
    'a person and their public key (a file, hex, or a keyring.json); one person may have several keys',
    approver,
    [],
  );
}

/** The same beside the trust of a verification, which may know more of the keys; undefined where nobody is named. */
export function approversAmong(
  options: ApproverOptions & { keys?: string | undefined },
  trust: Pick<KeyTrust, 'facts' | 'revoked'>,
): ApproverKey[] | undefined {
  return options.approver.length === 0 ? undefined : approverKeys(options.approver, options.keys, trust);
}
