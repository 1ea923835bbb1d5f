/**
 * Use cases, one a file: typed inputs, typed results, errors with codes. Nothing here reads a command line, prints or
 * speaks HTTP: commands, routes and programs call these.
 */
export {
  type CheckpointFacts,
  checkpointFacts,
  findCheckpoint,
  type JudgedCheckpoint,
  listCheckpoints,
  logVkey,
} from './checkpoint.ts';
export { type Consistency, compareStates, type LogState } from './consistency.ts';
export { type ExportedRecord, exportRecords } from './export.ts';
export { resolveUri } from './find.ts';
export { type VerifiedImport, verifyImport } from './import.ts';
export { changeKill, type KillChange, type KillChanged, requireReason } from './kill.ts';
export { type Bulla, type LibraryOptions, openLibrary } from './library.ts';
export { type Access, type Notices, type Opened, type OpenOptions, open, tellLoose } from './open.ts';
export { defaultHome, type Paths, pathsOf, withContents } from './paths.ts';
export { type MeantCapsule, provePublished, proveStored, type RecordProof } from './prove.ts';
export { Refusal, refusing, Undecided } from './refusal.ts';
export { readContent } from './seal.ts';
export { type ChainStats, chainStats } from './stats.ts';
export { type PublishedTiles, publishTiles } from './tiles.ts';
export { type SeenByWitness, type WitnessedChain, witnessedChain } from './witnessed.ts';
