import { derivePublicKey, equalBytes, keyId, type PublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { KeyTrust } from '@bulla/core/verify';
import type { Epoch } from './epoch.ts';

/** All that a keyring says about who may have signed a record. */
export function trustIn(epochs: readonly Epoch[]): KeyTrust {
  return {
    keys: epochs.map((epoch) => epoch.publicKey),
    pqKeys: epochs.flatMap((epoch) => epoch.pqPublicKey ?? []),
    facts: epochs.map(({ keyId: key, pqPublicKey, notBefore, notAfter }) => ({
      ...{ key, pqKey: pqPublicKey && keyId(pqPublicKey), notBefore, notAfter },
    })),
    revoked: epochs.flatMap(({ keyId, revocation }) =>
      revocation === null ? [] : { key: keyId, at: Math.floor(Date.parse(revocation.at) / 1000) },
    ),
  };
}

/**
 * 64 hex digits may be a seed as well as a public key. Throws `KEY_IS_PRIVATE` for one from which a key of the keyring
 * is made: as a public key it would be written down and given away.
 */
export function refuseSeed({ algorithm, bytes }: PublicKey, epochs: readonly Epoch[]): void {
  if (algorithm !== 'Ed25519') return;
  const made = derivePublicKey('Ed25519', bytes).bytes;
  const epoch = epochs.find(({ publicKey }) => equalBytes(publicKey.bytes, made));
  if (epoch !== undefined)
    throw new BullaError('KEY_IS_PRIVATE', `These digits are the private key of epoch ${epoch.epoch}.`);
}
