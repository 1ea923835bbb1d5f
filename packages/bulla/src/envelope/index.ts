/**
 * Execution envelopes with a clock, a ledger and a record. `createEnvelope` and `authorize` fill in what only a clock
 * and chance can say; `createVerifier` makes the one place where an approved action is executed, once;
 * `publishPolicy` and `settleExecution` are what an operator does. The pure parts are in `@bulla/core/envelope`.
 */

export type { About } from './call.ts';
export {
  type AuthorizeOptions,
  authorize,
  claimsOf,
  createEnvelope,
  createToolCall,
  type EnvelopeDraft,
  signClaims,
  unixTime,
} from './create.ts';
export {
  type Blocked,
  type Decision,
  type Ended,
  type Executed,
  type ExecutionFailed,
  ExecutionNotStarted,
} from './decision.ts';
export { currentPolicy, type Operator, publishPolicy, settleExecution } from './operate.ts';
export { createVerifier, type Verifier, type VerifierOptions } from './verifier.ts';
