import { BullaError } from '../error.ts';
import type { Problem } from './envelope.ts';
import { nonceStoreFailed } from './nonce.ts';
import {
  type CheckInput,
  checkEnvelope,
  type Permit,
  problemOf,
  type Step,
  type StepName,
  type Verdict,
} from './verify.ts';

/**
 * What else must hold before a permit is consumed: a risk engine that is asked over the network, arguments that must
 * be the approved ones. It refuses by rejecting with a `BullaError` whose code begins with `EE_`; anything else that
 * it rejects with counts as `EE_RISK_DENIED`.
 */
export type Assess = (permit: Permit) => Promise<void> | void;

/**
 * The steps 0 to 6, of which `assess` is the end. Does not reject because `assess` did: the verdict says so. When it
 * has a permit, that is to be consumed, and the verdict goes on as `consumed` or `notConsumed`.
 */
export async function assessEnvelope(input: CheckInput, assess?: Assess): Promise<Verdict> {
  const verdict = checkEnvelope(input);
  if (verdict.permit === null || assess === undefined) return verdict;
  try {
    await assess(verdict.permit);
    return verdict;
  } catch (error) {
    const unknown = new BullaError('EE_RISK_DENIED', 'The risk cannot be assessed.', { path: '' });
    return refused(verdict, 'constraints', problemOf(isOurs(error) ? error : unknown));
  }
}

/** The verdict when the ledger has consumed the permit: step 7 passed, and the action may be executed once. */
export function consumed(verdict: Verdict): Verdict {
  return { ...verdict, ok: true, steps: withStep(verdict, 'permit', 'passed', null) };
}

/** The verdict when the ledger rejected with this error: step 7 failed. */
export function notConsumed(verdict: Verdict, error: unknown): Verdict {
  return refused(verdict, 'permit', problemOf(isOurs(error) ? error : nonceStoreFailed(error)));
}

/** A kill switch speaks for itself; the code of any other part says nothing about the envelope. */
function isOurs(error: unknown): boolean {
  return error instanceof BullaError && (error.code.startsWith('EE_') || error.code === 'KILLED');
}

function refused(verdict: Verdict, name: StepName, problem: Problem): Verdict {
  return { ...verdict, ...problem, permit: null, steps: withStep(verdict, name, 'failed', problem) };
}

function withStep(
  { steps }: Verdict,
  name: StepName,
  status: Step['status'],
  problem: Problem | null,
): Step[] {
  return steps.map((each) => (each.name === name ? { ...each, status, problem } : each));
}
