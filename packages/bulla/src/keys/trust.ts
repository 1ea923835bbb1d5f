import type { KeyFacts } from '@bulla/core/capsule';
import { keyId, type PublicKey } from '@bulla/core/crypto';
import type { Epoch } from './epoch.ts';

/** What records are verified with. */
export interface KeyTrust {
  readonly keys: readonly PublicKey[];
  readonly pqKeys: readonly PublicKey[];
  /** What else is known of the keys. */
  readonly facts: readonly KeyFacts[];
  /** Which keys are revoked, by their full id, and since when, in seconds since 1970. */
  readonly revoked: readonly { readonly key: string; readonly at: number }[];
}

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
