import { openNote, type PublicKey, parseCheckpointBody, parseNote } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { type Anchor, type Policy, readAnchor } from '../log/index.ts';
import { counted } from '../text/index.ts';
import { type Artifact, type Finding, findings, type Read } from './artifact.ts';
import { anchorTrust, standingVkeys, type Trust } from './trust.ts';

const ofNote = findings(['when it was signed', 'that no other version of the text was signed']);
const ofCheckpoint = findings([
  'that the records it covers exist or are true',
  'that no other checkpoint was signed',
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
  const parsed = attempt(() => parseNote(note));
  if (parsed instanceof BullaError) return ofNote.bad(parsed.code, parsed.message);
  if (vkeys.length === 0) {
    const names = parsed.signatures.map((signature) => signature.name);
    return ofNote.keyless('VERIFY_NO_KEY', 'No verifier key was given, so nothing is proven.', { names });
  }
  const opened = attempt(() => openNote(note, standingVkeys(trust)));
  if (opened instanceof BullaError) {
    const { code, message } = opened;
    if (!isUnknownSigner(opened)) return ofNote.bad(code, message);
    const isRevoked = !(attempt(() => openNote(note, vkeys)) instanceof BullaError);
    if (isRevoked) return ofNote.bad('key_revoked', 'A key that is revoked signed the note.');
    return ofNote.keyless(code, `None of the keys at hand signed the note; ${signersOf(note)}`);
  }
  const { text, verified, unknown } = opened;
  const names = verified.map(({ name }) => name);
  const details = { signed_by: names, unknown: unknown.map(({ name }) => name), text };
  return ofNote.good(`Signed by ${names.join(', ')}.`, details);
}

/**
 * A signed note that is a checkpoint of a chain. With verifier keys it is judged as any other note, by who signed it;
 * with a policy, those of the log are its keys.
 */
export function checkCheckpoint(artifact: Artifact<'checkpoint'>, trust: Trust): Finding {
  const { note } = artifact;
  if (trust.vkeys.length > 0 && trust.policy === undefined) return checkNote(artifact, trust);
  if (logKeys(note, trust).length === 0 && trust.vkeys.length === 0)
    return ofCheckpoint.keyless('VERIFY_NO_KEY', 'No key is known to verify with.');
  const anchor = anchorOf(note, trust);
  if (anchor instanceof BullaError) {
    const { code, message } = anchor;
    return isUnknownSigner(anchor)
      ? ofCheckpoint.keyless(code, unknownSigner(note))
      : ofCheckpoint.bad(code, message);
  }
  const { origin, size } = anchor.checkpoint;
  const details = { origin, size, witnessed: anchor.witnessed, witnesses: anchor.witnesses };
  const missing = missingWitnesses(anchor, trust.policy);
  if (missing !== null) return ofCheckpoint.bad('LOG_QUORUM', missing, details);
  return ofCheckpoint.good(`${counted(size, 'record')} of ${origin}, ${anchorText(anchor)}.`, details);
}

/** What a checkpoint vouches for, or why it vouches for nothing. */
export function anchorOf(note: string, trust: Trust): Read<Anchor> {
  return attempt(() => readAnchor(note, anchorTrust({ ...trust, keys: logKeys(note, trust) }, trust.policy)));
}

/** The keys that the log may have signed with: those that were named, as keys or by its name. */
function logKeys(note: string, { keys, vkeys, unasked }: Trust): readonly PublicKey[] {
  if (vkeys.length === 0) return keys;
  const { origin } = parseCheckpointBody(parseNote(note).text);
  const named = vkeys.filter(({ name }) => name === origin).map(({ publicKey }) => publicKey);
  return unasked ? named : [...keys, ...named];
}

/** What a checkpoint lacks of what a policy asks for, in words; null where that is nothing. */
export function missingWitnesses(anchor: Anchor, policy: Policy | undefined): string | null {
  if (policy === undefined || policy.quorum === 'none' || anchor.witnessed) return null;
  return `The policy asks for more witnesses: ${anchorText(anchor)}.`;
}

/** Why nothing is decided about a checkpoint of a key that is not at hand. */
export function unknownSigner(note: string): string {
  return `None of the keys at hand signed the checkpoint; ${signersOf(note)}`;
}

export function anchorText({ witnessed, witnesses }: Anchor): string {
  const who = witnesses.map(({ name, time }) => `${name} at ${new Date(time * 1000).toISOString()}`);
  if (witnessed) return `witnessed by ${who.join(', ')}`;
  return who.length === 0
    ? 'signed by the log alone: anchored locally only'
    : `too few witnesses (${who.join(', ')}): anchored locally only`;
}
