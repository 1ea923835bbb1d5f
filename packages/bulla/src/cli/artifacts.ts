import { fromUtf8, type NoteVerifier, openNote, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';

/** What an artifact is verified with. */
export interface Trust {
  readonly vkeys: readonly NoteVerifier[];
}

/** The verdict on one artifact. */
export interface Verdict {
  /** `undecided`: it is well formed, but what would prove it is not at hand. */
  readonly result: 'good' | 'bad' | 'undecided';
  /** The code of what is wrong or missing; `ok` when nothing is. */
  readonly code: string;
  readonly message: string;
  /** What was found, for the report. */
  readonly details: Readonly<Record<string, unknown>>;
  /** What a pass does not prove. */
  readonly notProven: readonly string[];
}

/** One kind of file that `bulla verify` knows. */
export interface Artifact {
  readonly kind: string;
  /** Whether the file claims to be of this kind; it may still be bad. */
  recognises(bytes: Uint8Array): boolean;
  verify(bytes: Uint8Array, trust: Trust): Verdict;
}

const signedNote: Artifact = {
  kind: 'signed note',
  recognises(bytes) {
    try {
      return /\n\n(?:— [^\n]*\n)+$/.test(fromUtf8(bytes));
    } catch {
      return false;
    }
  },
  verify(bytes, { vkeys }) {
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

/** Every kind, in the order in which they are tried. Each module adds its own. */
export const artifacts: readonly Artifact[] = [signedNote];
