import type { Code } from '@bulla/core/codes';
import { keyId, publicKey, type Signer } from '@bulla/core/crypto';
import {
  type ApprovalHow,
  type Authorization,
  addSignature,
  type Envelope,
  type ExecProfile,
  execHash,
  moment,
  parseEnvelope,
  readApprovals,
  readAuthorization,
  type StatedApproval,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { claimsOf, signClaims, unixTime } from '../envelope/index.ts';

/** Who is about to sign which envelope, and how. */
interface AuthorizeInput {
  readonly envelope: Uint8Array;
  readonly signer: Signer;
  /** `human` if a person was asked, `policy` if a rule decided before, `escalated` as a higher authority. */
  readonly how: ApprovalHow;
  readonly profile: ExecProfile;
  /** An authorization that others signed already; without it a new one is made. */
  readonly add?: Uint8Array | undefined;
  /** Of a new one: the ledger that will use it up. */
  readonly audience?: string | undefined;
  /** Of a new one: who issues it. Default: the id of the key. */
  readonly issuer?: string | undefined;
  /** Of a new one: from how many seconds from now on. Default 0. */
  readonly notBefore?: number | undefined;
  /** Of a new one: for how many seconds from then on. Default: until the envelope's own time is over. */
  readonly expires?: number | undefined;
}

/** What is to be shown to whoever signs, before they do. */
export interface Proposed {
  readonly envelope: Envelope;
  /** All that the signature covers, but for the statement of the approval. */
  readonly claims: Authorization;
  /** The id of the key that would sign. */
  readonly keyId: string;
  /** What the signatures state that are there already; nothing of it is verified. */
  readonly others: readonly StatedApproval[];
  /**
   * Throws `EE_TTL_EXPIRED` or `EE_AO_EXPIRED` for what no ledger can use any more. What is only described, and not
   * signed, may have expired.
   */
  assertInTime(): void;
  /** Signs, stating this moment: people take their time to read. Rejects as `assertInTime` throws. */
  sign(): Promise<string>;
}

/**
 * Prepares the authorization of an envelope, so that a person can be shown what they sign. Throws what reading an
 * envelope or an authorization throws, `USAGE` for a new one without its ledger, and `EE_HASH_MISMATCH`,
 * `EE_AO_SUBJECT_MISMATCH` or `EE_AO_TENANT_MISMATCH` for one of others that is not for this envelope.
 */
export function proposeAuthorization(input: AuthorizeInput): Proposed {
  const { signer, how, add } = input;
  const envelope = parseEnvelope(input.envelope);
  const id = keyId(publicKey(signer.algorithm, signer.publicKey));
  const claims = add === undefined ? newClaims(envelope, id, input) : claimsToSign(add, envelope, input);
  const assertInTime = () => refuseExpired(envelope, claims);
  return {
    envelope,
    claims,
    keyId: id,
    others: add === undefined ? [] : readApprovals(add),
    assertInTime,
    async sign() {
      assertInTime();
      const person = { signer, how };
      if (add === undefined) return signClaims(claims, [person]);
      return addSignature(add, { ...person, when: unixTime(), chain: [] });
    },
  };
}

function newClaims(envelope: Envelope, id: string, input: AuthorizeInput): Authorization {
  const { audience, issuer = id, notBefore = 0, expires, profile } = input;
  if (audience === undefined)
    throw new BullaError('USAGE', 'Name the ledger that will use the authorization.');
  const nbf = unixTime() + notBefore;
  const exp = expires === undefined ? undefined : nbf + expires;
  return claimsOf(envelope, {
    ...{ iss: issuer, aud: audience, profile, nbf },
    ...(exp !== undefined && { exp }),
  });
}

/** Somebody else's authorization is signed only when it is for the envelope that is shown, and for its caller. */
function claimsToSign(add: Uint8Array, envelope: Envelope, { profile }: AuthorizeInput): Authorization {
  const claims = readAuthorization(add);
  const refuse = (code: Code, claim: string, sentence: string) => {
    throw new BullaError(code, sentence, { path: `/payload/${claim}` });
  };
  if (claims.exec_hash !== execHash(envelope, profile))
    refuse('EE_HASH_MISMATCH', 'exec_hash', 'The authorization is for another envelope.');
  if (claims.sub !== envelope.actor.caller)
    refuse('EE_AO_SUBJECT_MISMATCH', 'sub', 'The authorization is for another caller.');
  if (claims.tenant_id !== envelope.tenant_id)
    refuse('EE_AO_TENANT_MISMATCH', 'tenant_id', 'The authorization is for another tenant.');
  return claims;
}

/** Nobody signs what no ledger can use any more. */
function refuseExpired({ constraints }: Envelope, { exp }: Authorization): void {
  const now = unixTime();
  const refuse = (code: Code, what: string, until: number) => {
    throw new BullaError(
      code,
      `${what} expired at ${moment(until)}, and now it is ${moment(now)}: not signed.`,
    );
  };
  if (now > constraints.ttl) refuse('EE_TTL_EXPIRED', 'The envelope', constraints.ttl);
  if (now >= exp) refuse('EE_AO_EXPIRED', 'The authorization', exp);
}
