import { fromUtf8, type NoteVerifier, openNote, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { parseCheckpointBody } from '@bulla/core/log';
import type { Artifact } from './artifacts.ts';
import { standingVkeys } from './trust.ts';

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

/** Whether a file begins as a log proof; the checkpoint at its end has signature lines too. */
export function isProof(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 20)).toString('latin1') === 'c2sp.org/tlog-proof@';
}

/** Whether a signed note is a checkpoint of a log. */
export function isCheckpoint(bytes: Uint8Array): boolean {
  try {
    return parseCheckpointBody(parseNote(fromUtf8(bytes)).text) !== undefined;
  } catch {
    return false;
  }
}

/** A signed note that is neither a checkpoint nor the end of a proof. */
export const signedNote: Artifact = {
  kind: 'signed note',
  isSigned: true,
  recognises(bytes) {
    if (isProof(bytes) || isCheckpoint(bytes)) return false;
    try {
      return /\n\n(?:— [^\n]*\n)+$/.test(fromUtf8(bytes));
    } catch {
      return false;
    }
  },
  async verify(_, bytes, trust) {
    const { vkeys } = trust;
    const notProven = ['when it was signed', 'that no other version of the text was signed'];
    try {
      if (vkeys.length === 0) {
        const names = parseNote(bytes).signatures.map((signature) => signature.name);
        const message = 'No verifier key was given (--vkey), so nothing is proven.';
        return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details: { names }, notProven };
      }
      const { text, verified, unknown } = openNote(bytes, standingVkeys(trust));
      return {
        result: 'good',
        code: 'ok',
        message: `Signed by ${verified.map((signature) => signature.name).join(', ')}.`,
        details: {
          signed_by: verified.map(({ name }) => name),
          unknown: unknown.map(({ name }) => name),
          text,
        },
        notProven,
      };
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      const { code, message } = error;
      const rest = { details: {}, notProven };
      if (!isUnknownSigner(error)) return { result: 'bad', code, message, ...rest };
      if (isSignedBy(bytes, vkeys))
        return {
          result: 'bad',
          code: 'key_revoked',
          message: 'A key that is revoked signed the note.',
          ...rest,
        };
      const sentence = `None of the keys at hand signed the note; ${signersOf(bytes)} Name the key with --vkey.`;
      return { result: 'undecided', code, message: sentence, ...rest };
    }
  },
};

function isSignedBy(note: Uint8Array, vkeys: readonly NoteVerifier[]): boolean {
  try {
    return openNote(note, vkeys).verified.length > 0;
  } catch (error) {
    if (error instanceof BullaError) return false;
    throw error;
  }
}
