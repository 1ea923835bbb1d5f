import { keyId } from '@bulla/core/crypto';
import {
  type ApproverKey,
  AUTHORIZATION_TYPE,
  execHash,
  openAuthorization,
  parseEnvelope,
  readApprovals,
  readAuthorization,
  type VerifiedAuthorization,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { JsonObject } from '@bulla/core/json';
import { approverKey } from '../../keys/index.ts';
import { readInput } from '../../os/index.ts';
import { rootOf } from './artifact-root.ts';
import type { Artifact, Trust, Verdict } from './artifacts.ts';

const NOT_PROVEN = [
  'that it was not used before, or that its time and its policy still hold: "bulla envelope explain" asks the ledger',
  'that the people who hold the keys understood what they signed',
];

function isAuthorization(bytes: Uint8Array): boolean {
  const root = rootOf(bytes);
  const signatures = root === null || root === 'broken' ? undefined : root.get('signatures');
  if (!Array.isArray(signatures)) return false;
  return signatures.some((each) => {
    const header = each instanceof JsonObject ? each.get('protected') : undefined;
    return typeof header === 'string' && Buffer.from(header, 'base64url').includes(AUTHORIZATION_TYPE);
  });
}

/** Who holds a key is not known here, so each key counts as a person of its own. */
function approvers(trust: Trust): ApproverKey[] {
  return [...trust.keys, ...trust.pqKeys].flatMap((key) => approverKey(keyId(key), key, trust));
}

function refused(error: unknown): Verdict {
  if (!(error instanceof BullaError)) throw error;
  const details = error.path === undefined ? {} : { path: error.path };
  return { result: 'bad', code: error.code, message: error.message, details, notProven: NOT_PROVEN };
}

function undecided(message: string, details: Verdict['details']): Verdict {
  return { result: 'undecided', code: 'VERIFY_NO_KEY', message, details, notProven: NOT_PROVEN };
}

/** Who an authorization says signed it, where none of them is at hand; null where one is. */
function missingSigners(bytes: Uint8Array, trust: Trust): string | null {
  const signers = readApprovals(bytes).map((approval) => approval.keyId);
  const known = new Set([...trust.keys, ...trust.pqKeys].map(keyId));
  if (signers.some((id) => known.has(id))) return null;
  return `None of the keys at hand signed the authorization; it says that it was signed by ${signers.join(', ')}. Name the key with --public-key or --keyring.`;
}

/** An envelope is as good as the authorization of it, which is looked for among the files that were named. */
export const envelope: Artifact = {
  kind: 'execution envelope',
  isSigned: true,
  recognises(bytes) {
    const root = rootOf(bytes);
    if (root === null || root === 'broken') return false;
    return ['policy_binding', 'action_type'].every((key) => root.has(key));
  },
  async verify(file, bytes, trust) {
    // What cannot be read is no word on the envelope.
    const others = trust.files.filter((other) => other !== file).map((other) => readInput(other, 'document'));
    try {
      const read = parseEnvelope(bytes);
      const hashes = [execHash(read), execHash(read, 'envelope-v1-nul')];
      const details = { exec_hash: hashes[0], action_type: read.action_type };
      const found = others
        .filter(isAuthorization)
        .find((each) => hashes.includes(readAuthorization(each).exec_hash));
      if (found === undefined)
        return undecided(
          'It is well formed. Name the authorization of it too, to see who approved it.',
          details,
        );
      if (trust.keys.length === 0)
        return undecided('No key is known to verify the authorization with.', details);
      const missing = missingSigners(found, trust);
      if (missing !== null) return undecided(missing, details);
      const { people, unknown } = openAuthorization(found, { keys: approvers(trust) });
      const message = `Exactly this was approved by ${people.map((id) => id.slice(0, 16)).join(', ')}.${unknownText(unknown)}`;
      return { result: 'good', code: 'ok', message, details: { ...details, people }, notProven: NOT_PROVEN };
    } catch (error) {
      return refused(error);
    }
  },
};

/** An authorization by itself: who signed it, for which exec_hash. */
export const authorization: Artifact = {
  kind: 'authorization',
  isSigned: true,
  recognises: isAuthorization,
  async verify(_, bytes, trust) {
    try {
      const { exec_hash } = readAuthorization(bytes);
      if (trust.keys.length === 0)
        return undecided('No key is known to verify it with; name one with --public-key.', { exec_hash });
      const missing = missingSigners(bytes, trust);
      if (missing !== null) return undecided(missing, { exec_hash });
      return signedBy(openAuthorization(bytes, { keys: approvers(trust) }));
    } catch (error) {
      return refused(error);
    }
  },
};

/** What was not verified is said, though it counts for nothing. */
function unknownText(unknown: readonly string[]): string {
  if (unknown.length === 0) return '';
  return ` Of keys that are not known here and count for nothing: ${unknown.map((id) => id.slice(0, 16)).join(', ')}.`;
}

function signedBy({ claims, people, unknown }: VerifiedAuthorization): Verdict {
  const { exec_hash, aud, exp } = claims;
  const message = `Signed by ${people.map((id) => id.slice(0, 16)).join(', ')}, for ${exec_hash}.${unknownText(unknown)}`;
  const details = { exec_hash, audience: aud, expires: exp, people, unknown };
  return { result: 'good', code: 'ok', message, details, notProven: NOT_PROVEN };
}
