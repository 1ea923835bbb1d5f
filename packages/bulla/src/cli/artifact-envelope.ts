import { keyId } from '@bulla/core/crypto';
import {
  type ApproverKey,
  AUTHORIZATION_TYPE,
  execHash,
  openAuthorization,
  parseEnvelope,
  readAuthorization,
  type VerifiedAuthorization,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, parse } from '@bulla/core/json';
import { approverKey } from '../keys/index.ts';
import type { Artifact, Trust, Verdict } from './artifacts.ts';
import { readInput } from './io.ts';

const NOT_PROVEN = [
  'that it was not used before, or that its time and its policy still hold: "bulla envelope explain" asks the ledger',
  'that the people who hold the keys understood what they signed',
];

function documentOf(bytes: Uint8Array): JsonObject | null {
  let document: JsonValue;
  try {
    document = parse(bytes);
  } catch {
    return null;
  }
  return document instanceof JsonObject ? document : null;
}

function isAuthorization(bytes: Uint8Array): boolean {
  const signatures = documentOf(bytes)?.get('signatures');
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

/** An envelope is as good as the authorization of it, which is looked for among the files that were named. */
export const envelope: Artifact = {
  kind: 'execution envelope',
  recognises(bytes) {
    const document = documentOf(bytes);
    return document !== null && ['policy_binding', 'action_type'].every((key) => document.has(key));
  },
  async verify(_, bytes, trust) {
    try {
      const read = parseEnvelope(bytes);
      const hashes = [execHash(read), execHash(read, 'envelope-v1-nul')];
      const details = { exec_hash: hashes[0], action_type: read.action_type };
      const found = trust.files
        .map((file) => readInput(file))
        .filter(isAuthorization)
        .find((each) => hashes.includes(readAuthorization(each).exec_hash));
      if (found === undefined)
        return undecided(
          'It is well formed. Name the authorization of it too, to see who approved it.',
          details,
        );
      if (trust.keys.length === 0)
        return undecided('No key is known to verify the authorization with.', details);
      const { people, unknown } = openAuthorization(found, { keys: approvers(trust) });
      const message = `Exactly this was approved by ${people.map((id) => id.slice(0, 16)).join(', ')}.${others(unknown)}`;
      return { result: 'good', code: 'ok', message, details: { ...details, people }, notProven: NOT_PROVEN };
    } catch (error) {
      return refused(error);
    }
  },
};

/** An authorization by itself: who signed it, for which exec_hash. */
export const authorization: Artifact = {
  kind: 'authorization',
  recognises: isAuthorization,
  async verify(_, bytes, trust) {
    try {
      const { exec_hash } = readAuthorization(bytes);
      if (trust.keys.length === 0)
        return undecided('No key is known to verify it with; name one with --public-key.', { exec_hash });
      return signedBy(openAuthorization(bytes, { keys: approvers(trust) }));
    } catch (error) {
      return refused(error);
    }
  },
};

/** What was not verified is said, though it counts for nothing. */
function others(unknown: readonly string[]): string {
  if (unknown.length === 0) return '';
  return ` Of keys that are not known here and count for nothing: ${unknown.map((id) => id.slice(0, 16)).join(', ')}.`;
}

function signedBy({ claims, people, unknown }: VerifiedAuthorization): Verdict {
  const { exec_hash, aud, exp } = claims;
  const message = `Signed by ${people.map((id) => id.slice(0, 16)).join(', ')}, for ${exec_hash}.${others(unknown)}`;
  const details = { exec_hash, audience: aud, expires: exp, people, unknown };
  return { result: 'good', code: 'ok', message, details, notProven: NOT_PROVEN };
}
