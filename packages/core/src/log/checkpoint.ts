import {
  type Checkpoint,
  formatCheckpointBody,
  formatNote,
  type NoteSignature,
  type NoteSigner,
  type NoteVerifier,
  noteVerifier,
  openNote,
  type PublicKey,
  parseCheckpointBody,
  parseNote,
  signNote,
  toHex,
  type VerifiedSignature,
} from '../crypto/index.ts';
import { BullaError } from '../error.ts';

// Checkpoints as signed notes, https://c2sp.org/tlog-checkpoint.

/** A checkpoint that at least one known key signed. */
export interface OpenedCheckpoint {
  readonly checkpoint: Checkpoint;
  /** The text of the note: what the checkpoint was read from. */
  readonly text: string;
  readonly verified: readonly VerifiedSignature[];
  /** Lines of keys that are not known; they prove nothing. */
  readonly unknown: readonly NoteSignature[];
}

/** Which types of signature note lines may have, by who signs: tlog-checkpoint and tlog-cosignature say so. */
export const LOG_TYPES: readonly number[] = [0x01, 0x06];
export const WITNESS_TYPES: readonly number[] = [0x04, 0x06];

/** The keys of a log: each bears the origin as its name and signs with Ed25519. Throws as `noteVerifier`. */
export function logVerifiers(origin: string, keys: readonly PublicKey[]): NoteVerifier[] {
  return keys.map((key) => noteVerifier(origin, key));
}

/**
 * Signs a checkpoint with each of the signers and returns the whole note. Rejects with `LOG_CHECKPOINT` or
 * `LOG_CHECKPOINT` for a checkpoint that cannot be written, and as `signNote`.
 */
export async function signCheckpoint(
  checkpoint: Checkpoint,
  signers: readonly NoteSigner[],
): Promise<string> {
  return signNote(formatCheckpointBody(checkpoint), signers);
}

/**
 * Opens a checkpoint. Throws as `openNote`, so at least one of these keys must have signed and none of them badly;
 * `LOG_CHECKPOINT` when the text is not a checkpoint; and `LOG_ORIGIN` when a key of type 0x01, which
 * speaks for the log that it is named after, signed for another origin. Who opens with the keys of witnesses alone
 * learns what they saw, not that the log said it.
 */
export function openCheckpoint(
  note: string | Uint8Array,
  verifiers: readonly NoteVerifier[],
): OpenedCheckpoint {
  const { text, verified, unknown } = openNote(note, verifiers);
  const checkpoint = parseCheckpointBody(text);
  for (const { verifier } of verified) {
    if (verifier.type !== 0x01 || verifier.name === checkpoint.origin) continue;
    throw new BullaError(
      'LOG_ORIGIN',
      `The key of ${verifier.name} signed a checkpoint whose origin is ${checkpoint.origin}.`,
    );
  }
  return { checkpoint, text, verified, unknown };
}

/** The first line that the log itself signed: by a key that bears the origin as its name. Null if there is none. */
export function logSignature({ checkpoint, verified }: OpenedCheckpoint): VerifiedSignature | null {
  const ofLog = ({ verifier }: VerifiedSignature) =>
    verifier.name === checkpoint.origin && LOG_TYPES.includes(verifier.type);
  return verified.find(ofLog) ?? null;
}

/**
 * Adds signature lines, such as a witness answers with, to a note. Lines that it has already are left out. Nothing
 * is verified here: open the result, or the lines under the same text, before relying on it. Throws the codes of
 * `parseNote`, also for lines that are not signature lines or none at all.
 */
export function addSignatures(note: string | Uint8Array, lines: string): string {
  const { text, signatures } = parseNote(note);
  const added = parseNote(`${text}\n${lines}`);
  if (added.text !== text) {
    throw new BullaError('NOTE_MALFORMED', 'Signature lines follow each other without a blank line.');
  }
  const all = new Map([...signatures, ...added.signatures].map((line) => [lineId(line), line]));
  return formatNote({ text, signatures: [...all.values()] });
}

function lineId({ name, keyId, signature }: NoteSignature): string {
  return `${name} ${keyId} ${toHex(signature)}`;
}
