/**
 * Consent: what a person allows an agent to do, as the capability manifest says. A state machine over rows that a
 * database can hold: `decide` takes the rows of one person and one agent and an event, and says what to write and
 * what was decided. Time, identity and ids are passed in. Errors are `BullaError` with a code that starts with
 * `CONSENT_`; an event that is not accepted is refused with such a code in the step, and nothing is thrown.
 */
export { consentAuthority, mintAuthorization } from './authority.ts';
export { type Channel, type ChannelKind, isChannelKind, provesPerson, satisfies } from './channel.ts';
export { decide } from './decide.ts';
export { type CallResult, fateOf, resultOf } from './decision.ts';
export { isRebound } from './declare.ts';
export { type Disclosure, disclose, disclosureDigest, disclosureLines } from './disclose.ts';
export type { AnswerEvent, CallEvent, ConsentEvent, EscalateEvent, Refusal, Step } from './event.ts';
export { refusedFor } from './event.ts';
export { type Facts, type Identity, identityOf, type People } from './identity.ts';
export {
  ALLOWED_BY,
  type Bound,
  type Change,
  type Choice,
  type Decision,
  type Declared,
  type DeclaredScope,
  type Detail,
  type Grant,
  type Prompt,
  type Rows,
  type ScopeObstacle,
  type Silence,
  type Tool,
} from './rows.ts';
export { channelRule, DEFAULT_RULES, type Rules } from './rules.ts';
export { type Raise, raised, raisesOf, type Sensitivity } from './sensitivity.ts';
export { type Showing, showing } from './showing.ts';
export { calledTool, covered, scopeObstacle } from './standing.ts';
export { applyChanges, type ConsentState, emptyState, rowsOf, stateOf } from './state.ts';
export { CHINESE, ENGLISH, type NamedScope, type NamedTool, type Words, wordsFor } from './words.ts';
