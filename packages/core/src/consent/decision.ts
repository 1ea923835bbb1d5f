import {
  type AllowedBy,
  type Decision,
  type DeniedReason,
  type Detail,
  type Subject,
  UNDECLARED,
} from './rows.ts';
import type { Rules } from './rules.ts';

// Decisions are made here and nowhere else, and `allow` is the only one that lets a call run.

type Basis = Pick<Decision, 'answer' | 'shown' | 'rests_on'>;
export const NO_BASIS: Basis = { answer: null, shown: null, rests_on: null };

type Ruled = Pick<Decision, 'stage'> & Partial<Pick<Decision, 'by' | 'reason' | 'detail' | 'start_before'>>;

/** Written out, since calls are decided at a rate at which spreading objects is most of the work. */
function decided(subject: Subject, ruled: Ruled, basis: Basis, at: number): Decision {
  return {
    id: subject.id,
    call_id: subject.call_id,
    kind: subject.kind,
    user: subject.user,
    agent: subject.agent,
    scope: subject.scope,
    sensitivity: subject.sensitivity,
    tool: subject.tool,
    server: subject.server,
    server_tool: subject.server_tool,
    declared: subject.declared,
    locked: subject.locked,
    lock: subject.lock,
    args: subject.args,
    timeout_ms: subject.timeout_ms,
    manifest: subject.manifest,
    grant: subject.grant,
    device: subject.device,
    session: subject.session,
    holder: subject.holder,
    stage: ruled.stage,
    by: ruled.by ?? null,
    reason: ruled.reason ?? null,
    detail: ruled.detail ?? null,
    answer: basis.answer,
    shown: basis.shown,
    rests_on: basis.rests_on,
    decided_at: at,
    start_before: ruled.start_before ?? null,
    exec_hash: null,
    started_at: null,
    ended_at: ruled.stage === 'allowed' ? null : at,
    rev: 1,
  };
}

/** Lets exactly the call of the subject run, once. */
export function allow(subject: Subject, by: AllowedBy, basis: Basis, at: number, rules: Rules): Decision {
  const within = Math.max(rules.startWithinMs, rules.parkMs ?? 0);
  return decided(subject, { stage: 'allowed', by, start_before: at + within }, basis, at);
}

/** Ends the question whether a scope is granted. It lets no call run. */
export function granted(subject: Subject, basis: Basis, at: number): Decision {
  return decided(subject, { stage: 'ok', detail: 'answered' }, basis, at);
}

export function deny(
  subject: Subject,
  reason: DeniedReason,
  detail: Detail,
  at: number,
  basis: Basis = NO_BASIS,
): Decision {
  return decided(subject, { stage: 'denied', reason, detail }, basis, at);
}

export function fail(subject: Subject, detail: Detail, at: number): Decision {
  return decided(subject, { stage: 'error', reason: detail, detail }, NO_BASIS, at);
}

/** What is in the way of a scope or a tool, as the end of a question or of a call that has not begun. */
export function ended(subject: Subject, detail: Detail, at: number): Decision {
  if (UNDECLARED.has(detail)) return fail(subject, detail, at);
  const reason = UNANSWERED.has(detail) ? 'user_timeout' : 'permission_revoked';
  return deny(subject, reason, detail, at);
}

const UNANSWERED: ReadonlySet<Detail> = new Set(['deadline', 'withdrawn', 'restart', 'not_started']);

/** The same for a call that was allowed and not started: it keeps the answer. */
export function lapsed(decision: Decision, detail: Detail, at: number): Decision {
  const { stage, reason } = ended(decision, detail, at);
  return { ...decision, stage, reason, detail, by: null, ended_at: at, rev: decision.rev + 1 };
}

/** The end of a call that ran for its tool's `timeout_ms`; null if it may still run. */
export function timedOut(decision: Decision, at: number): Decision | null {
  if (at < decision.started_at! + decision.timeout_ms!) return null;
  return broken(decision, 'timeout', 'deadline', at);
}

/** The end of a call that was started and did not come to its own. */
export function broken(decision: Decision, reason: string, detail: Detail, at: number): Decision {
  return { ...decision, stage: 'error', reason, detail, ended_at: at, rev: decision.rev + 1 };
}

/** Which call it was: our own id of it, and the agent's where it gave one, else ours again. */
interface Named {
  readonly id: string;
  readonly call_id: string;
}

/** What the agent is told, in the seed's words. `result` is added by whoever ran the tool. */
export type CallResult = Named &
  (
    | { readonly status: 'ok' }
    | { readonly status: 'denied'; readonly reason: DeniedReason }
    | { readonly status: 'error'; readonly reason: string }
  );

/** The result of what ended; null while it may still run or does. */
export function resultOf({ id, call_id, stage, reason }: Decision): CallResult | null {
  const named = { id, call_id: call_id ?? id };
  switch (stage) {
    case 'ok':
      return { ...named, status: 'ok' };
    case 'denied':
      return { ...named, status: 'denied', reason: reason as DeniedReason };
    case 'error':
      return { ...named, status: 'error', reason: reason! };
    default:
      return null;
  }
}

/** How a question or a call ended, as people tell it: `denied` is somebody's answer, and nothing else. */
export type Fate = 'allowed' | 'granted' | 'denied' | 'expired' | 'cancelled' | 'refused';

/**
 * `expired`: nobody answered in time, or the allowed call was not begun in time. `cancelled`: the caller gave up, or its
 * process is gone. `refused`: what it needs is not granted, or no longer as it was.
 */
export function fateOf({ kind, stage, detail, started_at }: Decision): Fate {
  const isOver = (stage === 'denied' || stage === 'error') && started_at === null;
  if (!isOver) return kind === 'grant' ? 'granted' : 'allowed';
  switch (detail) {
    case 'answered':
      return 'denied';
    case 'deadline':
    case 'not_started':
      return 'expired';
    case 'withdrawn':
    case 'restart':
      return 'cancelled';
    default:
      return 'refused';
  }
}
