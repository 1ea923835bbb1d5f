/** One transfer that a policy permits and two people may sign, for the tests of envelopes. */
import { localSigner, publicKey, type Signer } from '../src/crypto/index.ts';
import {
  type ApprovalFields,
  type Authorization,
  createEnvelope,
  type Envelope,
  type EnvelopeFields,
  execHash,
  parsePolicy,
  type Signatory,
} from '../src/envelope/index.ts';
import { BullaError } from '../src/error.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonRecord = { [key: string]: Json };

export const NOW = 1_771_088_600;
export const AUDIENCE = 'ledger.example';

export const policyDocument = {
  policy_namespace: 'cryptocardia.policy.v1',
  policy_version: 3,
  policy_effective_at: 1_771_000_000,
  policy_doc: {
    format: 'bulla.policy.v1',
    policy_id: 'payments',
    actions: [
      { action_type: 'TRANSFER', people: 2 },
      { action_type: 'TOOL_CALL', people: 1 },
    ],
    assets: [
      {
        asset: 'USDC',
        asset_class: 1,
        decimals: 6,
        rail_type: 'EVM',
        network: 'sepolia',
        chain_id: 11155111,
        contract: '0xAAaaAAaaAAaaAAaaAAaaAAaaAAaaAAaaAAaaAAaa',
      },
      {
        asset: 'EUR',
        asset_class: null,
        decimals: 2,
        rail_type: 'BANK_RAIL',
        network: 'sepa',
        chain_id: null,
        contract: null,
      },
    ],
    destinations: { allow: null, deny: ['0xBAD0000000000000000000000000000000000BAD', 'mallory'] },
    ceilings: [
      { id: 'usdc-call', asset: 'USDC', per: [], window: 'call', amount: '2000000' },
      { id: 'usdc-day', asset: 'USDC', per: ['caller'], window: 86400, amount: '5000000' },
    ],
    velocity: [{ id: 'calls', actions: null, per: [], window: 3600, count: 10 }],
  },
};

export const policyText: string = JSON.stringify(policyDocument);
export const policy = parsePolicy(policyText);

export const fields: EnvelopeFields = {
  version: 1,
  intent_id: 'intent-1',
  execution_id: 'exec-1',
  tenant_id: 'acme',
  action_type: 'TRANSFER',
  rail: {
    type: 'EVM',
    network: 'sepolia',
    chain_id: 11155111,
    contract: '0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  },
  actor: { caller: 'agent-7', role: null },
  target: {
    to: '0x2222222222222222222222222222222222222222',
    asset: 'USDC',
    asset_class: 1,
    amount: '1000000',
    decimals: 6,
  },
  constraints: { ttl: NOW + 300, nonce: 7, replay_scope: 'caller' },
  policy_binding: {
    policy_id: policy.policy_id,
    policy_version: policy.policy_version,
    policy_hash: policy.policy_hash,
  },
  metadata: { created_at: NOW - 10, note: 'rent' },
};

/** The sample with some parts changed. */
export function envelopeWith(changes: { [part: string]: unknown }): Envelope {
  const merged = Object.entries(fields).map(([name, value]) => {
    const change = changes[name];
    const isPart = typeof change === 'object' && change !== null;
    return [name, change === undefined ? value : isPart ? { ...(value as object), ...change } : change];
  });
  return createEnvelope(Object.fromEntries(merged) as EnvelopeFields);
}

export const envelope: Envelope = createEnvelope(fields);

/** The sample as a text to be mutated. */
export function envelopeJson(): JsonRecord {
  return structuredClone(fields) as unknown as JsonRecord;
}

const seed = (n: number) => new Uint8Array(32).fill(n);
export const alice = localSigner('Ed25519', seed(1));
export const alicesToken = localSigner('ML-DSA-65', seed(2));
export const bob = localSigner('Ed25519', seed(3));
export const mallory = localSigner('Ed25519', seed(4));

export const keys = [
  { key: publicKey('Ed25519', alice.publicKey), person: 'alice' },
  { key: publicKey('ML-DSA-65', alicesToken.publicKey), person: 'alice' },
  { key: publicKey('Ed25519', bob.publicKey), person: 'bob' },
];

export function claimsFor(of: Envelope, changes: Partial<Authorization> = {}): Authorization {
  return {
    iss: 'gateway.example',
    sub: of.actor.caller,
    aud: AUDIENCE,
    tenant_id: of.tenant_id,
    exec_hash: execHash(of),
    nbf: NOW - 60,
    exp: NOW + 240,
    jti: 'ao-1',
    ...changes,
  };
}

/** What each of the sample's signers states. */
export const approval: ApprovalFields = {
  when: NOW - 50,
  how: 'human',
  chain: [{ step: 'consent', decision: 'approved', channel: 'passkey' }],
};

/** These sign, each with that statement. */
export function by(...signers: readonly Signer[]): Signatory[] {
  return signers.map((signer) => ({ signer, ...approval }));
}

/** Code, path and message of what a call throws; 'nothing' if it does not throw. */
export function refusal(run: () => unknown): [string, string | undefined, string] | 'nothing' {
  try {
    run();
  } catch (error) {
    return told(error);
  }
  return 'nothing';
}

/** The same for a promise. */
export async function rejection(promise: Promise<unknown>): Promise<ReturnType<typeof refusal>> {
  return promise.then(() => 'nothing' as const, told);
}

function told(error: unknown): [string, string | undefined, string] {
  if (error instanceof BullaError) return [error.code, error.path, error.message];
  throw error;
}
