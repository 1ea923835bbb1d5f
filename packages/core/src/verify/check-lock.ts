import type { Code } from '../codes.ts';
import { keyId, type NoteVerifier, type PublicKey, shownKeyId, toUtf8 } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { type JsonObject, parse } from '../json/index.ts';
import { type Lock, lockDigest, openWith } from '../lock/index.ts';
import { type Artifact, type Finding, findings, type Read } from './artifact.ts';
import { signersOf } from './check-notes.ts';
import { standingKeys, standingVkeys, type Trust } from './trust.ts';

const { good, bad, undecided, keyless } = findings([
  'that the server still is as it was locked',
  'when it was signed',
  'that no other lock was signed',
]);

/** Errors that say that a lock or bundle is bad; all others say that it cannot be read. */
const BAD = new Set([
  ...['LOCK_SIGNATURE_INVALID', 'LOCK_OTHER', 'LOCK_INCONSISTENT', 'DSSE_UNVERIFIED'],
  ...['NOTE_SIGNATURE_INVALID', 'NOTE_UNVERIFIED', 'BUNDLE_MISMATCH', 'BUNDLE_KEY'],
]);

/** The error, where it says that an artifact is bad. Throws it where it says that it cannot be read. */
export function badness<Value>(found: Read<Value>): BullaError | undefined {
  if (!(found instanceof BullaError)) return undefined;
  if (!BAD.has(found.code)) throw found;
  return found;
}

interface Signature {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * A lockfile with its signature: the one that the caller says belongs to it, else one among the artifacts that a key at
 * hand made for it, else the first of them. Throws for a lock or signature that cannot be read; what can be read and is
 * not signed by a trusted key is bad, and what nothing is known of is undecided.
 */
export function checkLock(
  artifact: Artifact<'lockfile'>,
  trust: Trust,
  artifacts: readonly Artifact[],
): Finding {
  if (artifact.signature !== undefined) return checkSigned(artifact, artifact.signature, trust);
  const signatures = artifacts.flatMap((each): Signature[] => {
    if (each.kind === 'lock signature') return [each];
    // Other notes say nothing of locks; this one is looked at only beside a lock.
    return each.kind === 'signed note' ? [{ name: each.name, bytes: toUtf8(each.note) }] : [];
  });
  return (
    firstGood(signatures, (signature) => checkSigned(artifact, signature, trust)) ??
    checkSigned(artifact, null, trust)
  );
}

/** The first finding that is good, else the first of all. Throws where that one does. */
function firstGood<Item>(items: readonly Item[], check: (item: Item) => Finding): Finding | undefined {
  const found = items.map((item) => attempt(() => check(item)));
  const best = found.find((each) => !(each instanceof BullaError) && each.result === 'good') ?? found[0];
  if (best instanceof BullaError) throw best;
  return best;
}

/** A signature by itself: it is as good as the lock that it is of, which is looked for among the artifacts. */
export function checkLockSignature(
  { name, bytes }: Artifact<'lock signature'>,
  trust: Trust,
  artifacts: readonly Artifact[],
): Finding {
  const locks = artifacts.filter((each) => each.kind === 'lockfile');
  return (
    firstGood(locks, (lock) => checkSigned(lock, { name, bytes }, trust)) ??
    undecided('VERIFY_NO_LOCK', 'It is a signature on a lock. Name the lockfile too.')
  );
}

function checkSigned(
  { bytes, lock: found }: Artifact<'lockfile'>,
  signature: Signature | null,
  trust: Trust,
): Finding {
  const standing = { keys: standingKeys(trust), vkeys: standingVkeys(trust) };
  if (signature !== null && isRevoked(bytes, signature.bytes, trust, standing))
    return bad('LOCK_SIGNATURE_INVALID', 'A key that is revoked signed the lock.', {
      signature: signature.name,
    });
  if (signature === null || standing.keys.length + standing.vkeys.length === 0) {
    const wrong = badness(found);
    if (wrong !== undefined) return bad(wrong.code, wrong.message, { signature: signature?.name ?? null });
    const details = factsOf(found as Lock);
    if (signature === null)
      return undecided('LOCK_UNSIGNED', 'There is no signature beside the lock.', details);
    return keyless('VERIFY_NO_KEY', 'No key is known to verify with.', details);
  }
  const opened = attempt(() => openWith(bytes, signature.bytes, standing));
  const wrong = badness(opened);
  if (wrong !== undefined) {
    const signers = missingSigners(wrong.code, signature.bytes, trust);
    const details = { signature: signature.name };
    if (signers === null) return bad(wrong.code, wrong.message, details);
    return keyless(wrong.code, `None of the keys at hand signed the lock; ${signers}`, details);
  }
  const lock = opened as Exclude<typeof opened, BullaError>;
  const { by, profile, keyIds } = lock.verified;
  return good(
    `A lock of version ${lock.version} with ${lock.tools.size} tool(s), signed by ${keyIds.map(shownKeyId).join(', ')}.`,
    { ...factsOf(lock), signature: signature.name, signed_as: by, profile, key_ids: keyIds },
  );
}

function factsOf(lock: Lock) {
  return { version: lock.version, tools: lock.tools.size, digest: lockDigest(lock) };
}

interface LockKeys {
  readonly keys: readonly PublicKey[];
  readonly vkeys: readonly NoteVerifier[];
}

/** Whether only a key that is revoked signed the lock: that is not a missing key. */
function isRevoked(lock: Uint8Array, signature: Uint8Array, trust: Trust, standing: LockKeys): boolean {
  const gone = {
    keys: trust.keys.filter((key) => key.algorithm === 'Ed25519' && !standing.keys.includes(key)),
    vkeys: trust.vkeys.filter((key) => !standing.vkeys.includes(key)),
  };
  const isSignedBy = (keys: LockKeys) =>
    !(attempt(() => openWith(lock, signature, keys)) instanceof BullaError);
  return gone.keys.length + gone.vkeys.length > 0 && isSignedBy(gone) && !isSignedBy(standing);
}

/**
 * Who a signature says made it, where that is none of the keys at hand; null where one of them is named, so that the
 * signature is bad. The released program's form names nobody: it is bad for keys that were named, and says nothing
 * about others.
 */
function missingSigners(code: Code, signature: Uint8Array, { keys, unasked, vkeys }: Trust): string | null {
  if (code === 'NOTE_UNVERIFIED') return signersOf(signature);
  if (code === 'DSSE_UNVERIFIED') {
    const list = (parse(signature) as JsonObject).get('signatures') as JsonObject[];
    const ids = list.map((one) => one.get('keyid'));
    const ours = new Set(keys.map(keyId));
    return ids.every((id) => typeof id === 'string' && id !== '' && !ours.has(id))
      ? `it says that it was signed by ${(ids as string[]).map(shownKeyId).join(', ')}.`
      : null;
  }
  return code === 'LOCK_SIGNATURE_INVALID' && unasked && vkeys.length === 0
    ? 'its signature does not say whose it is, so it may also be of another lock.'
    : null;
}
