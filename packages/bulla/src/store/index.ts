export { readCheckpointLines } from './checkpoint-file.ts';
export type { Submission, Submit } from './checkpoints.ts';
export type { Effect, Found, Head, Opening, Query, Row, StandingKill, StoredCheckpoint } from './driver.ts';
export { type Chain, openStore, type Sealer, type Store, type StoreOptions } from './store.ts';
