export {
  type ApprovedCall,
  type ApprovedState,
  beginApproved,
  endApproved,
  findApproved,
  lostApproved,
  moveApproved,
} from './approved.ts';
export type { Chain, Sealer } from './chain.ts';
export { readCheckpointLines } from './checkpoint-file.ts';
export type { Submission, Submit } from './checkpoints.ts';
export type { Effect, Head, Query, Row, Statements, StoredCheckpoint, Transaction, Value } from './driver.ts';
export { toolsOf } from './indexer.ts';
export { assertNotKilled, liftKill, type StandingKill, setKill } from './kills.ts';
export { LEASE_MS, MarkedError, markOrphan, type OpenIntent } from './leases.ts';
export { createLedger, type HoldState, type Ledger } from './ledger.ts';

export type { FoundOpening, Opening } from './openings.ts';
/** @internal Its types are those of a package that has none of its own. */
export { openReadable } from './readable.ts';
export { type FoundRecord, openStore, type Store, type StoreOptions } from './store.ts';
export { proveConsistency, proveInclusion, rootAt, type TileSource } from './tiles.ts';
export { type CountedCall, countedCall, type Used } from './used.ts';
