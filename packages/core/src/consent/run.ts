import { ended, lapsed, timedOut } from './decision.ts';
import {
  done,
  type FinishEvent,
  NO_MOMENT,
  refused,
  refusedFor,
  type StartEvent,
  type Step,
  type WithdrawEvent,
} from './event.ts';
import type { Decision } from './rows.ts';
import { obstacle } from './standing.ts';
import { type ConsentState, put, remove } from './state.ts';

// A call that was allowed is started once, with what was allowed, and then it ends.

const EXEC_HASH = /^(?:0x)?[0-9a-f]{64}$/;

export function start(state: ConsentState, event: StartEvent): Step {
  const decision = state.rows.decisions.get(event.id);
  if (decision === undefined) return refused('CONSENT_UNKNOWN', 'Nothing was decided about this call.');
  if (decision.started_at !== null) return refused('CONSENT_SPENT', 'The call was started before.');
  if (decision.stage !== 'allowed') return refused('CONSENT_NOT_ALLOWED', 'The call was not allowed.');
  if (
    event.declared !== decision.declared ||
    event.locked !== decision.locked ||
    event.args.commitment !== decision.args?.commitment ||
    event.args.of !== decision.args.of
  )
    return refused('CONSENT_OTHER_CALL', 'Another tool or other arguments were allowed.');
  const { at } = event;
  if (at < decision.decided_at) return refused(...NO_MOMENT);
  if (at >= decision.start_before!) return refused('CONSENT_EXPIRED', 'The call was not started in time.');
  const found = obstacle(state, decision);
  if (found !== null) return refusedFor(found);
  const exec_hash = event.exec_hash ?? null;
  if (exec_hash !== null && !EXEC_HASH.test(exec_hash))
    return refused('CONSENT_ID', 'An exec_hash is 64 hex digits, in the later draft after 0x.');
  return step(state, { ...decision, stage: 'running', started_at: at, exec_hash, rev: decision.rev + 1 });
}

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

export function finish(state: ConsentState, event: FinishEvent): Step {
  const decision = state.rows.decisions.get(event.id);
  if (decision === undefined) return refused('CONSENT_UNKNOWN', 'Nothing was decided about this call.');
  if (decision.stage !== 'running') return refused('CONSENT_NOT_OPEN', 'The call does not run.');
  const { at, status } = event;
  if (at < decision.started_at!) return refused(...NO_MOMENT);
  const late = timedOut(decision, at);
  if (late !== null) return step(state, late);
  const reason = event.reason ?? null;
  if (status === 'ok' ? reason !== null : status !== 'error' || reason === null || !REASON.test(reason))
    return refused('CONSENT_ID', 'An error has a code as its reason, and success has none.');
  return step(state, {
    ...decision,
    stage: status,
    reason,
    detail: 'executed',
    ended_at: at,
    rev: decision.rev + 1,
  });
}

export function withdraw(state: ConsentState, { id, at }: WithdrawEvent): Step {
  const prompt = state.rows.prompts.get(id);
  if (prompt !== undefined) {
    const decision = ended(prompt, 'withdrawn', at);
    return done([remove('prompts', prompt), put(state, 'decisions', decision)], [decision]);
  }
  const decision = state.rows.decisions.get(id);
  if (decision?.stage === 'allowed') return step(state, lapsed(decision, 'withdrawn', at));
  return refused('CONSENT_NOT_OPEN', 'There is nothing to withdraw.');
}

function step(state: ConsentState, decision: Decision): Step {
  return done([put(state, 'decisions', decision)], [decision]);
}
