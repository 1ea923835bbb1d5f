/** The sample transfer of the core's tests, with a ledger to execute it on. */
import { authorize, type Envelope, writeEnvelope } from '@bulla/core/envelope';
import {
  AUDIENCE,
  alice,
  bob,
  by,
  claimsFor,
  envelopeWith,
  keys,
  NOW,
  policyDocument,
  policyText,
} from '../../core/test/envelope.ts';
import {
  createVerifier,
  type Operator,
  publishPolicy,
  type Verifier,
  type VerifierOptions,
} from '../src/envelope/index.ts';
import { createRecorder, type Recorder } from '../src/record/index.ts';
import type { Store } from '../src/store/index.ts';

export * from '../../core/test/envelope.ts';

export const CHAIN = 'payments';

/** A verifier over a store, at the time of the sample, for the people of the sample. */
export function verifierOn(store: Store, changes: Partial<VerifierOptions> = {}): Verifier {
  return createVerifier({ ...verifierOptions(store), ...changes });
}

/** The tenants of the stores keep tests apart; to a verifier the store is nobody's, so that it serves whom it names. */
export function verifierOptions(opened: Store): VerifierOptions {
  const store = { ...opened, tenant: null };
  return { store, record: recordOn(opened), audience: AUDIENCE, tenantId: 'acme', keys, now: () => NOW };
}

/** Records into the chain of the sample. */
export function recordOn(store: Store, chain: string = CHAIN): Recorder {
  return createRecorder(store.chain(chain));
}

export function operatorOn(store: Store): Operator {
  return { record: recordOn(store), by: 'operator' };
}

export async function publishSample(store: Store, text: string = policyText): Promise<void> {
  await publishPolicy(store, text, operatorOn(store));
}

/** The sample policy with other limits, under its own version. */
export function policyWith(change: Partial<typeof policyDocument.policy_doc>): string {
  return JSON.stringify({ ...policyDocument, policy_doc: { ...policyDocument.policy_doc, ...change } });
}

/** The texts that a caller sends for the n-th payment. */
export async function payment(
  nonce: number,
  changes: Parameters<typeof envelopeWith>[0] = {},
): Promise<[envelope: string, authorization: string]> {
  const constraints = { nonce, ...(changes.constraints as object | undefined) };
  return signedBy2(envelopeWith({ ...changes, constraints }), `ao-${nonce}`);
}

export async function signedBy2(of: Envelope, jti: string): Promise<[string, string]> {
  return [writeEnvelope(of), await authorize(claimsFor(of, { jti }), by(alice, bob))];
}
