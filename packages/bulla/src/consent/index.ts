/**
 * Consent over a store: what people allow agents to do, decided by `@bulla/core/consent`, kept in rows that every
 * process of the store sees, and recorded in a chain.
 */
export {
  type Consent,
  type ConsentOptions,
  createConsent,
  type ListedGrant,
  type Request,
  type Said,
  type Shown,
} from './consent.ts';
export { installationId, OPERATOR_FILE, readOperator } from './operator.ts';
export { type Phrases, phrasesOf } from './phrases.ts';
export { questionText } from './question-text.ts';
export type { Pair } from './rows.ts';
export type { Ask, Call, Deny, Pass, Ruling } from './rule.ts';
export type { LibraryCall, Outcome } from './run.ts';
export type { Decided } from './runner.ts';
