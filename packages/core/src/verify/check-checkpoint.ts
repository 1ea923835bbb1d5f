import { type PublicKey, parseCheckpointBody, parseNote } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { type Anchor, type Policy, readAnchor } from '../log/index.ts';
import { counted } from '../text/index.ts';
import { type Artifact, type Finding, findings, type Read } from './artifact.ts';
import { checkNote, isUnknownSigner, signersOf } from './check-note.ts';
import { anchorTrust, type Trust } from './trust.ts';

const { good, bad, keyless } = findings([
  'that the records it covers exist or are true',
  'that no other checkpoint was signed',
]);

/**
 * A signed note that is a checkpoint of a chain. With verifier keys it is judged as any other note, by who signed it;
 * with a policy, those of the log are its keys.
 */
export function checkCheckpoint(artifact: Artifact<'checkpoint'>, trust: Trust): Finding {
  const { note } = artifact;
  if (trust.vkeys.length > 0 && trust.policy === undefined) return checkNote(artifact, trust);
  if (logKeys(note, trust).length === 0 && trust.vkeys.length === 0)
    return keyless('VERIFY_NO_KEY', 'No key is known to verify with.');
  const anchor = anchorOf(note, trust);
  if (anchor instanceof BullaError) {
    const { code, message } = anchor;
    return isUnknownSigner(anchor) ? keyless(code, unknownSigner(note)) : bad(code, message);
  }
  const { origin, size } = anchor.checkpoint;
  const details = { origin, size, witnessed: anchor.witnessed, witnesses: anchor.witnesses };
  const missing = missingWitnesses(anchor, trust.policy);
  if (missing !== null) return bad('LOG_QUORUM', missing, details);
  return good(`${counted(size, 'record')} of ${origin}, ${anchorText(anchor)}.`, details);
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

/** Who stands behind a checkpoint, in words. */
export function anchorText({ witnessed, witnesses }: Anchor): string {
  const who = witnesses.map(({ name, time }) => `${name} at ${new Date(time * 1000).toISOString()}`);
  if (witnessed) return `witnessed by ${who.join(', ')}`;
  return who.length === 0
    ? 'signed by the log alone: anchored locally only'
    : `too few witnesses (${who.join(', ')}): anchored locally only`;
}
