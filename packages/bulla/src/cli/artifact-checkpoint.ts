import { fromUtf8, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Anchor, parseCheckpointBody, readAnchor } from '@bulla/core/log';
import { isUnknownSigner, signersOf } from './artifact-note.ts';
import type { Artifact } from './artifacts.ts';
import { anchorTrust } from './trust.ts';
import { counted } from './words.ts';

/** A signed note that is a checkpoint of a chain; one for which a verifier key is given is a note like any other. */
export const checkpoint: Artifact = {
  kind: 'checkpoint',
  recognises(bytes, { vkeys }) {
    try {
      parseCheckpointBody(parseNote(fromUtf8(bytes)).text);
      return vkeys.length === 0;
    } catch {
      return false;
    }
  },
  async verify(_, bytes, trust) {
    const notProven = ['that the records it covers exist or are true', 'that no other checkpoint was signed'];
    if (trust.keys.length === 0) {
      const message = 'No key is known to verify with; name one with --public-key, --keyring or --vkey.';
      return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details: {}, notProven };
    }
    try {
      const anchor = readAnchor(bytes, anchorTrust(trust, trust.policy));
      const { origin, size } = anchor.checkpoint;
      return {
        result: 'good',
        code: 'ok',
        message: `${counted(size, 'record')} of ${origin}, ${anchorText(anchor)}.`,
        details: { origin, size, witnessed: anchor.witnessed, witnesses: anchor.witnesses },
        notProven,
      };
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      const { code, message } = error;
      if (!isUnknownSigner(error)) return { result: 'bad', code, message, details: {}, notProven };
      return { result: 'undecided', code, message: unknownSigner(bytes), details: {}, notProven };
    }
  },
};

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
