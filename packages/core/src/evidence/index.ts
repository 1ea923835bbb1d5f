/** What a capsule says of what an action rests on: built and read here, and nowhere else. */
export { type AuthorityStep, authorityOf } from './authority.ts';
export { commitmentsOf, isCommitment, resultOf, uncommittedFor } from './commitments.ts';
export {
  type Committed,
  claimsOf,
  type Evidence,
  environmentOf,
  readEvidence,
  type ToolReference,
  withOrigin,
} from './evidence.ts';
export { type Failure, failureAt, failureText, isMark, readFailure, type Stage } from './failure.ts';
