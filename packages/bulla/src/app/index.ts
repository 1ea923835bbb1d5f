/** Use cases: no printing, no arguments of a command line, no HTTP. */

/**
 * Use cases, one a file: typed inputs, typed results, errors with codes. Nothing here reads a command line, prints or
 * speaks HTTP: commands, routes and programs call these.
 */
export { type ArtifactInput, type VerifiedArtifact, verifyArtifact } from './artifact.ts';
export { type BundleInput, type OpenedBundle, openBundle, packBundle, type WrittenBundle } from './bundle.ts';
export { type Checked, type CheckInput, check, type ServerDrift } from './check.ts';
export {
  type CheckpointFacts,
  checkpointFacts,
  findCheckpoint,
  type JudgedCheckpoint,
  listCheckpoints,
  logVkey,
} from './checkpoint.ts';
export { leftOutOf, type ToolChoice } from './choice.ts';
export type { Outcome } from './configured.ts';
export { type Consistency, compareStates, type LogState } from './consistency.ts';
export { type DiffInput, diffLocks, diffServer } from './diff.ts';
export { type Discovered, type DiscoveredServer, type DiscoverInput, discover, stateOf } from './discover.ts';
export { type ExportedRecord, exportRecords } from './export.ts';
export { resolveUri } from './find.ts';
export { deceptions, findingsOf, OWN_MEMBERS, type ScanFinding } from './findings.ts';
export { type VerifiedImport, verifyImport } from './import.ts';
export { makeLockKeys } from './keygen.ts';
export { exportPublic, readKeyFile } from './keys.ts';
export { changeKill, type KillChange, type KillChanged, requireReason } from './kill.ts';
export { type Bulla, type LibraryOptions, openLibrary } from './library.ts';
export { type Locked, type LockFormat, type LockInput, lock, type NotLocked } from './lock.ts';
export {
  type KeyChoice,
  keysFrom,
  type LockTrust,
  type OpenedLock,
  openLock,
  readLockFile,
} from './locked.ts';
export type { Bar, Observer } from './observer.ts';
export { type Access, type Notices, type Opened, type OpenOptions, open, tellLoose } from './open.ts';
export { defaultHome, type Paths, pathsOf, withContents } from './paths.ts';
export {
  type Fetching,
  isPrivateAllowed,
  type PinnedTarget,
  pinnedServer,
  tellOpenFolder,
} from './pinned.ts';
export {
  type DriftPolicy,
  type LoadedPolicy,
  loadPolicy,
  type PolicyChoice,
  UnusablePolicy,
} from './policy.ts';
export { checkPolicy, type PolicyChecked, type PolicyCheckInput } from './policy-check.ts';
export { isMet, type RuleAnswer, type TestedInput, testPolicy } from './policy-test.ts';
export { type MeantCapsule, provePublished, proveStored, type RecordProof } from './prove.ts';
export { type ProvenanceChoice, provenanceOf } from './provenance.ts';
export { Refusal, refusing, Undecided } from './refusal.ts';
export { type PinnedProgram, pinnedProgram, type RunInput } from './run.ts';
export { readContent } from './seal.ts';
export {
  type Header,
  type MeantServer,
  type Scanned,
  type ServerAccess,
  type SignIn,
  scanServer,
  targetFor,
} from './server.ts';
export { type SignedLock, type SignInput, sign } from './sign.ts';
export { type CapabilitySource, opaqueTools, openSources, readContext } from './sources.ts';
export { type ChainStats, chainStats } from './stats.ts';
export { type PublishedTiles, publishTiles } from './tiles.ts';
export { type FileVerdict, type NamedLock, verifyFiles } from './verify.ts';
export { VERSION } from './version.ts';
export { type SeenByWitness, type WitnessedChain, witnessedChain } from './witnessed.ts';
