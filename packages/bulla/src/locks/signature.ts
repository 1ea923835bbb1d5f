import { fromUtf8, type NoteVerifier, noteVerifier, type PublicKey, parseNote } from '@bulla/core/crypto';
import {
  openAttested,
  openNoted,
  openSigned,
  type ReadLockOptions,
  type VerifiedLock,
} from '@bulla/core/lock';
import { findInput } from '../os/index.ts';
import type { LockKeys } from './keys.ts';

/** What carries a signature on a lock, with the end of the file's name where it lies beside the lock. */
export const SIGNATURE_KINDS = { sig: '.sig', note: '.note', dsse: '.dsse.json' } as const;
export type SignatureKind = keyof typeof SIGNATURE_KINDS;

/** The first of the signature files beside a lock that is there, or null. Throws `INPUT_UNREADABLE`. */
export function signatureBeside(lock: string): { path: string; bytes: Uint8Array } | null {
  for (const ending of Object.values(SIGNATURE_KINDS)) {
    const path = `${lock}${ending}`;
    const bytes = findInput(path, 'signature');
    if (bytes !== null) return { path, bytes };
  }
  return null;
}

/**
 * Opens a lock that one of the keys signed. Which of the three forms a signature has is told by its content; each
 * counts only if a key of ours made it. Throws `LOCK_SIGNATURE_NO_KEY`, and what `openSigned`, `openNoted` and
 * `openAttested` throw.
 */
export function openWith(
  lock: Uint8Array,
  signature: Uint8Array,
  { keys, vkeys }: LockKeys,
  options: ReadLockOptions = {},
): VerifiedLock {
  const kind = keys.length === 0 && vkeys.length === 0 ? 'sig' : kindOf(signature);
  if (kind === 'dsse') return openAttested(lock, signature, keys, options);
  if (kind === 'note') return openNoted(lock, signature, verifiers(signature, keys, vkeys), options);
  return openSigned(lock, signature, keys, options);
}

function kindOf(signature: Uint8Array): SignatureKind {
  let text: string;
  try {
    text = fromUtf8(signature);
  } catch {
    return 'sig'; // whose reader says what is wrong
  }
  if (/\n\n(?:\u2014 [^\n]*\n)+$/.test(text)) return 'note';
  return /^\s*\{/.test(text) && text.includes('"payloadType"') ? 'dsse' : 'sig';
}

/** A note names its keys; a key that we trust counts under whatever name it signed. */
function verifiers(
  note: Uint8Array,
  keys: readonly PublicKey[],
  vkeys: readonly NoteVerifier[],
): NoteVerifier[] {
  const names = new Set(parseNote(note).signatures.map(({ name }) => name));
  const made = [...names].flatMap((name) => keys.map((key) => noteVerifier(name, key)));
  const known = new Map(
    [...vkeys, ...made].map((verifier) => [`${verifier.keyId} ${verifier.name}`, verifier]),
  );
  return [...known.values()];
}
