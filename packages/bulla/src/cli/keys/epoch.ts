import { keyId, shownKeyId, toHex } from '@bulla/core/crypto';
import type { Epoch } from '../../keys/index.ts';
import { colors } from '../terminal/io.ts';

/** What a key is good for, in one word. */
export function state(epoch: Epoch): string {
  if (epoch.revocation !== null) return 'revoked';
  return epoch.verifyOnly ? 'registered' : epoch.status;
}

/** What else is to be said of a key, on one line. */
export function remarks(epoch: Epoch): string {
  return [
    epoch.createdAt,
    ...(epoch.pqPublicKey ? ['ML-DSA-65'] : []),
    ...(epoch.token ? ['in a token'] : []),
    ...(epoch.notBefore ? [`from ${epoch.notBefore}`] : []),
    ...(epoch.notAfter ? [`until ${epoch.notAfter}`] : []),
    ...(epoch.revocation ? [`revoked ${epoch.revocation.at}: ${epoch.revocation.reason}`] : []),
  ].join(', ');
}

/** The names of a key, a line each. */
export function describe(epoch: Epoch): string[] {
  return [
    ['key id', epoch.keyId],
    ['public key', toHex(epoch.publicKey.bytes)],
    ['labels', `${epoch.label}, ${epoch.fingerprint}`],
    ...(epoch.pqPublicKey ? [['ML-DSA-65', keyId(epoch.pqPublicKey)]] : []),
  ].map(([name, value]) => `${colors.dim(name!.padEnd(12))}${value}`);
}

/** What `--json` says of a key. */
export function epochDocument(epoch: Epoch): Record<string, unknown> {
  return {
    epoch: epoch.epoch,
    state: state(epoch),
    id: shownKeyId(epoch.keyId),
    key_id: epoch.keyId,
    public_key: toHex(epoch.publicKey.bytes),
    labels: { signed_by: epoch.label, python: epoch.fingerprint },
    pq_key_id: epoch.pqPublicKey && keyId(epoch.pqPublicKey),
    created_at: epoch.createdAt,
    rotated_at: epoch.verifyOnly ? null : epoch.rotatedAt,
    not_before: epoch.notBefore,
    not_after: epoch.notAfter,
    revoked_at: epoch.revocation?.at ?? null,
    revoked_reason: epoch.revocation?.reason ?? null,
    in_token: epoch.token !== null,
  };
}
