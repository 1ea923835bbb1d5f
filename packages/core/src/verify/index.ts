/**
 * Recognises artifacts from bytes and verifies them, from public keys alone: without disk, network or clock. The
 * command line, servers and browsers call the same functions.
 */
export type { AnchorSources } from './anchoring.ts';

export {
  type Artifact,
  type Finding,
  KINDS,
  type Kind,
  SIGNED,
  type Step,
  type Verdict,
} from './artifact.ts';
export {
  inOrder,
  type SegmentRunner,
  type VerifiedChain,
  type VerifyChainOptions,
  verifyChain,
} from './chain.ts';
export { BUNDLE_NOT_PROVEN, bundleDetails, bundleText } from './check-bundle.ts';
export { checkCapability } from './check-capability.ts';
export { verifyRecord } from './check-capsules.ts';
export { isUnknownSigner, missingWitnesses, unknownSigner } from './check-notes.ts';

export { createHistory, type History, type Story, storyOf } from './history.ts';
export { historyLines, missingText, noticeLines, unsealedPaths } from './notices.ts';
export { type RecogniseOptions, recognise } from './recognise.ts';
export { type RecordOptions, type RecordResult, verifyRecords } from './records.ts';
export {
  type ChainSource,
  canonicalOf,
  MAX_RECORD,
  openBytes,
  openText,
  SQLITE_MAGIC,
  startOf,
} from './source.ts';
export { type Basis, type Trace, type TraceStep, trace } from './trace.ts';
export { anchorTrust, approverKey, type KeyTrust, type Revocation, type Trust } from './trust.ts';
export { verify, verifyArtifact } from './verify.ts';
