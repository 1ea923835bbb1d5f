/**
 * Use cases, one a file: typed inputs, typed results, errors with codes. Nothing here reads a command line, prints or
 * speaks HTTP: commands, routes and programs call these.
 */

export { answerQuestion, isUnanswerable, pendingQuestions, type Question } from './answer.ts';
export { type Approver, approverKeys } from './approvers.ts';
export { type VerifiedArtifact, verifyArtifact } from './artifact.ts';
export { openAsking } from './asking.ts';
export { type Proposed, proposeAuthorization } from './authorize.ts';
export { type BundleInput, openBundle, packBundle } from './bundle.ts';
export { check, diffLocks, diffServer } from './check.ts';
export { checkpointFacts, findCheckpoint, listCheckpoints, logVkey } from './checkpoint.ts';
export type { ToolChoice } from './choice.ts';
export { type LoadedConfig, readConfig } from './config/config.ts';
export type { Outcome } from './configured.ts';
export { type Consistency, compareStates, type LogState } from './consistency.ts';
export {
  type Adopted,
  adoptDeclaration,
  type BoundServers,
  checkBindings,
  type Declaration,
  readDeclaration,
} from './declared.ts';
export { type Discovered, type DiscoveredServer, discover, stateOf } from './discover.ts';
export { type Approvals, approvalsOf, type OpenApprovals, type ToolEnvelopes } from './envelopes.ts';
export { executeEnvelope, explainSteps, type LedgerInput } from './execute.ts';
export { exportRecords } from './export.ts';
export { resolveUri } from './find.ts';
export { deceptions, findingsOf, OWN_MEMBERS, type ScanFinding } from './findings.ts';
export { disclosureOf, grantRefusal, grantScopes, revokeScopes } from './grants.ts';
export { verifyImport } from './import.ts';
export { exportPublic, makeLockKeys, readKeyFile } from './keys.ts';
export { changeKill } from './kill.ts';
export { type Bulla, type LibraryOptions, openLibrary } from './library.ts';
export { type Locked, type LockFormat, lock } from './lock.ts';
export { type KeyChoice, type LockTrust, openLock } from './locked.ts';
export { type BindResult, bindTools, pushManifest, readEdits } from './manifest.ts';
export type { Observer } from './observer.ts';
export { type Access, type Notices, type Opened, open, tellLoose } from './open.ts';
export { operatorOf } from './operator.ts';
export { defaultHome, pathsOf } from './paths.ts';
export { erasePayloads, type KeptPayload, keptPayloads } from './payloads.ts';
export { isPrivateAllowed, pinnedServer, tellOpenFolder } from './pinned.ts';
export {
  callPolicies,
  type LoadedPolicy,
  loadPolicy,
  type PolicyChoice,
  policyFile,
} from './policy.ts';
export { checkPolicy } from './policy-check.ts';
export { loadServerPolicy } from './policy-guard.ts';
export { isMet, type TestedInput, testPolicy } from './policy-test.ts';
export { prepareServer } from './prepare.ts';
export { provePublished, proveStored, type RecordProof } from './prove.ts';
export { type ProvenanceChoice, provenanceOf } from './provenance.ts';
export { type Decided, type Unrecorded, withReceipt } from './receipt.ts';
export { type PinnedProgram, pinnedProgram } from './run.ts';
export { readContent } from './seal.ts';
export {
  checkRights,
  confineWith,
  type Header,
  rightsFor,
  type ServerAccess,
  scanServer,
  targetFor,
} from './server.ts';
export { type SignInput, sign } from './sign.ts';
export { type CapabilitySource, opaqueTools, openSources, readContext } from './sources.ts';
export { chainStats } from './stats.ts';
export { publishTiles } from './tiles.ts';
export { approvedArguments, toolCallOf } from './tool-call.ts';
export { traceFiles, verifyFiles } from './verify.ts';
export { type SeenByWitness, timeText, witnessedChain } from './witnessed.ts';
