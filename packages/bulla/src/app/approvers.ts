import { fromUtf8, readPublicKey, toUtf8 } from '@bulla/core/crypto';
import type { ApproverKey } from '@bulla/core/envelope';
import { approverKey, type KeyTrust } from '@bulla/core/verify';
import { findKeyring, parseKeyring, trustIn } from '../keys/index.ts';
import { readInput } from '../os/index.ts';
import { pathsOf } from './paths.ts';

/** A person, and the file of a public key or keyring of theirs, or 64 hex digits. */
export interface Approver {
  readonly person: string;
  readonly file: string;
}

/**
 * The keys of the people, with what is known of them: a key that is revoked in the keyring counts for nothing, however
 * it was named. A file may also be the keyring of a person (`keys export-public --all`), with the times of its keys.
 * `keys` is the folder of our own keyring. Throws `INPUT_UNREADABLE`, and what reading a key or a keyring throws.
 */
export function approverKeys(
  approvers: readonly Approver[],
  keys?: string | undefined,
  trust: Pick<KeyTrust, 'facts' | 'revoked'> = { facts: [], revoked: [] },
): ApproverKey[] {
  const local = findKeyring(pathsOf(undefined, { keys }).keys)?.epochs ?? [];
  return approvers.flatMap(({ person, file }) => {
    const bytes = isHex(file) ? toUtf8(file) : readInput(file, 'document');
    const own = isKeyring(bytes) ? parseKeyring(bytes).epochs : [];
    const { keys: owned, pqKeys } = trustIn(own);
    const named = own.length === 0 ? [readPublicKey(fromUtf8(bytes))] : [...owned, ...pqKeys];
    const known = trustIn([...own, ...local]);
    const facts = [...known.facts, ...trust.facts];
    const revoked = [...known.revoked, ...trust.revoked];
    return named.flatMap((key) => approverKey(person, key, { facts, revoked }));
  });
}

/** The files among them, which may change. */
export function approverFiles(approvers: readonly Approver[]): string[] {
  return approvers.flatMap(({ file }) => (isHex(file) ? [] : [file]));
}

function isHex(file: string): boolean {
  return /^[0-9a-f]{64}$/.test(file);
}

function isKeyring(bytes: Uint8Array): boolean {
  return /^\s*\{/.test(fromUtf8(bytes.subarray(0, 64)));
}
