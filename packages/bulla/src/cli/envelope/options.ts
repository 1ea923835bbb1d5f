import { fromUtf8, readPublicKey, toUtf8 } from '@bulla/core/crypto';
import type { ApproverKey, ExecProfile } from '@bulla/core/envelope';
import { approverKey, type KeyTrust } from '@bulla/core/verify';
import { InvalidArgumentError, Option } from 'commander';
import { pathsOf } from '../../app/index.ts';
import { findKeyring, parseKeyring, trustIn } from '../../keys/index.ts';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';

export function execProfileOption(): Option {
  return new Option('--profile <id>', 'the form that is hashed: of the seed, or of the later draft')
    .choices(['envelope-v1', 'envelope-v1-nul'] satisfies ExecProfile[])
    .default('envelope-v1');
}

/** Whose signatures count. */
export interface ApproverOptions {
  approver: readonly { person: string; file: string }[];
}

/** One person and a key of theirs. */
function approver(text: string, before: readonly { person: string; file: string }[]) {
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

/**
 * The keys of the people, with what is known of them: a key that is revoked in the keyring counts for nothing, however
 * it was named. A file may also be the keyring of a person (`keys export-public --all`), with the times of its keys.
 * Throws `INPUT_UNREADABLE`, and what reading a key or a keyring throws.
 */
export function approverKeys(
  { approver, keys }: ApproverOptions & { keys?: string | undefined },
  trust: Pick<KeyTrust, 'facts' | 'revoked'> = { facts: [], revoked: [] },
): ApproverKey[] {
  const local = findKeyring(pathsOf(undefined, { keys }).keys)?.epochs ?? [];
  return approver.flatMap(({ person, file }) => {
    const bytes = /^[0-9a-f]{64}$/.test(file) ? toUtf8(file) : readInput(file, 'document');
    const own = isKeyring(bytes) ? parseKeyring(bytes).epochs : [];
    const { keys: owned, pqKeys } = trustIn(own);
    const named = own.length === 0 ? [readPublicKey(fromUtf8(bytes))] : [...owned, ...pqKeys];
    const known = trustIn([...own, ...local]);
    const facts = [...known.facts, ...trust.facts];
    const revoked = [...known.revoked, ...trust.revoked];
    return named.flatMap((key) => approverKey(person, key, { facts, revoked }));
  });
}

/** The same beside the trust of a verification, which may know more of the keys; undefined where nobody is named. */
export function approversAmong(
  options: ApproverOptions,
  trust: Pick<KeyTrust, 'facts' | 'revoked'>,
): ApproverKey[] | undefined {
  return options.approver.length === 0 ? undefined : approverKeys(options, trust);
}

function isKeyring(bytes: Uint8Array): boolean {
  return /^\s*\{/.test(fromUtf8(bytes.subarray(0, 64)));
}
