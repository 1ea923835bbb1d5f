import type { AllowedBy, Answered, Decision, DeniedReason, Detail, Prompt, Subject } from './rows.ts';
import type { Rules } from './rules.ts';

// Decisions are made here and nowhere else, and `allow` is the only one that lets a call run.

type Basis = Pick<Decision, 'answer' | 'shown' | 'rests_on'>;
export const NO_BASIS: Basis = { answer: null, shown: null, rests_on: null };

function decided(
  subject: Subject,
  stage: Decision['stage'],
  by: AllowedBy | null,
  reason: string | null,
  detail: Detail | null,
  basis: Basis,
  at: number,
  start_before: number | null,
): Decision {
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
    stage,
    by,
    reason,
    detail,
    answer: basis.answer,
    shown: basis.shown,
    rests_on: basis.rests_on,
    decided_at: at,
    start_before,
    exec_hash: null,
    started_at: null,
    ended_at: stage === 'allowed' ? null : at,
    rev: 1,
  };
}

/** Lets exactly the call of the subject run, once. */
export function allow(subject: Subject, by: AllowedBy, basis: Basis, at: number, rules: Rules): Decision {
  return decided(subject, 'allowed', by, null, null, basis, at, at + rules.startWithinMs);
}

/** Ends the question whether a scope is granted. It lets no call run. */
export function granted(subject: Subject, basis: Basis, at: number): Decision {
  return decided(subject, 'ok', null, null, 'answered', basis, at, null);
}

export function deny(
  subject: Subject,
  reason: DeniedReason,
  detail: Detail,
  at: number,
  basis: Basis = NO_BASIS,
): Decision {
  return decided(subject, 'denied', null, reason, detail, basis, at, null);
}

export function fail(subject: Subject, detail: Detail, at: number): Decision {
  return decided(subject, 'error', null, detail, detail, NO_BASIS, at, null);
}

/** What is in the way of a scope or a tool, as the end of a question or of a call that has not begun. */
export function ended(subject: Subject, detail: Detail, at: number): Decision {
  switch (detail) {
    case 'tool_unknown':
    case 'tool_changed':
    case 'scope_unknown':
    case 'manifest_changed':
      return fail(subject, detail, at);
    case 'deadline':
    case 'withdrawn':
    case 'restart':
    case 'not_started':
      return deny(subject, 'user_timeout', detail, at);
    default:
      return deny(subject, 'permission_revoked', detail, at);
  }
}

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

/** The answer that an event gives to a prompt. */
export function basisOf(prompt: Prompt, answer: Answered): Basis {
  return { answer, shown: prompt.shown, rests_on: null };
}
