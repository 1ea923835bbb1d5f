/**
 * Execution envelopes: one action, exactly these parameters, once, until then. Reading and hashing envelopes, the
 * authorization over them, policies and their limits, and the checklist that joins them. Time, the state of nonces
 * and the sums of a ledger are passed in. Errors are `BullaError` with a code that starts with `EE_`, or one of the
 * modules below.
 */

export type { Limits } from '../json/index.ts';
export { type ArgumentMapping, bindArguments, readMapping } from './arguments.ts';
export {
  type ApproverKey,
  type Authorization,
  addSignature,
  authorize,
  openAuthorization,
  readApprovals,
  readAuthorization,
  type StatedApproval,
  toAuthorizationDetails,
  type VerifiedApproval,
} from './authorization.ts';
export { limitExceeded, type Reservation, reservationsOf } from './constraints.ts';
export { assessEnvelope, consumed, notConsumed } from './consume.ts';
export {
  type Actor,
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
export { type ExecProfile, execHash } from './hash.ts';
export {
  type Approval,
  type ApprovalFields,
  type ApprovalHow,
  AUTHORIZATION_TYPE,
  type Signatory,
} from './jws.ts';
export { type NonceKey, nonceKey, nonceReplayed, nonceStoreFailed } from './nonce.ts';
export { type Policy, parsePolicy } from './policy.ts';
export { TOOL_CALL } from './rails.ts';
export { bindToolCall, type LockedTool, toolCallEnvelope, toolOf } from './tool-call.ts';
export {
  type CheckInput,
  checkEnvelope,
  moment,
  type Permit,
  type Replay,
  STEPS,
  type Step,
  type Verdict,
} from './verify.ts';
