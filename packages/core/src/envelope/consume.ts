import { BullaError } from '../error.ts';
import type { Problem } from './envelope.ts';
import { nonceStoreFailed } from './nonce.ts';
import { type CheckInput, checkEnvelope, type Permit, problemOf, type Step, type Verdict } from './verify.ts';

/**
 * Consumes a permit, in one transaction with everything that must be durable before the execution (the intent
 * capsule, the use of an approval). It resolves only when the transaction is durable, and then all of these hold:
 *
 * - The nonce is marked as used, under a unique constraint of the database over the fields of `NonceKey`; never by
 *   a read before a write. It stays used, also when the execution then fails or the process dies.
 * - Every reservation is taken as `Reservation` says, each against sums that no other transaction changes meanwhile.
 * - The ledger's own clock did not exceed `until`.
 *
 * Otherwise nothing of it is, and it rejects with a `BullaError`: `nonceReplayed`, `limitExceeded`, `EE_TTL_EXPIRED`
 * when the time has run out meanwhile. Anything else that it rejects with counts as `EE_NONCE_STORE_FAILURE`. When
 * the outcome of a transaction is not known, it must reject: an execution that did not happen can be asked for
 * again under a new nonce, one that happened twice cannot be undone.
 */
export type Consume = (permit: Permit) => Promise<void> | void;

/**
 * The whole checklist: runs the steps 0 to 6, and as step 7 lets the ledger consume the permit. Only a verdict with
 * `ok` allows the execution, once. Does not reject because the ledger refused or failed: the verdict says so.
 */
export async function checkAndConsume(input: CheckInput, consume: Consume): Promise<Verdict> {
  const verdict = checkEnvelope(input);
  if (verdict.permit === null) return verdict;
  try {
    await consume(verdict.permit);
  } catch (error) {
    const known = error instanceof BullaError && error.code.startsWith('EE_');
    const problem = problemOf(known ? error : nonceStoreFailed(error));
    return { ...verdict, ...problem, permit: null, steps: withPermit(verdict, 'failed', problem) };
  }
  return { ...verdict, ok: true, steps: withPermit(verdict, 'passed', null) };
}

function withPermit({ steps }: Verdict, status: Step['status'], problem: Problem | null): Step[] {
  return steps.map((each) => (each.name === 'permit' ? { ...each, status, problem } : each));
}
