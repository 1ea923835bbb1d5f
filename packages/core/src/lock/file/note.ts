import {
  type NoteSigner,
  type NoteVerifier,
  openNote,
  type PublicKey,
  signNote,
} from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { interpret, lockDigest, parseLock, readLock } from './lock.ts';
import { asVerified, type VerifiedLock } from './verified.ts';

// A lock as a C2SP signed note, for witnesses and keys that sign notes: the text names the lock by its
// digest.

const ORIGIN = 'bulla/lock/v1';

function noteText(digest: string): string {
  return `${ORIGIN}\n${digest}\n`;
}

/**
 * Signs a lockfile as a note that lies beside it. Rejects with what `readLock` throws and what `signNote`
 * rejects with.
 */
export async function signLockNote(lockBytes: Uint8Array, signers: readonly NoteSigner[]): Promise<string> {
  return signNote(noteText(lockDigest(readLock(lockBytes))), signers);
}

/**
 * Opens a lockfile of which a known key signed the note. Throws the `NOTE_…` codes of `openNote`,
 * `LOCK_OTHER` for a note on something else, and what `readLock` throws.
 */
export function openNoted(
  lockBytes: Uint8Array,
  note: string | Uint8Array,
  verifiers: readonly NoteVerifier[],
): VerifiedLock {
  const opened = openNote(note, verifiers);
  const document = parseLock(lockBytes);
  if (opened.text !== noteText(lockDigest({ document })))
    throw new BullaError('LOCK_OTHER', 'The note is not about this lock.');
  const keys: PublicKey[] = opened.verified.map(({ verifier }) => verifier.publicKey);
  return asVerified(interpret(document, lockBytes), 'note', keys);
}
