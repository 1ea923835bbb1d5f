/** Key files, keys in tokens, and the keyring. */
export { ensureKeyring } from './ensure.ts';
export { type Epoch, epochNamed, type Keyring, shownId, type TokenKey } from './epoch.ts';
export { writeKeyFile } from './file.ts';
export { findKeyring, loadKeyring } from './keyring.ts';
export {
  initKeyring,
  type NewKeyOptions,
  type RegisterOptions,
  type RevokeOptions,
  registerKey,
  revokeKey,
  rotateKeys,
} from './keyring-change.ts';
export type { ChangeOptions } from './keyring-commit.ts';
export { formatKeyring, parseKeyring } from './keyring-file.ts';
export { type Pkcs11Options, type Pkcs11Signer, pkcs11Signer } from './pkcs11.ts';
export { type OpenKeyring, type OpenOptions, openKeyring, type Sealer } from './sealer.ts';
export { readTime, timestamp } from './timestamp.ts';
export { refuseSeed, trustIn } from './trust.ts';
