import { keyId, type PublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { lockDigest, readLock, type VerifiedLock } from '@bulla/core/lock';
import { openWith, readWhole, signatureBeside } from '../lockfile/index.ts';
import type { Artifact, Trust, Verdict } from './artifacts.ts';
import { EXIT, exitOf } from './io.ts';

const NOT_PROVEN = [
  'that the server still is as it was locked',
  'when it was signed',
  'that no other lock was signed',
];

/** A lockfile, with its signature beside it or named with -s. */
export const lockfile: Artifact = {
  kind: 'lockfile',
  recognises(bytes) {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const isOurs = text.includes('"lockFileVersion"') || text.includes('"server_command"');
    if (!isOurs || !/^\s*\{/.test(text.subarray(0, 64).toString('latin1'))) return false;
    try {
      const root = parse(bytes, { allow: ['duplicate-keys', 'lone-surrogates'] });
      return root instanceof JsonObject && (root.has('lockFileVersion') || root.has('server_command'));
    } catch (error) {
      // A broken lockfile is one; several documents in a row are something else.
      return error instanceof BullaError && error.code !== 'JSON_TRAILING_DATA';
    }
  },
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
  trust: Pick<Trust, 'keys' | 'revoked' | 'vkeys' | 'origin'>,
): Verdict {
  const verdict = (result: Verdict['result'], code: string, message: string, details = {}): Verdict => ({
    ...{ result, code, message, details, notProven: NOT_PROVEN },
  });
  const signature =
    signatureFile === undefined
      ? signatureBeside(file)
      : { path: signatureFile, bytes: readWhole(signatureFile) };
  const keys = standingKeys(trust);
  try {
    if (signature === null || (keys.length === 0 && trust.vkeys.length === 0)) {
      const lock = readLock(bytes);
      const details = { version: lock.version, tools: lock.tools.size, digest: lockDigest(lock) };
      if (signature === null)
        return verdict('undecided', 'LOCK_UNSIGNED', 'There is no signature beside the lock.', details);
      const message = 'No key is known to verify with; name one with -k, --public-key or --keyring.';
      return verdict('undecided', 'VERIFY_NO_KEY', message, details);
    }
    const lock = openWith(bytes, signature.bytes, { keys, vkeys: trust.vkeys, origin: trust.origin });
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
    if (!(error instanceof BullaError) || exitOf(error) !== EXIT.bad) throw error;
    return verdict('bad', error.code, error.message, { signature: signature?.path ?? null });
  }
}

function goodText({ version, tools, verified }: VerifiedLock): string {
  return `A lock of version ${version} with ${tools.size} tool(s), signed by ${verified.keyIds.join(', ')}.`;
}
