/**
 * Execution envelopes: one action, exactly these parameters, once, until then. Reading and hashing envelopes, the
 * authorization over them, policies and their limits, and the checklist that joins them. Time, the state of nonces
 * and the sums of a ledger are passed in. Errors are `BullaError` with a code that starts with `EE_`, or one of the
 * modules below.
 */

export { DEFAULT_DOCUMENT_BYTES, type Limits } from '../json/index.ts';
export type { Approval, ApprovalFields, ApprovalHow } from './approval.ts';
export {
  type ArgumentMapping,
  bindArguments,
  readMapping,
} from './arguments.ts';
export {
  type ApproverKey,
  AUTHORIZATION_TYPE,
  type Authorization,
  addSignature,
  authorize,
  type KeyValidity,
  type OpenOptions,
  openAuthorization,
  readApprovals,
  readAuthorization,
  type StatedApproval,
  type VerifiedApproval,
  type VerifiedAuthorization,
} from './authorization.ts';
export {
  buckets,
  type Circumstances,
  type Evaluation,
  evaluateConstraints,
  limitExceeded,
  type Reservation,
  reservationsOf,
} from './constraints.ts';
export {
  type Assess,
  assessEnvelope,
  type Consume,
  checkAndConsume,
  consumed,
  notConsumed,
} from './consume.ts';
export { AUTHORIZATION_DETAILS_TYPE, fromAuthorizationDetails, toAuthorizationDetails } from './details.ts';
export {
  type Actor,
  type BindingPayload,
  type Constraints,
  createEnvelope,
  type Envelope,
  type EnvelopeFields,
  explainEnvelope,
  type PolicyBinding,
  type Problem,
  parseEnvelope,
  type Rail,
  type ReplayScope,
  type Target,
  writeEnvelope,
} from './envelope.ts';
export { explain, NOT_PROVEN } from './explain.ts';
export { type ExecProfile, execHash, policyHash } from './hash.ts';
export type { Signatory } from './jws.ts';
export { type NonceKey, nonceKey, nonceReplayed, nonceStoreFailed } from './nonce.ts';
export {
  type ActionRule,
  type AssetRule,
  type CeilingRule,
  type Destinations,
  type Partition,
  POLICY_FORMAT,
  POLICY_NAMESPACE,
  type Policy,
  parsePolicy,
  type VelocityRule,
} from './policy.ts';
export {
  bindToolCall,
  type LockedTool,
  type ToolCall,
  type ToolCallFields,
  toolCallEnvelope,
  toolOf,
} from './tool-call.ts';
export {
  type CheckInput,
  checkEnvelope,
  moment,
  type Permit,
  type Replay,
  STEPS,
  type Step,
  type StepName,
  type Verdict,
} from './verify.ts';
