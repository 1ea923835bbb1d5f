/** Lockfiles on disk: their signatures and keys, and the servers that they name. */
export { describeTarget, identityOf, quoteWords, targetOf } from './identity.ts';
export { type LockKeys, loadKeys, loadSigner, readKeyring } from './keys.ts';
export { oauthMemory } from './oauth-memory.ts';
export { checkIdentity, isSameServer, serverDigest, serverKey, serverName } from './same-server.ts';
export { SIGNATURE_KINDS, type SignatureKind, signatureBeside } from './signature.ts';
