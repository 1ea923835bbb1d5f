import { localSigner } from '@bulla/core/crypto';

/** A test key, apart from what needs the test runner, for processes of their own. */
export const signer = localSigner('Ed25519', new Uint8Array(32).fill(3));
export const sealer = () => ({ signer });
