/**
 * What most programs need: one handle on keys, store and record, and the verification of a chain. All else is in the
 * folders, such as `bulla/envelope`; what needs no disk is in `@bulla/core`.
 */
export { BullaError } from '@bulla/core/error';
export { type Bulla, type LibraryOptions, openLibrary as open } from './app/index.ts';
export { openSource, storeSource, type VerifiedChain, verifyChain } from './chain/index.ts';
export type { Action, Audit, Note, Step } from './record/index.ts';
