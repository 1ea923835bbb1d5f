import { shownKeyId } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { type VerifiedBundle, verifyBundle } from '../lock/index.ts';
import { type Artifact, type Finding, findings } from './artifact.ts';
import { badness } from './check-lock.ts';
import { standingKeys, type Trust } from './trust.ts';

export const BUNDLE_NOT_PROVEN: readonly string[] = [
  'that the server still is as it was locked',
  'when the lock was signed',
  'anything about the files that no signature covers',
];
const { good, bad, keyless } = findings(BUNDLE_NOT_PROVEN);

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

/** A lock with its signature in one file, of ours or of the released program. Throws for one that cannot be read. */
export function checkBundle({ bundle }: Artifact<'bundle'>, trust: Trust): Finding {
  const all = trust.keys.filter((key) => key.algorithm === 'Ed25519');
  if (all.length === 0) return keyless('VERIFY_NO_KEY', 'No key is known to verify with.');
  const unread = badness(bundle);
  if (unread !== undefined) return bad(unread.code, unread.message);
  const verifyWith = (keys: typeof all) =>
    attempt(() => verifyBundle(bundle as Exclude<typeof bundle, BullaError>, keys));
  const verified = verifyWith(standingKeys(trust));
  if (!(verified instanceof BullaError))
    return good(
      `${bundleText(verified)} The key is ${shownKeyId(verified.trusted.keyId)}.`,
      bundleDetails(verified),
    );
  if (!(verifyWith(all) instanceof BullaError))
    return bad('LOCK_SIGNATURE_INVALID', 'A key that is revoked signed the lock.');
  const { code, message } = badness(verified)!;
  // The signature names nobody: it says nothing about keys that nobody chose for it.
  if (code === 'LOCK_SIGNATURE_INVALID' && trust.unasked)
    return keyless(code, 'None of the keys at hand signed the lock; its signature does not say whose it is.');
  return bad(code, message);
}
