import type { Code } from '@bulla/core/codes';
import { keyId, type PublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type JsonObject, parse } from '@bulla/core/json';
import { lockDigest, readLock, type VerifiedLock } from '@bulla/core/lock';
import { openWith, readWhole, signatureBeside } from '../../locks/index.ts';
import { signersOf } from './artifact-note.ts';
import { hasAny } from './artifact-root.ts';
import type { Artifact, Trust, Verdict } from './artifacts.ts';
import { standingVkeys } from './trust.ts';

const NOT_PROVEN = [
  'that the server still is as it was locked',
  'when it was signed',
  'that no other lock was signed',
];

/** A lockfile, with its signature beside it or named with -s. */
export const lockfile: Artifact = {
  kind: 'lockfile',
  isSigned: true,
  recognises: (bytes) => hasAny(bytes, ['lockFileVersion', 'server_command']),
  async verify(file, bytes, trust): Promise<Verdict> {
    return verifyLock(file, bytes, undefined, trust);
  },
};

/** The keys that are not revoked: of a lock nothing shows that it was signed before the revocation. */
export function standingKeys({ keys, revoked }: Pick<Trust, 'keys' | 'revoked'>): PublicKey[] {
  return keys.filter(
    (key) => key.algorithm === 'Ed25519' && !revoked.some((gone) => gone.key === keyId(key)),
  );
}

/**
 * The verdict on a lockfile. Throws for what cannot be read, lock or signature; what can be read and is not signed by
 * a trusted key is bad, and what nothing is known of is undecided.
 */
export function verifyLock(
  file: string,
  bytes: Uint8Array,
  signatureFile: string | undefined,
  trust: Pick<Trust, 'keys' | 'revoked' | 'vkeys' | 'origin' | 'unasked'>,
): Verdict {
  const verdict = (
    result: Verdict['result'],
    code: Verdict['code'],
    message: string,
    details = {},
  ): Verdict => ({
    ...{ result, code, message, details, notProven: NOT_PROVEN },
  });
  const signature =
    signatureFile === undefined
      ? signatureBeside(file)
      : { path: signatureFile, bytes: readWhole(signatureFile) };
  const keys = standingKeys(trust);
  const vkeys = standingVkeys(trust);
  if (signature !== null && isRevoked(bytes, signature.bytes, trust))
    return verdict('bad', 'LOCK_SIGNATURE_INVALID', 'A key that is revoked signed the lock.', {
      signature: signature.path,
    });
  try {
    if (signature === null || (keys.length === 0 && vkeys.length === 0)) {
      const lock = readLock(bytes);
      const details = { version: lock.version, tools: lock.tools.size, digest: lockDigest(lock) };
      if (signature === null)
        return verdict('undecided', 'LOCK_UNSIGNED', 'There is no signature beside the lock.', details);
      const message = 'No key is known to verify with; name one with -k, --public-key or --keyring.';
      return verdict('undecided', 'VERIFY_NO_KEY', message, details);
    }
    const lock = openWith(bytes, signature.bytes, { keys, vkeys, origin: trust.origin });
    return verdict('good', 'ok', goodText(lock), {
      version: lock.version,
      tools: lock.tools.size,
      digest: lockDigest(lock),
      signature: signature.path,
      signed_as: lock.verified.by,
      profile: lock.verified.profile,
      key_ids: lock.verified.keyIds,
    });
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    if (error.kind !== 'bad' && error.code !== 'NOTE_UNVERIFIED') throw error;
    const signers = signature === null ? null : missingSigners(error.code, signature.bytes, trust);
    if (signers !== null) {
      const message = `None of the keys at hand signed the lock; ${signers} Name the key with -k, --vkey or --keyring.`;
      return verdict('undecided', error.code, message, { signature: signature!.path });
    }
    return verdict('bad', error.code, error.message, { signature: signature?.path ?? null });
  }
}

/** Whether only a key that is revoked signed the lock: that is not a missing key. */
function isRevoked(
  lock: Uint8Array,
  signature: Uint8Array,
  trust: Pick<Trust, 'keys' | 'revoked' | 'vkeys' | 'origin'>,
): boolean {
  const standing = { keys: standingKeys(trust), vkeys: standingVkeys(trust) };
  const keys = trust.keys.filter((key) => key.algorithm === 'Ed25519' && !standing.keys.includes(key));
  const vkeys = trust.vkeys.filter((key) => !standing.vkeys.includes(key));
  const isSignedBy = (some: Parameters<typeof openWith>[2]) => {
    try {
      return openWith(lock, signature, some) !== undefined;
    } catch (error) {
      if (error instanceof BullaError) return false;
      throw error;
    }
  };
  const { origin } = trust;
  return (
    keys.length + vkeys.length > 0 &&
    isSignedBy({ keys, vkeys, origin }) &&
    !isSignedBy({ ...standing, origin })
  );
}

/**
 * Who a signature says made it, where that is none of the keys at hand; null where one of them is named, so that the
 * signature is bad. The released program's form names nobody: it is bad for keys that were named, and says nothing
 * about others.
 */
function missingSigners(
  code: Code,
  signature: Uint8Array,
  { keys, unasked, vkeys }: Pick<Trust, 'keys' | 'unasked' | 'vkeys'>,
): string | null {
  const named = (names: readonly string[]) => `it says that it was signed by ${names.join(', ')}.`;
  if (code === 'NOTE_UNVERIFIED') return signersOf(signature);
  if (code === 'DSSE_UNVERIFIED') {
    const list = (parse(signature) as JsonObject).get('signatures') as JsonObject[];
    const ids = list.map((one) => one.get('keyid'));
    const ours = new Set(keys.map(keyId));
    return ids.every((id) => typeof id === 'string' && id !== '' && !ours.has(id))
      ? named(ids as string[])
      : null;
  }
  return code === 'LOCK_SIGNATURE_INVALID' && unasked && vkeys.length === 0
    ? 'its signature does not say whose it is, so it may also be of another lock.'
    : null;
}

function goodText({ version, tools, verified }: VerifiedLock): string {
  return `A lock of version ${version} with ${tools.size} tool(s), signed by ${verified.keyIds.join(', ')}.`;
}
