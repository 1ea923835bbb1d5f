import { concat, equalBytes, fromHex, hmacSha256, toHex, toUtf8 } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { canonicalBytes } from './canonicalize.ts';
import { firstInexact } from './exact.ts';

/** What can be committed to, each under a label of its own, so that one cannot be passed off as another. */
const LABELS = { args: 'bulla:args:v1', rest: 'bulla:rest:v1', result: 'bulla:result:v1' } as const;
export type CommitmentKind = keyof typeof LABELS;

export const SALT_BYTES = 32;

/**
 * Commits to a value without telling it: HMAC-SHA256 under a fresh salt over the label, a zero byte and the `jcs`
 * bytes, in hex. Who does not have the salt cannot even try out values. Throws `COMMIT_SALT` unless the salt has 32
 * bytes, and `COMMIT_INEXACT` with the path for a number that `jcs` would turn into another: two values would share
 * one commitment.
 */
export function commit(kind: CommitmentKind, value: unknown, salt: Uint8Array): string {
  if (salt.length !== SALT_BYTES) throw new BullaError('COMMIT_SALT', `A salt has ${SALT_BYTES} bytes.`);
  const bytes = canonicalBytes(value, 'jcs');
  const path = firstInexact(value);
  if (path !== undefined)
    throw new BullaError('COMMIT_INEXACT', 'The number cannot be committed to exactly.', { path });
  return toHex(hmacSha256(salt, concat(toUtf8(`${LABELS[kind]}\u0000`), bytes)));
}

/** Whether a value and a salt open a commitment. Throws as `commit` does. */
export function opens(commitment: string, kind: CommitmentKind, value: unknown, salt: Uint8Array): boolean {
  return equalBytes(fromHex(commitment), fromHex(commit(kind, value, salt)));
}
