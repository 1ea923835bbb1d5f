import { userInfo } from 'node:os';
import type { Data, DataObject } from '@bulla/core/capsule';
import { type Evidence, type Failure, failureAt } from '@bulla/core/evidence';
import { OutcomeLostError, type Recorder } from '../record/index.ts';
import type { Observer } from './observer.ts';

/** What a decision came to. */
export interface Decided<T> {
  readonly value: T;
  /** Null where it is good. */
  readonly failure: Failure | null;
  readonly metrics?: DataObject;
}

/** How work ended whose outcome could not be recorded: `result` of the error. */
export type Unrecorded<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Makes a decision with its receipt: one record before anything is started, and one after it, also when it throws. What
 * cannot be recorded is not done. The hash is that of the outcome's record. Rejects as `Recorder.act` does, with what the work throws, and with
 * `OutcomeLostError`, whose `result` is an `Unrecorded`.
 */
export async function withReceipt<T>(
  record: Recorder,
  /** What is decided, such as `bulla check`. */
  request: string,
  decide: (onFacts: NonNullable<Observer['onFacts']>) => Promise<Decided<T>>,
): Promise<{ value: T; hash: string }> {
  const about = {
    type: 'auth',
    trigger: 'user_request',
    door: 'admin',
    agentId: 'bulla',
    source: userInfo().username,
    request,
  } as const;
  const intent = await record.act({ ...about, status: 'pending' });
  const facts: Record<string, Data> = {};
  const started = performance.now();
  let ended: Unrecorded<T>;
  let failure: Failure | null;
  let metrics: DataObject = {};
  try {
    const decided = await decide((more) => void Object.assign(facts, more));
    ended = { value: decided.value };
    ({ failure, metrics = {} } = decided);
  } catch (thrown) {
    ended = { thrown };
    failure = failureAt('action', thrown);
  }
  let hash: string;
  try {
    const status = failure === null ? 'success' : 'failure';
    const durationMs = performance.now() - started;
    const outcome = {
      status,
      failure,
      metrics,
      durationMs,
      evidence: { ...evidenceOf(facts), intent: intent.id },
    } as const;
    ({ hash } = await record.act({ ...about, ...outcome, parentId: intent.id }));
  } catch (cause) {
    throw new OutcomeLostError(intent.id, ended, cause);
  }
  if ('thrown' in ended) throw ended.thrown;
  return { value: ended.value, hash };
}

/** The lock and the policy have members of their own in the evidence; all else are facts of this decision. */
function evidenceOf({ lock, policy, ...facts }: Readonly<Record<string, Data>>): Evidence {
  const { name, digest, ...verdict } = (policy ?? {}) as DataObject;
  const more = { ...facts, ...(Object.keys(verdict).length > 0 && { policy: verdict }) };
  return {
    ...(typeof lock === 'string' && { lock }),
    ...(typeof digest === 'string' && { policy: { id: String(name ?? 'policy'), hash: digest } }),
    ...(Object.keys(more).length > 0 && { facts: more }),
  };
}
