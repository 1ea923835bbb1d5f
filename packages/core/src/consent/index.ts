/**
 * Consent: what a person allows an agent to do, as the capability manifest says. A state machine over rows that a
 * database can hold: `decide` takes the rows of one person and one agent and an event, and says what to write and
 * what was decided. Time, identity and ids are passed in. Errors are `BullaError` with a code that starts with
 * `CONSENT_`; an event that is not accepted is refused with such a code in the step, and nothing is thrown.
 */
export {
  type ConsentAuthority,
  type ConsentLink,
  consentAuthority,
  type EnvelopeBinding,
  type MintOptions,
  mintAuthorization,
} from './authority.ts';
export { CHANNELS, type Channel, type ChannelKind, type ChannelRule, provesPerson } from './channel.ts';
export { decide } from './decide.ts';
export { type CallResult, resultOf } from './decision.ts';
export { isRebound } from './declare.ts';
export {
  type Disclosable,
  type Disclosure,
  disclose,
  disclosureDigest,
  disclosureLines,
} from './disclose.ts';
export type {
  AnswerEvent,
  BindEvent,
  CallEvent,
  ConsentEvent,
  DiscloseEvent,
  EndSessionEvent,
  EscalateEvent,
  FinishEvent,
  GrantEvent,
  ManifestEvent,
  Refusal,
  RequestEvent,
  RestartEvent,
  RevokeEvent,
  StartEvent,
  Step,
  SweepEvent,
  WithdrawEvent,
} from './event.ts';
export { refusedFor } from './event.ts';
export {
  type ConsoleFacts,
  type Facts,
  type HttpFacts,
  type Identity,
  identityOf,
  type People,
  type RelayFacts,
  type StdioFacts,
  type Transport,
} from './identity.ts';
export {
  ALLOWED_BY,
  type AllowedBy,
  type Answered,
  type Approved,
  type Bound,
  CHOICES,
  type Change,
  type Choice,
  DENIED_REASONS,
  type Decision,
  type Declared,
  type DeclaredScope,
  type DeclaredTool,
  type DeniedReason,
  type Detail,
  type Disclosed,
  type Grant,
  type GrantStatus,
  type Previous,
  type Prompt,
  type Rows,
  type Silence,
  type Stage,
  type Subject,
  type Table,
  type Tables,
  type Tool,
} from './rows.ts';
export { DEFAULT_RULES, type Rules } from './rules.ts';
export { type Hints, type Raise, raised, raisesOf, SENSITIVITIES, type Sensitivity } from './sensitivity.ts';
export { type Opening, type Showing, type ShowOptions, showing } from './showing.ts';
export { calledTool, covered, type ScopeObstacle, scopeObstacle } from './standing.ts';
export { applyChanges, type ConsentState, emptyState, rowsOf, stateOf } from './state.ts';
export { CHINESE, ENGLISH, type NamedScope, type NamedTool, type Words, wordsFor } from './words.ts';
