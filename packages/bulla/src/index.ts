/**
 * What most programs need of Bulla: keys, a record of what an agent does, and its verification. All else is in the
 * folders, such as `bulla/envelope`; what needs no disk is in `@bulla/core`.
 */
export { BullaError } from '@bulla/core/error';
export { type Audit, type AuditOptions, type Intent, openAudit, type Step } from './audit/index.ts';
export {
  type ChainSource,
  openSource,
  storeSource,
  type VerifiedChain,
  type VerifyChainOptions,
  verifyChain,
} from './chain/index.ts';
export {
  ensureKeyring,
  type Keyring,
  loadKeyring,
  type OpenKeyring,
  openKeyring,
  type Sealer,
} from './keys/index.ts';
export { type Chain, openStore, type Store, type StoreOptions } from './store/index.ts';
