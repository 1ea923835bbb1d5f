/**
 * What most programs need of the core: strict JSON, canonical bytes and digests, and the verification of records. All
 * else is in the folders, such as `@bulla/core/lock`.
 */
export { canonicalBytes, canonicalize, digest, type ProfileId } from './canon/index.ts';
export { type SealedCapsule, type Verdict, verifyCapsule } from './capsule/index.ts';
export { type PublicKey, readPublicKey } from './crypto/index.ts';
export { BullaError } from './error.ts';
export { type JsonValue, parse, stringify } from './json/index.ts';
