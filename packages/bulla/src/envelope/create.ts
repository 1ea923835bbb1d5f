import { randomBytes, randomUUID } from 'node:crypto';
import type { Commitment } from '@bulla/core/canon';
import {
  type Actor,
  type Authorization,
  type Constraints,
  authorize as coreAuthorize,
  createEnvelope as coreCreateEnvelope,
  type Envelope,
  type ExecProfile,
  execHash,
  type LockedTool,
  type PolicyBinding,
  type Rail,
  type Signatory,
  type Target,
  toolCallEnvelope,
} from '@bulla/core/envelope';

/** What has a default, or is null where it does not apply. */
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

/** An action, with what only this action can say. */
export interface EnvelopeDraft {
  readonly tenant_id: string;
  readonly action_type: string;
  readonly rail: Optional<Rail, 'chain_id' | 'contract'>;
  readonly actor: Optional<Actor, 'role'>;
  readonly target: Optional<Target, 'asset_class'>;
  /** The policy under which it is done: its binding, or what `parsePolicy` gave. */
  readonly policy: PolicyBinding;
  /** Default: five minutes from now, a nonce by chance, used once by the caller. */
  readonly constraints?: Partial<Constraints>;
  /** Default: fresh UUIDs. */
  readonly intent_id?: string;
  readonly execution_id?: string;
  readonly metadata?: { readonly [name: string]: unknown };
}

/** When it is; default: now. */
export interface Moment {
  readonly now?: number;
}

const FIVE_MINUTES = 300;

/** Unix time in whole seconds. */
export function unixTime(): number {
  return Math.floor(Date.now() / 1000);
}

/** Makes an envelope. Throws as `createEnvelope` of `@bulla/core/envelope` does. */
export function createEnvelope(draft: EnvelopeDraft, { now = unixTime() }: Moment = {}): Envelope {
  const { action_type, rail, target, policy } = draft;
  const { policy_id, policy_version, policy_hash } = policy;
  return coreCreateEnvelope({
    ...{ version: 1, action_type },
    ...filledIn(draft, now),
    rail: { chain_id: null, contract: null, ...rail },
    target: { asset_class: null, ...target },
    policy_binding: { policy_id, policy_version, policy_hash },
  });
}

/** The same for one call of a locked tool, with the commitment to its arguments. Throws as `toolCallEnvelope` does. */
export function createToolCall(
  call: LockedTool & { readonly args: Commitment },
  draft: Omit<EnvelopeDraft, 'action_type' | 'rail' | 'target'>,
  { now = unixTime() }: Moment = {},
): Envelope {
  const { constraints, ...rest } = filledIn(draft, now);
  return toolCallEnvelope({ ...call, ...rest, ...constraints, policy: draft.policy });
}

/** What has a default, whatever the action. */
function filledIn(draft: Omit<EnvelopeDraft, 'action_type' | 'rail' | 'target'>, now: number) {
  const { tenant_id, actor, constraints, metadata } = draft;
  return {
    tenant_id,
    intent_id: draft.intent_id ?? randomUUID(),
    execution_id: draft.execution_id ?? randomUUID(),
    actor: { role: null, ...actor },
    constraints: {
      ...{ ttl: now + FIVE_MINUTES, nonce: randomNonce(), replay_scope: 'caller' as const },
      ...constraints,
    },
    metadata: { created_at: now, ...metadata },
  };
}

/** 53 bits: the most that every reader of JSON keeps. */
function randomNonce(): number {
  const bits = randomBytes(8).readBigUInt64BE() >> 11n;
  return Number(bits);
}

/**
 * UUID version 7 (RFC 9562 §5.7): milliseconds and chance. A ledger keeps every id for ever in an index; ids that grow
 * with time are added at its end.
 */
function timeOrderedUuid(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Who issues the authorization of an envelope, and for which ledger. */
export interface AuthorizeOptions
  extends Pick<Authorization, 'iss' | 'aud'>,
    Partial<Pick<Authorization, 'nbf' | 'exp' | 'jti'>>,
    Moment {
  /** Default `envelope-v1`. */
  readonly profile?: ExecProfile;
}

/**
 * The claims of an authorization of exactly this envelope, for its caller and its tenant, from now until its time is
 * over, under a fresh id.
 */
export function claimsOf(envelope: Envelope, options: AuthorizeOptions): Authorization {
  const { iss, aud, profile, now = unixTime() } = options;
  return {
    iss,
    sub: envelope.actor.caller,
    aud,
    tenant_id: envelope.tenant_id,
    exec_hash: execHash(envelope, profile),
    nbf: options.nbf ?? now,
    exp: options.exp ?? envelope.constraints.ttl + 1,
    jti: options.jti ?? timeOrderedUuid(),
  };
}

type Person = Optional<Signatory, 'when' | 'how' | 'chain'>;

/**
 * Signs claims. Each of the people approves as a human, now and without further steps, unless they say otherwise.
 * Rejects as `authorize` of `@bulla/core/envelope` does.
 */
export function signClaims(
  claims: Authorization,
  people: readonly Person[],
  { now = unixTime() }: Moment = {},
): Promise<string> {
  return coreAuthorize(
    claims,
    people.map((each) => ({ when: now, how: 'human', chain: [], ...each })),
  );
}

/** Signs an authorization of exactly this envelope: `signClaims` of `claimsOf`. */
export function authorize(
  envelope: Envelope,
  options: AuthorizeOptions,
  people: readonly Person[],
): Promise<string> {
  return signClaims(claimsOf(envelope, options), people, options);
}
