// Calls of a rogue server's tools that people approve: a store with a policy for them, and envelopes by their parts.
import { randomBytes, randomUUID } from 'node:crypto';
import { commit } from '@bulla/core/canon';
import { localSigner, publicKey, toHex } from '@bulla/core/crypto';
import {
  type ArgumentMapping,
  type Envelope,
  parsePolicy,
  toolCallEnvelope,
  writeEnvelope,
} from '@bulla/core/envelope';
import { type Lock, lockDigest } from '@bulla/core/lock';
import { onTestFinished } from 'vitest';
import { authorize, createVerifier, publishPolicy } from '../src/envelope/index.ts';
import type { EnvelopeGateOptions, GuardOptions } from '../src/gateway/index.ts';
import { createRecorder } from '../src/record/index.ts';
import type { Store } from '../src/store/index.ts';
import { type Guarded, initialize, openTestStore, rogueLock, startRogue } from './guard.ts';
import { temporaryFolder } from './run.ts';

export const AUDIENCE = 'desk.example';
export const TENANT = 'acme';
/** Of the records of the rogue server. */
export const SERVER = 'rogue';
export const AGENT = 'bot';
export const alice = localSigner('Ed25519', new Uint8Array(32).fill(9));
export const mallory = localSigner('Ed25519', new Uint8Array(32).fill(66));

/** A policy under which one person approves calls of tools and transfers. */
export const DESK_POLICY = JSON.stringify({
  policy_namespace: 'cryptocardia.policy.v1',
  policy_version: 1,
  policy_effective_at: 1_771_000_000,
  policy_doc: {
    format: 'bulla.policy.v1',
    policy_id: 'desk',
    actions: [
      { action_type: 'TOOL_CALL', people: 1 },
      { action_type: 'TRANSFER', people: 1 },
      { action_type: 'REFUND', people: 1 },
    ],
    assets: [
      {
        ...{ asset: 'EUR', asset_class: null, decimals: 2 },
        ...{ rail_type: 'BANK', network: 'sepa', chain_id: null, contract: null },
      },
    ],
    destinations: { allow: null, deny: [] },
    ceilings: [],
    velocity: [],
  },
});

/** What a host puts into `_meta`. */
export interface Presented {
  envelope: string;
  authorization: string;
  salt?: string;
}

/** The `_meta` member of the envelope of a call of a tool of the lock; `changes` replaces fields of it. */
export async function approved(
  lock: Lock,
  tool: string,
  args: object,
  changes: Partial<Parameters<typeof toolCallEnvelope>[0]> = {},
  by: { signer?: typeof alice; audience?: string } = {},
): Promise<Presented> {
  const salt = new Uint8Array(randomBytes(32));
  const now = Math.floor(Date.now() / 1000);
  const envelope = toolCallEnvelope({
    ...{ lock: lockDigest(lock), server: SERVER, name: tool, locked: lock.native!.tools.get(tool)!.digest },
    args: commit('args', args, salt),
    ...{ intent_id: randomUUID(), execution_id: randomUUID(), tenant_id: TENANT },
    actor: { caller: AGENT, role: null },
    policy: parsePolicy(DESK_POLICY),
    metadata: { created_at: now },
    ...{ ttl: now + 300, nonce: randomBytes(4).readUInt32BE(), replay_scope: 'caller' },
    ...changes,
  });
  return { ...(await signed(envelope, by)), salt: toHex(salt) };
}

export async function signed(
  envelope: Envelope,
  { signer = alice, audience = AUDIENCE }: { signer?: typeof alice; audience?: string } = {},
): Promise<Presented> {
  const now = envelope.constraints.ttl - 300;
  const authorization = await authorize(envelope, { iss: 'alice', aud: audience, now }, [{ signer }]);
  return { envelope: writeEnvelope(envelope), authorization };
}

export interface ApprovedGuard extends Awaited<ReturnType<typeof startRogue>> {
  readonly lock: Lock;
  readonly envelopes: EnvelopeGateOptions;
  /** Calls a tool with an envelope, or with whatever stands in its place. */
  callWith(name: string, args: object, presented: unknown, more?: object): ReturnType<Guarded['ask']>;
}

/** Guards a rogue server whose tool `echo` needs an envelope. */
export async function startApproved(
  options: Partial<GuardOptions> & {
    readonly irreversible?: readonly string[];
    readonly mappings?: ReadonlyMap<string, ArgumentMapping>;
    readonly behaviour?: string;
  } = {},
): Promise<ApprovedGuard> {
  const { irreversible = ['echo'], mappings, behaviour = 'ordinary', ...rest } = options;
  const store: Store = options.store ?? (await openTestStore(temporaryFolder()));
  if (options.store === undefined) onTestFinished(() => store.close());
  const record = createRecorder(store.chain('default'));
  await publishPolicy(store, DESK_POLICY, { record, by: 'operator' });
  const key = publicKey('Ed25519', alice.publicKey);
  const ledger = { audience: AUDIENCE, tenantId: TENANT };
  const envelopes: EnvelopeGateOptions = {
    verifier: createVerifier({ store, record, ...ledger, keys: [{ key, person: 'alice' }] }),
    ...{ ledger, irreversible: new Set(irreversible), mappings },
  };
  const lock = await rogueLock('ordinary');
  const guarded = await startRogue(behaviour, { store, name: SERVER, envelopes, ...rest });
  await initialize(guarded);
  return Object.assign(guarded, {
    lock,
    envelopes,
    callWith: (name: string, args: object, presented: unknown, more: object = {}) =>
      guarded.ask('tools/call', {
        name,
        arguments: args,
        _meta: { ...more, ...(presented === undefined ? {} : { 'bulla/envelope': presented }) },
      }),
  });
}
