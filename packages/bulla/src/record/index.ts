/** The one recorder: intent and outcome of a call, with all that becomes true with them in one transaction. */
export { type Action, type Audit, type AuditOptions, createAudit, type Note, type Step } from './audit.ts';
export { exactCopy, frozenCopy, plainCopy } from './copy.ts';
export { type Loss, lossListener, type OnLoss, OutcomeLostError } from './loss.ts';
export { markOrphans, watchOrphans } from './orphans.ts';
export { denialPart, type Ended, isOf, type Part, type Sealing, type Statement } from './part.ts';
export {
  type Keep,
  keeping,
  keptAs,
  openedArguments,
  type Payload,
  payloadOf,
  type Removed,
  readRedacted,
} from './payload.ts';
export {
  type Act,
  type Call,
  createRecorder,
  type Door,
  type Intent,
  type Notes,
  type Outcome,
  type Recorded,
  type Recorder,
  type RecorderOptions,
  type Subject,
} from './recorder.ts';
