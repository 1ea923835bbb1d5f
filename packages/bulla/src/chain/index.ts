/** Sources of records (files, SQLite, the store), and the verification of chains on all cores. */
export type { ChainSource, VerifiedChain } from '@bulla/core/verify';
export { openSource, type SourceOptions, storeSource } from './source.ts';
export { runnerFor, type VerifyChainOptions, verifyChain } from './verify-chain.ts';
