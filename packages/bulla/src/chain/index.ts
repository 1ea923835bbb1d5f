export { type AnchorSources, originIn } from './anchoring.ts';
export { createHistory, type History, storyOf } from './history.ts';
export { judged, type Revocation } from './judged.ts';
export { type ChainSource, openBytes, openSource, type SourceOptions, type SourceRecord } from './source.ts';
export { storeSource } from './store-source.ts';
export { type VerifiedChain, type VerifyChainOptions, verifyChain } from './verify-chain.ts';
