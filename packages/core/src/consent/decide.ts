import { answer, escalate } from './answer.ts';
import { call, request } from './call.ts';
import { bind, declare } from './declare.ts';
import { type ConsentEvent, isMoment, NO_MOMENT, refused, type Step } from './event.ts';
import { disclosed, endSession, grant, revoke } from './grants.ts';
import { DEFAULT_RULES, type Rules } from './rules.ts';
import { finish, start, withdraw } from './run.ts';
import type { ConsentState } from './state.ts';
import { restart, sweep } from './sweep.ts';

type Decide<Event> = (state: ConsentState, event: Event, rules: Rules) => Step;

const DECIDERS: {
  readonly [Type in ConsentEvent['type']]: Decide<Extract<ConsentEvent, { type: Type }>>;
} = {
  call,
  request,
  answer,
  escalate,
  start,
  finish,
  withdraw,
  disclose: disclosed,
  grant,
  revoke,
  manifest: declare,
  bind,
  'end-session': endSession,
  sweep,
  restart,
};

/**
 * Decides what comes of an event. It changes nothing: the step says which rows to write, in one transaction with the
 * reading of the state, before anybody acts on it. It never throws for an event of its type; what cannot be accepted
 * comes back with a code and no changes.
 */
export function decide(state: ConsentState, event: ConsentEvent, rules: Rules = DEFAULT_RULES): Step {
  if (!Object.hasOwn(DECIDERS, event.type)) return refused('CONSENT_EVENT', 'There is no such event.');
  if (!isMoment(event.at)) return refused(...NO_MOMENT);
  return (DECIDERS[event.type] as Decide<ConsentEvent>)(state, event, rules);
}
