import { BullaError } from '@bulla/core/error';
import { type VerifiedBundle, verifyBundle } from '@bulla/core/lock';
import { standingKeys } from './artifact-lock.ts';
import type { Artifact, Verdict } from './artifacts.ts';
import { EXIT, exitOf } from './io.ts';

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
  recognises: (bytes) => Buffer.from(bytes.subarray(0, 4)).toString('latin1') === 'PK\u0003\u0004',
  async verify(_, bytes, trust): Promise<Verdict> {
    const keys = standingKeys(trust);
    if (keys.length === 0) {
      const message = 'No key is known to verify with; name one with --public-key or --keyring.';
      return {
        result: 'undecided',
        code: 'VERIFY_NO_KEY',
        message,
        details: {},
        notProven: BUNDLE_NOT_PROVEN,
      };
    }
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
      if (!(error instanceof BullaError) || exitOf(error) !== EXIT.bad) throw error;
      return {
        result: 'bad',
        code: error.code,
        message: error.message,
        details: {},
        notProven: BUNDLE_NOT_PROVEN,
      };
    }
  },
};
