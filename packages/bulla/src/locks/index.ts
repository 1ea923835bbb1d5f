/** Lockfiles on disk: reading and replacing them, their signatures and keys, and the servers that they name. */
export { MAX_LOCK_BYTES, readLimited, readWhole, replaceFile } from './file.ts';
export { describeTarget, identityOf, quoteWords, targetOf } from './identity.ts';
export { type LockKeys, loadKeys, loadSigner, readKeyring, type SigningKey } from './keys.ts';
export { oauthMemory } from './oauth-memory.ts';
export { SIGNATURE_KINDS, type SignatureKind, signatureBeside } from './signature.ts';
