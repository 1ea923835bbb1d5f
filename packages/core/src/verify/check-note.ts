import { type NoteVerifier, openNote, parseNote } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { type Artifact, type Finding, findings } from './artifact.ts';
import { standingVkeys, type Trust } from './trust.ts';

const { good, bad, keyless } = findings([
  'when it was signed',
  'that no other version of the text was signed',
]);

/** Whether an error says only that the key which signed a note or checkpoint is not at hand. */
export function isUnknownSigner(error: unknown): error is BullaError {
  return error instanceof BullaError && ['NOTE_UNVERIFIED', 'LOG_UNSIGNED'].includes(error.code);
}

/** Who a note says signed it; nothing proves it. */
export function signersOf(note: string | Uint8Array): string {
  const hex = (id: number) => id.toString(16).padStart(8, '0');
  const names = parseNote(note).signatures.map(({ name, keyId }) => `${name}+${hex(keyId)}`);
  return `it says that it was signed by ${names.join(', ')}.`;
}

/** A signed note that is neither a checkpoint nor the end of a proof; a checkpoint can be judged as one too. */
export function checkNote({ note }: Artifact<'signed note' | 'checkpoint'>, trust: Trust): Finding {
  const { vkeys } = trust;
  try {
    if (vkeys.length === 0) {
      const names = parseNote(note).signatures.map((signature) => signature.name);
      return keyless('VERIFY_NO_KEY', 'No verifier key was given, so nothing is proven.', { names });
    }
    const { text, verified, unknown } = openNote(note, standingVkeys(trust));
    const names = verified.map(({ name }) => name);
    const details = { signed_by: names, unknown: unknown.map(({ name }) => name), text };
    return good(`Signed by ${names.join(', ')}.`, details);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code, message } = error;
    if (!isUnknownSigner(error)) return bad(code, message);
    if (isSignedBy(note, vkeys)) return bad('key_revoked', 'A key that is revoked signed the note.');
    return keyless(code, `None of the keys at hand signed the note; ${signersOf(note)}`);
  }
}

function isSignedBy(note: string, vkeys: readonly NoteVerifier[]): boolean {
  const opened = attempt(() => openNote(note, vkeys));
  return !(opened instanceof BullaError) && opened.verified.length > 0;
}
