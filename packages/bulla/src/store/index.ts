export type { Effect, Found, Head, Opening, Query, Row, StandingKill } from './driver.ts';
export { type Chain, openStore, type Sealer, type Store, type StoreOptions } from './store.ts';
