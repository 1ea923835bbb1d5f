import type { Code } from '../codes.ts';
import { keyId, type PublicKey, toBase64url, toUtf8, verify } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import {
  integer,
  type JsonObject,
  type JsonValue,
  type Limits,
  parse,
  parseStrictly,
  pointer,
  record,
  stringify,
  text,
  toPlain,
} from '../json/index.ts';
import { type Envelope, identifier } from './envelope.ts';
import {
  type Approval,
  invalid,
  type Jws,
  parseJws,
  type Signatory,
  signingInput,
  signPayload,
  writeJws,
} from './jws.ts';

// The Authorization Object, which the specification leaves open: claims with the names of RFC 7519, and two of the
// envelope's, signed as a JWS by one or several keys.

/** What an authorization says. */
export interface Authorization {
  /** Who issues it. */
  readonly iss: string;
  /** Who may act: the envelope's `actor.caller`. */
  readonly sub: string;
  /** The ledger that will consume the nonce; no other may. */
  readonly aud: string;
  readonly tenant_id: string;
  readonly exec_hash: string;
  /** The first second (Unix time) at which it holds. */
  readonly nbf: number;
  /** The first second at which it no longer holds (RFC 7519 §4.1.4). */
  readonly exp: number;
  /** The id of this authorization. */
  readonly jti: string;
}

/** An approval as a signature states it, before anything is verified. */
export interface StatedApproval extends Approval {
  /** The full id of the key that is said to have signed it. */
  readonly keyId: string;
}

/** A key that may sign authorizations, and the person who holds it. */
export interface ApproverKey {
  readonly key: PublicKey;
  /** One name a person, however many keys the person has. */
  readonly person: string;
  /** What else is known of the key. Default: nothing, so that it always counts. */
  readonly validity?: KeyValidity;
}

/** From when to when a key counts, in Unix seconds; null for no limit. */
export interface KeyValidity {
  readonly notBefore: number | null;
  /** The last second. */
  readonly notAfter: number | null;
  /**
   * When it was revoked. From then on nothing that it signed counts: nobody can tell what it signed before from what
   * was signed later and says so.
   */
  readonly revokedAt: number | null;
}

declare const proof: unique symbol;

/** An approval that a known key signed. */
export interface VerifiedApproval extends StatedApproval {
  /** The name under which the verifier knows the key. */
  readonly person: string;
}

/** An authorization of which every signature by a known key verified; only `openAuthorization` makes one. */
export interface VerifiedAuthorization {
  readonly claims: Authorization;
  /** What the known keys signed, in the order of the signatures. There are no other approvals. */
  readonly approvals: readonly VerifiedApproval[];
  /** The distinct people who signed, in the order of their first signature. How many are needed, a policy says. */
  readonly people: readonly string[];
  /** The full ids of the keys that signed. */
  readonly keyIds: readonly string[];
  /** The ids that other signatures name. Those were not checked, and prove nothing. */
  readonly unknown: readonly string[];
  /** The last second at which all of the keys still count; null for no limit. */
  readonly until: number | null;
  readonly [proof]: true;
}

const HASH = {
  pattern: /^(?:[0-9a-f]{64}|0x[0-9a-f]{64})$/,
  what: 'hex digits, in the later draft after 0x',
};

/** The claims, all of which must be there. */
const claimsSchema = record({
  iss: identifier,
  sub: identifier,
  aud: identifier,
  tenant_id: identifier,
  exec_hash: text(64, 66, HASH),
  nbf: integer(0),
  exp: integer(0),
  jti: identifier,
});

/** The claims of a parsed object. Throws `EE_AO_INVALID` with the path below `at`. */
function readClaims(value: JsonValue, at: readonly string[]): Authorization {
  claimsSchema.run(value, at, (_, where, sentence) => {
    throw new BullaError('EE_AO_INVALID', sentence, { path: pointer(where) });
  });
  const claims = Object.freeze(toPlain(value)) as unknown as Authorization;
  if (claims.nbf >= claims.exp)
    throw invalid('An authorization must begin before it expires.', [...at, 'exp']);
  return claims;
}

