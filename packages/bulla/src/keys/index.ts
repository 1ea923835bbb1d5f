/** Key files, keys in tokens, and the keyring. */
export { type Epoch, epochNamed, type Keyring, type TokenKey } from './epoch.ts';
export { writeKeyFile } from './file.ts';
export { findKeyring, loadKeyring } from './keyring.ts';
export { ensureKeyring, initKeyring, registerKey, revokeKey, rotateKeys } from './keyring-change.ts';

export { formatKeyring, parseKeyring } from './keyring-file.ts';

export { type OpenKeyring, type OpenOptions, openKeyring, type Sealer } from './sealer.ts';
export { readTime } from './timestamp.ts';
export { refuseSeed, trustIn } from './trust.ts';
