import type { Code } from '@bulla/core/codes';
import type { PublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type VerifiedBundle, verifyBundle } from '@bulla/core/lock';
import { standingKeys } from './artifact-lock.ts';
import type { Artifact, Verdict } from './artifacts.ts';

export const BUNDLE_NOT_PROVEN = [
  'that the server still is as it was locked',
  'when the lock was signed',
  'anything about the files that no signature covers',
];

/** What a bundle turned out to be, for the report. */
export function bundleDetails({ lock, trusted, carriesKey, unsigned, readme, manifest }: VerifiedBundle) {
  return {
    key_id: trusted.keyId,
    lock_version: lock.version,
    tools: lock.tools.size,
    tool_version: manifest.tool_version,
    carries_key: carriesKey,
    unsigned,
    readme,
  };
}

export function bundleText({ lock, unsigned }: VerifiedBundle): string {
  const rest = unsigned.filter((name) => name !== 'manifest.json');
  const more = rest.length === 0 ? '' : ` Not covered by the signature: ${rest.join(', ')}.`;
  return `A lock of ${lock.tools.size} tool(s), signed by a trusted key; every file is as the manifest says.${more}`;
}

/** A lock with its signature in one file, of ours or of the released program. */
export const bundle: Artifact = {
  kind: 'bundle',
  isSigned: true,
  recognises: (bytes) => Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'PK\u0003\u0004',
  async verify(_, bytes, trust): Promise<Verdict> {
    const verdict = (result: Verdict['result'], code: Code, message: string): Verdict => ({
      ...{ result, code, message, details: {}, notProven: BUNDLE_NOT_PROVEN },
    });
    const all = trust.keys.filter((key) => key.algorithm === 'Ed25519');
    if (all.length === 0) {
      const message = 'No key is known to verify with; name one with --public-key or --keyring.';
      return verdict('undecided', 'VERIFY_NO_KEY', message);
    }
    const keys = standingKeys(trust);
    if (isGood(bytes, all) && !isGood(bytes, keys))
      return verdict('bad', 'LOCK_SIGNATURE_INVALID', 'A key that is revoked signed the lock.');
    try {
      const verified = verifyBundle(bytes, keys);
      return {
        result: 'good',
        code: 'ok',
        message: `${bundleText(verified)} The key is ${verified.trusted.keyId}.`,
        details: bundleDetails(verified),
        notProven: BUNDLE_NOT_PROVEN,
      };
    } catch (error) {
      if (!(error instanceof BullaError) || error.kind !== 'bad') throw error;
      // The signature names nobody: it says nothing about keys that nobody chose for it.
      if (error.code === 'LOCK_SIGNATURE_INVALID' && trust.unasked)
        return verdict(
          'undecided',
          error.code,
          'None of the keys at hand signed the lock; its signature does not say whose it is. Name the key with -k or --keyring.',
        );
      return verdict('bad', error.code, error.message);
    }
  },
};

function isGood(bytes: Uint8Array, keys: readonly PublicKey[]): boolean {
  try {
    return keys.length > 0 && verifyBundle(bytes, keys) !== undefined;
  } catch (error) {
    if (error instanceof BullaError) return false;
    throw error;
  }
}
