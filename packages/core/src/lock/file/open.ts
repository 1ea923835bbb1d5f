import { fromUtf8, type NoteVerifier, noteVerifier, type PublicKey, parseNote } from '../../crypto/index.ts';
import { openNoted } from './note.ts';
import { openSigned } from './signature.ts';
import { openAttested } from './statement.ts';
import type { VerifiedLock } from './verified.ts';

/**
 * Opens a lock that one of the keys signed. Which of the three forms a signature has is told by its content; each
 * counts only if one of the keys made it. Throws `LOCK_SIGNATURE_NO_KEY`, and what `openSigned`, `openNoted` and
 * `openAttested` throw.
 */
export function openWith(
  lock: Uint8Array,
  signature: Uint8Array,
  { keys, vkeys }: { readonly keys: readonly PublicKey[]; readonly vkeys: readonly NoteVerifier[] },
): VerifiedLock {
  const form = keys.length === 0 && vkeys.length === 0 ? 'sig' : formOf(signature);
  if (form === 'dsse') return openAttested(lock, signature, keys);
  if (form === 'note') return openNoted(lock, signature, verifiers(signature, keys, vkeys));
  return openSigned(lock, signature, keys);
}

function formOf(signature: Uint8Array): 'sig' | 'note' | 'dsse' {
  let text: string;
  try {
    text = fromUtf8(signature);
  } catch {
    return 'sig'; // whose reader says what is wrong
  }
  if (/\n\n(?:\u2014 [^\n]*\n)+$/.test(text)) return 'note';
  return /^\s*\{/.test(text) && text.includes('"payloadType"') ? 'dsse' : 'sig';
}

/** A note names its keys; a key that is trusted counts under whatever name it signed. */
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
