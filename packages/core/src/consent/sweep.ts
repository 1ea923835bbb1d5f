import { broken, ended, lapsed, timedOut } from './decision.ts';
import { done, type RestartEvent, type Step, type SweepEvent } from './event.ts';
import type { Change, Decision, Detail, Prompt } from './rows.ts';
import { isLate, obstacle } from './standing.ts';
import { type ConsentState, put, remove } from './state.ts';

// What ends by itself: questions that nobody answered, calls that nobody began or that ran too long, and whatever a
// process held that is gone.

export function sweep(state: ConsentState, { at }: SweepEvent): Step {
  return closeWhere(
    state,
    at,
    (prompt) => (isLate(prompt, at) ? 'deadline' : obstacle(state, prompt)),
    (decision) => {
      if (decision.stage === 'running') return timedOut(decision, at);
      if (decision.stage !== 'allowed') return null;
      const found = at >= decision.start_before! ? 'not_started' : obstacle(state, decision);
      return found === null ? null : lapsed(decision, found, at);
    },
    [...state.rows.silences.values()]
      .filter(({ until, scope, grant }) => at >= until || state.rows.grants.get(scope)?.id !== grant)
      .map((silence) => remove('silences', silence)),
  );
}

export function restart(state: ConsentState, { at, holder = null }: RestartEvent): Step {
  const isGone = (held: string | null) => holder === null || held === holder;
  return closeWhere(
    state,
    at,
    (prompt) => (isGone(prompt.holder) ? 'restart' : null),
    (decision) =>
      decision.stage === 'running' && isGone(decision.holder)
        ? broken(decision, 'interrupted', 'restart', at)
        : null,
  );
}

function closeWhere(
  state: ConsentState,
  at: number,
  ofPrompt: (prompt: Prompt) => Detail | null,
  ofDecision: (decision: Decision) => Decision | null,
  also: readonly Change[] = [],
): Step {
  const changes: Change[] = [...also];
  const decisions: Decision[] = [];
  const close = (decision: Decision) => {
    decisions.push(decision);
    changes.push(put(state, 'decisions', decision));
  };
  for (const prompt of state.rows.prompts.values()) {
    const detail = ofPrompt(prompt);
    if (detail === null) continue;
    changes.push(remove('prompts', prompt));
    close(ended(prompt, detail, at));
  }
  for (const decision of state.rows.decisions.values()) {
    const next = ofDecision(decision);
    if (next !== null) close(next);
  }
  return done(changes, decisions);
}
