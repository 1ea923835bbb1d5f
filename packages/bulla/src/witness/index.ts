/** Witnesses after C2SP tlog-witness: one to run, and what shows checkpoints to those of others. */
export {
  createSubmit,
  type SizeCache,
  type SubmitOptions,
  type SubmitOutcome,
  type WitnessCode,
  type WitnessResult,
} from './client.ts';
export { addWitness, loadPolicy, type NewWitness, POLICY_FILE, type Quorum } from './config.ts';
export { type RequestLine, type ServedWitness, type ServeOptions, serveWitness } from './http.ts';
export { createJournal, type Journal } from './journal.ts';
export { type Cosigner, checkName, type KeyOptions, openKeys } from './keys.ts';
export { type KnownLogs, readLogs } from './logs.ts';
export { type OpenedWitness, type OpenWitnessOptions, openWitness } from './open.ts';
export {
  type AddCheckpoint,
  formatAddCheckpoint,
  parseAddCheckpoint,
  parseSize,
  printable,
} from './request.ts';
export {
  type Answer,
  createWitness,
  type Witness,
  type WitnessOptions,
  type WitnessStatus,
} from './server.ts';
export { type Cosigned, type Evidence, type EvidenceKind, openState, type WitnessState } from './state.ts';
