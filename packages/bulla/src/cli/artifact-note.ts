import { fromUtf8, openNote, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Artifact } from './artifacts.ts';

export const signedNote: Artifact = {
  kind: 'signed note',
  recognises(bytes) {
    try {
      return /\n\n(?:— [^\n]*\n)+$/.test(fromUtf8(bytes));
    } catch {
      return false;
    }
  },
  async verify(_, bytes, { vkeys }) {
    const notProven = ['when it was signed', 'that no other version of the text was signed'];
    try {
      if (vkeys.length === 0) {
        const names = parseNote(bytes).signatures.map((signature) => signature.name);
        const message = 'No verifier key was given (--vkey), so nothing is proven.';
        return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details: { names }, notProven };
      }
      const { text, verified, unknown } = openNote(bytes, vkeys);
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
      return { result: 'bad', code: error.code, message: error.message, details: {}, notProven };
    }
  },
};