/**
 * Writes an authorization that each of the signatories signs, each with the statement of its own approval. Rejects
 * with `EE_AO_INVALID` for claims that `openAuthorization` would refuse and without signers, with `EE_AO_HEADER` for
 * such an approval, with `EE_AO_DUPLICATE_SIGNATURE` for two signers of one key, with the codes of signing
 * (`EE_AO_ALG`, `EE_AO_SIGNATURE_INVALID`, `KEY_…`), with `VALUE_…` for what JSON cannot hold, and with whatever a
 * signer fails with.
 */
export async function authorize(claims: Authorization, signatories: readonly Signatory[]): Promise<string> {
  const written = stringify(claims);
  readClaims(parse(written), ['payload']);
  const payload = toBase64url(toUtf8(written));
  const signatures = [];
  for (const each of signatories) signatures.push(await signPayload(payload, each));
  return writeJws(payload, signatures);
}

/**
 * Adds a signature to an authorization, whose other signatures are kept unverified. It covers the claims and the
 * signatory's own approval; who signs reads the claims with `readAuthorization` first. Rejects as
 * `readAuthorization` and `authorize` do.
 */
export async function addSignature(
  authorization: string | Uint8Array,
  signatory: Signatory,
): Promise<string> {
  const { payload, signatures, bytes } = parseJws(authorization);
  claimsOf(bytes);
  const added = await signPayload(payload, signatory);
  return writeJws(payload, [...signatures, added]);
}

/** What an authorization claims, with nothing verified: for showing it. Throws as `openAuthorization` does of its form. */
export function readAuthorization(authorization: string | Uint8Array, limits: Limits = {}): Authorization {
  return claimsOf(parseJws(authorization, limits).bytes);
}

/** What the signatures state, with nothing verified: for showing it. Throws as `readAuthorization` does. */
export function readApprovals(authorization: string | Uint8Array, limits: Limits = {}): StatedApproval[] {
  const { signatures } = parseJws(authorization, limits);
  return signatures.map(({ kid, approval }) => ({ keyId: kid, ...approval }));
}

function claimsOf(payload: Uint8Array): Authorization {
  let value: JsonValue;
  try {
    value = parseStrictly(payload, {}, 'EE_AO_INVALID', 'The claims are not strict JSON');
  } catch (cause) {
    throw invalid((cause as BullaError).message, ['payload'], cause);
  }
  return readClaims(value, ['payload']);
}

interface OpenOptions {
  readonly keys: readonly ApproverKey[];
  /** Unix time in seconds at which the keys must count. Default: whenever their holders say that they approved. */
  readonly now?: number;
  readonly limits?: Limits;
}

/**
 * Opens an authorization that at least one known key signed. Throws with the path: the codes of its form
 * (`EE_AO_INVALID`, `EE_AO_HEADER`, `EE_AO_ALG`, `EE_AO_DUPLICATE_SIGNATURE`), `EE_AO_ALG` when a header names
 * another algorithm than the key has, `EE_AO_SIGNATURE_INVALID` when a known key's signature does not verify or no
 * known key signed, `EE_AO_KEY_REVOKED` and `EE_AO_KEY_INVALID` when a known key is revoked or was not valid then,
 * `EE_AO_INVALID` for the claims, which are looked at only then, and `EE_AO_KEYS_AMBIGUOUS` when one key is given to
 * two people. Says nothing of time, tenant, audience or envelope: `checkEnvelope` does.
 */
export function openAuthorization(
  authorization: string | Uint8Array,
  { keys, now, limits = {} }: OpenOptions,
): VerifiedAuthorization {
  const known = holders(keys);
  const jws = parseJws(authorization, limits);
  const approvals: VerifiedApproval[] = [];
  const unknown: string[] = [];
  let until = Number.POSITIVE_INFINITY;
  for (const [i, { kid, approval }] of jws.signatures.entries()) {
    const holder = known.get(kid);
    if (holder === undefined) {
      unknown.push(kid);
      continue;
    }
    checkSignature(jws, i, holder.key);
    checkValidity(holder.validity, approval.when, now, i);
    until = Math.min(until, holder.validity?.notAfter ?? Number.POSITIVE_INFINITY);
    approvals.push(Object.freeze({ person: holder.person, keyId: kid, ...approval }));
  }
  if (approvals.length === 0)
    throw new BullaError('EE_AO_SIGNATURE_INVALID', 'No known key signed the authorization.', {
      path: '/signatures',
    });
  const claims = claimsOf(jws.bytes);
  const people = Object.freeze([...new Set(approvals.map(({ person }) => person))]);
  const keyIds = Object.freeze(approvals.map(({ keyId }) => keyId));
  const opened = {
    ...{ claims, approvals: Object.freeze(approvals), people, keyIds, unknown: Object.freeze(unknown) },
    until: Number.isFinite(until) ? until : null,
  };
  return Object.freeze(opened) as unknown as VerifiedAuthorization;
}

