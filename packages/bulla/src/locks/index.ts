/** Lockfiles on disk: their signatures and keys, and the servers that they name. */
export { type LockKeys, loadKeys, loadSigner, readKeyring } from './keys.ts';
export { oauthMemory } from './oauth-memory.ts';
export {
  checkIdentity,
  describeTarget,
  identityOf,
  isSameServer,
  quoteWords,
  serverDigest,
  serverKey,
  serverName,
  targetOf,
} from './server.ts';
export { SIGNATURE_KINDS, type SignatureKind, signatureBeside } from './signature.ts';
