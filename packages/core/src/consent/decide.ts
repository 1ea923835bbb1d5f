import { answer, escalate } from './answer.ts';
import { call, request } from './call.ts';
import { bind, declare } from './declare.ts';
import { type ConsentEvent, refused, type Step } from './event.ts';
import { disclosed, endSession, grant, revoke } from './grants.ts';
import { DEFAULT_RULES, type Rules } from './rules.ts';
import { finish, start, withdraw } from './run.ts';
import type { ConsentState } from './state.ts';
import { restart, sweep } from './sweep.ts';

/**
 * Decides what comes of an event. It changes nothing: the step says which rows to write, in one transaction with the
 * reading of the state, before anybody acts on it. It never throws for an event of its type; what cannot be accepted
 * comes back with a code and no changes.
 */
export function decide(state: ConsentState, event: ConsentEvent, rules: Rules = DEFAULT_RULES): Step {
  switch (event.type) {
    case 'call':
      return call(state, event, rules);
    case 'request':
      return request(state, event, rules);
    case 'answer':
      return answer(state, event, rules);
    case 'escalate':
      return escalate(state, event, rules);
    case 'start':
      return start(state, event);
    case 'finish':
      return finish(state, event);
    case 'withdraw':
      return withdraw(state, event);
    case 'disclose':
      return disclosed(state, event);
    case 'grant':
      return grant(state, event, rules);
    case 'revoke':
      return revoke(state, event, rules);
    case 'manifest':
      return declare(state, event);
    case 'bind':
      return bind(state, event);
    case 'end-session':
      return endSession(state, event);
    case 'sweep':
      return sweep(state, event);
    case 'restart':
      return restart(state, event);
    default:
      return refused('CONSENT_EVENT', 'There is no such event.');
  }
}