function holders(keys: readonly ApproverKey[]): Map<string, ApproverKey> {
  const known = new Map<string, ApproverKey>();
  for (const holder of keys) {
    const id = idOf(holder.key);
    const before = known.get(id);
    if (before !== undefined && before.person !== holder.person)
      throw new BullaError('EE_AO_KEYS_AMBIGUOUS', 'One key is given to two people.');
    const validity = stricter(before?.validity, holder.validity);
    known.set(id, { ...holder, ...(validity && { validity }) });
  }
  return known;
}

/** A key that is given twice counts only when it does both times. */
function stricter(a: KeyValidity | undefined, b: KeyValidity | undefined): KeyValidity | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const both = (x: number | null, y: number | null, choose: (x: number, y: number) => number) =>
    x === null || y === null ? (x ?? y) : choose(x, y);
  return {
    notBefore: both(a.notBefore, b.notBefore, Math.max),
    notAfter: both(a.notAfter, b.notAfter, Math.min),
    revokedAt: both(a.revokedAt, b.revokedAt, Math.min),
  };
}

/** A revoked key counts for nothing; another one when it says that it signed, and now. */
function checkValidity(
  validity: KeyValidity | undefined,
  when: number,
  now: number | undefined,
  index: number,
): void {
  if (validity === undefined) return;
  const { notBefore, notAfter, revokedAt } = validity;
  const refuse = (code: Code, sentence: string) => {
    throw new BullaError(code, sentence, { path: pointer(['signatures', index]) });
  };
  if (revokedAt !== null) refuse('EE_AO_KEY_REVOKED', 'A key that signed the authorization is revoked.');
  for (const time of [when, now ?? when]) {
    if ((notBefore !== null && time < notBefore) || (notAfter !== null && time > notAfter))
      refuse('EE_AO_KEY_INVALID', `A key that signed the authorization was not valid at ${time}.`);
  }
}

/** A verifier is given the same keys again and again. */
const ids = new WeakMap<PublicKey, string>();

function idOf(key: PublicKey): string {
  const id = ids.get(key) ?? keyId(key);
  ids.set(key, id);
  return id;
}

function checkSignature(jws: Jws, index: number, key: PublicKey): void {
  const { alg, protected: encoded, signature } = jws.signatures[index]!;
  const at = ['signatures', index];
  if (alg !== key.algorithm) {
    throw new BullaError('EE_AO_ALG', `The header says ${alg}, but the key is of ${key.algorithm}.`, {
      path: pointer([...at, 'protected', 'alg']),
    });
  }
  if (!verify(key, signingInput(encoded, jws.payload), signature)) {
    throw new BullaError('EE_AO_SIGNATURE_INVALID', 'The signature does not verify.', {
      path: pointer([...at, 'signature']),
    });
  }
}

/** The `type` of our object in `authorization_details` (RFC 9396 §2). */
const AUTHORIZATION_DETAILS_TYPE = 'bulla.execution-envelope.v1';

/**
 * An authorization as one `authorization_details` object: the audience is its location, the id its identifier, the
 * envelope's action type its action, and the other claims keep their names. It carries no signature, so it asks for
 * or describes an authorization and is none.
 */
export function toAuthorizationDetails(claims: Authorization, envelope: Envelope): JsonObject {
  const { aud, jti, ...rest } = claims;
  const details = {
    type: AUTHORIZATION_DETAILS_TYPE,
    locations: [aud],
    actions: [envelope.action_type],
    identifier: jti,
    ...rest,
  };
  return parse(stringify(details)) as JsonObject;
}
