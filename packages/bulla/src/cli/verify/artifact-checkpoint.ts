import { statSync } from 'node:fs';
import { fromUtf8, type PublicKey, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Anchor, type Policy, parseCheckpointBody, parseProof, readAnchor } from '@bulla/core/log';
import { counted } from '../terminal/words.ts';
import { isCheckpoint, isProof, isUnknownSigner, signedNote, signersOf } from './artifact-note.ts';
import type { Artifact, NamedAnchor, Trust } from './artifacts.ts';
import { anchorTrust } from './trust.ts';

/**
 * A signed note that is a checkpoint of a chain. With verifier keys it is judged as any other note, by who signed it;
 * with a policy, those of the log are its keys.
 */
export const checkpoint: Artifact = {
  kind: 'checkpoint',
  isSigned: true,
  recognises: isCheckpoint,
  async verify(file, bytes, trust) {
    if (trust.vkeys.length > 0 && trust.policy === undefined) return signedNote.verify(file, bytes, trust);
    const notProven = ['that the records it covers exist or are true', 'that no other checkpoint was signed'];
    const keys = logKeys(bytes, trust);
    if (keys.length === 0 && trust.vkeys.length === 0) {
      const message = 'No key is known to verify with; name one with --public-key, --keyring or --vkey.';
      return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details: {}, notProven };
    }
    try {
      const anchor = readAnchor(bytes, anchorTrust({ ...trust, keys }, trust.policy));
      const { origin, size } = anchor.checkpoint;
      const details = { origin, size, witnessed: anchor.witnessed, witnesses: anchor.witnesses };
      const missing = missingWitnesses(anchor, trust.policy);
      if (missing !== null)
        return { result: 'bad', code: 'LOG_QUORUM', message: missing, details, notProven };
      const message = `${counted(size, 'record')} of ${origin}, ${anchorText(anchor)}.`;
      return { result: 'good', code: 'ok', message, details, notProven };
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      const { code, message } = error;
      if (!isUnknownSigner(error)) return { result: 'bad', code, message, details: {}, notProven };
      return { result: 'undecided', code, message: unknownSigner(bytes), details: {}, notProven };
    }
  },
};

/** The keys that the log may have signed with: those that were named, as keys or by its name. */
function logKeys(note: string | Uint8Array, { keys, vkeys, unasked }: Trust): readonly PublicKey[] {
  if (vkeys.length === 0) return keys;
  const { origin } = parseCheckpointBody(parseNote(note).text);
  const named = vkeys.filter(({ name }) => name === origin).map(({ publicKey }) => publicKey);
  return unasked ? named : [...keys, ...named];
}

/** Longer than any checkpoint or proof. */
const MAX_NOTE = 1 << 20;

/** The checkpoints among the files that were named, and those of the proofs among them. */
export function namedAnchors(trust: Trust): NamedAnchor[] {
  return trust.files.flatMap((file): NamedAnchor[] => {
    try {
      const note = noteIn(file, trust);
      if (note === undefined) return [];
      const keys = logKeys(note, trust);
      return [{ file, anchor: readAnchor(note, anchorTrust({ ...trust, keys }, trust.policy)) }];
    } catch (error) {
      if (error instanceof BullaError) return [{ file, error }];
      throw error;
    }
  });
}

function noteIn(file: string, trust: Trust): string | Uint8Array | undefined {
  const found = file === '-' ? undefined : statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() && found.size > MAX_NOTE) return undefined;
  let bytes: Uint8Array;
  try {
    bytes = trust.read(file);
  } catch (error) {
    if (error instanceof BullaError) return undefined; // its own verdict tells
    throw error;
  }
  if (bytes.length > MAX_NOTE) return undefined;
  if (isProof(bytes)) return parseProof(fromUtf8(bytes)).checkpoint;
  return isCheckpoint(bytes) ? bytes : undefined;
}

/** What a checkpoint lacks of what a policy asks for, in words; null where that is nothing. */
export function missingWitnesses(anchor: Anchor, policy: Policy | undefined): string | null {
  if (policy === undefined || policy.quorum === 'none' || anchor.witnessed) return null;
  return `The policy asks for more witnesses: ${anchorText(anchor)}.`;
}

/** Why nothing is decided about a checkpoint of a key that is not at hand. */
export function unknownSigner(note: string | Uint8Array): string {
  return `None of the keys at hand signed the checkpoint; ${signersOf(note)} Name the key with --public-key or --keyring.`;
}

/** Who stands behind a checkpoint, in words. */
export function anchorText({ witnessed, witnesses }: Anchor): string {
  const who = witnesses.map(({ name, time }) => `${name} at ${new Date(time * 1000).toISOString()}`);
  if (witnessed) return `witnessed by ${who.join(', ')}`;
  return who.length === 0
    ? 'signed by the log alone: anchored locally only'
    : `too few witnesses (${who.join(', ')}): anchored locally only`;
}
