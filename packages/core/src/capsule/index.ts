/**
 * Capsules: sealed, chained, content-addressed records of what an agent did, by the Capsule Protocol. Everything
 * here is pure; ids, moments and keys are passed in. `createCapsule` makes a record, `lint` says what keeps it from
 * being sealed, `seal` seals it, `verifyCapsule` and `createChainVerifier` check records and chains, whoever made
 * them. Errors are `BullaError` with a code that starts with `CAPSULE_`; verdicts are returned, never thrown.
 */
export {
  type ChainFailure,
  type ChainLink,
  type ChainReport,
  type ChainState,
  chainLink,
  checkRecord,
  createChainVerifier,
  isCanonicalRecord,
  type StoredRecord,
} from './chain.ts';
export { type CapsuleInput, createCapsule } from './dict.ts';
export { type LintFinding, lint } from './lint.ts';
export {
  AUTHORITY_TYPES,
  type Authority,
  type AuthorityType,
  CAPSULE_TYPES,
  type Capsule,
  type CapsuleType,
  type Context,
  type Data,
  type DataObject,
  type Execution,
  type Form,
  OUTCOME_STATUSES,
  type Outcome,
  type OutcomeStatus,
  type Reasoning,
  SEAL_FIELDS,
  type Seal,
  type SealedCapsule,
  TRIGGER_TYPES,
  type Trigger,
  type TriggerType,
} from './model.ts';
export type { ChainNotice } from './notices.ts';
export {
  CapsuleLintError,
  exportSealed,
  type HashedCapsule,
  type HashOptions,
  hashCapsule,
  type SealedText,
  type SealOptions,
  seal,
  sealSync,
  signHashed,
} from './seal.ts';
export type { Warning } from './signatures.ts';
export { readHashed } from './stored.ts';
export { isoTimestamp } from './time.ts';
export { parseCapsuleUri, resolveFragment } from './uri.ts';
export { validate } from './validate.ts';
export type { KeyFacts } from './validity.ts';
export {
  type CanonicalRecord,
  type Verdict,
  type VerifyOptions,
  verifyCanonical,
  verifyCapsule,
} from './verify.ts';
