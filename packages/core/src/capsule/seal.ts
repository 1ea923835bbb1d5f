import { canonicalize, digestText } from '../canon/index.ts';
import { type LocalSigner, type Signer, toHex, toUtf8 } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { toDict } from './dict.ts';
import { type LintFinding, lintForSeal } from './lint.ts';
import { type Capsule, SEAL_FIELDS, type Seal, type SealedCapsule } from './model.ts';
import { isIsoTimestamp, isoTimestamp } from './time.ts';

export interface SealOptions {
  /** Becomes `signed_at`; a string must have the form of `isoTimestamp`. */
  readonly signedAt: Date | string;
  /** An ML-DSA-65 key that signs the same hash. */
  readonly pqSigner?: Signer | undefined;
}

export interface HashOptions {
  /**
   * Refuse also what `lint` only warns of: content that the specification allows and that another implementation would
   * hash differently. Default false: it is sealed by the specification's rule.
   */
  readonly strictInterop?: boolean | undefined;
}

interface SealSyncOptions extends SealOptions, HashOptions {
  readonly pqSigner?: LocalSigner | undefined;
}

/** Thrown by the sealers with the code `CAPSULE_LINT`; `findings` holds every reason. */
export class CapsuleLintError extends BullaError {
  readonly findings: readonly LintFinding[];

  constructor(findings: readonly LintFinding[]) {
    const list = findings.map(({ path, code, message }) => `${path || '/'} ${code}: ${message}`);
    super('CAPSULE_LINT', `The capsule cannot be sealed. ${list.join(' ')}`, { path: findings[0]!.path });
    this.findings = findings;
  }
}

/** A capsule that `lint` finds no error in, with its canonical text and its hash; `hashCapsule` makes it. */
export interface HashedCapsule {
  readonly content: Capsule;
  readonly canonical: string;
  readonly hash: string;
}

/**
 * The first half of sealing: checks a capsule and hashes its `cps` bytes with SHA3-256. The hash is what the next
 * capsule of a chain links to, so a batch can be hashed first and signed afterwards, which is faster and lets the
 * signatures be made elsewhere. Throws `CAPSULE_SEALED` when it is sealed already and `CAPSULE_LINT`, with all of
 * them, when `lint` finds errors (or warnings, with `strictInterop`). The content shares the values of open fields with the capsule.
 */
export function hashCapsule(capsule: Capsule, { strictInterop = false }: HashOptions = {}): HashedCapsule {
  const { hash: oldHash, signature: oldSignature } = capsule as Partial<Seal>;
  if (oldHash || oldSignature) {
    const path = oldHash ? '/hash' : '/signature';
    throw new BullaError('CAPSULE_SEALED', 'A second seal would hide the one that is there.', { path });
  }
  const { findings, canonical } = lintForSeal(capsule, strictInterop);
  if (findings.length > 0) throw new CapsuleLintError(findings);
  return { content: toDict(capsule), canonical: canonical!, hash: digestText(canonical!, 'cps') };
}

/**
 * Seals a capsule: SHA3-256 over its `cps` bytes, Ed25519 (and ML-DSA-65 where a `pqSigner` is given) over the 64
 * ASCII characters of that hash. Rejects with what `hashCapsule` throws, `CAPSULE_TIMESTAMP` for a `signedAt` that
 * is none, `CAPSULE_SIGNER` for a key of another algorithm or a signature of the wrong size, and with whatever the
 * signer rejects with.
 */
export async function seal(
  capsule: Capsule,
  signer: Signer,
  options: SealOptions & HashOptions,
): Promise<SealedCapsule> {
  checkedMoment(signer, options);
  return (await signHashed(hashCapsule(capsule, options), signer, options)).sealed;
}

/** The second half of sealing, for any signer; the text is that of `exportSealed`. Rejects as `seal` does. */
export async function signHashed(
  hashed: HashedCapsule,
  signer: Signer,
  options: SealOptions,
): Promise<SealedText> {
  const signedAt = checkedMoment(signer, options);
  const message = toUtf8(hashed.hash);
  const signature = await signer.sign(message);
  const pq = await options.pqSigner?.sign(message);
  return sealedText(hashed, sealFields(hashed.hash, signature, pq, signer, signedAt));
}

/** A sealed capsule and the line of JSON that `exportSealed` writes for it. */
export interface SealedText {
  readonly sealed: SealedCapsule;
  readonly text: string;
}

/** Seals at once, with keys in memory, and gives the text of `exportSealed` too. Throws what `seal` rejects with. */
export function sealSync(capsule: Capsule, signer: LocalSigner, options: SealSyncOptions): SealedText {
  const signedAt = checkedMoment(signer, options);
  const hashed = hashCapsule(capsule, options);
  const message = toUtf8(hashed.hash);
  return sealedText(
    hashed,
    sealFields(hashed.hash, signer.sign(message), options.pqSigner?.sign(message), signer, signedAt),
  );
}

function sealedText({ content, canonical }: HashedCapsule, fields: Seal): SealedText {
  return { sealed: { ...content, ...fields }, text: exported(canonical, fields) };
}

/**
 * Writes a capsule that was sealed here as one line of JSON: the canonical content, so that every number stands
 * as it was hashed (`0.0` stays `0.0`), then the five seal fields. The same capsule always gives the same bytes.
 * Throws `CAPSULE_HASH` when the content does not have its hash: a record that was changed since, or one from
 * elsewhere, whose text `stringify` keeps as it is. Throws `VALUE_…` or `CANON_…` for what has no canonical form.
 */
export function exportSealed(capsule: SealedCapsule): string {
  const canonical = canonicalize(capsule, 'cps');
  if (digestText(canonical, 'cps') !== capsule.hash) {
    throw new BullaError('CAPSULE_HASH', 'The content does not have the hash that it was sealed with.', {
      path: '/hash',
    });
  }
  return exported(canonical, capsule);
}

function exported(canonical: string, seal: Seal): string {
  const fields = SEAL_FIELDS.map((key) => `"${key}":${JSON.stringify(seal[key])}`);
  return `${canonical.slice(0, -1)},${fields.join(',')}}`;
}

function checkedMoment(signer: Signer, { pqSigner, signedAt }: SealOptions): string {
  checkSigner(signer, 'Ed25519');
  if (pqSigner !== undefined) checkSigner(pqSigner, 'ML-DSA-65');
  if (typeof signedAt !== 'string') return isoTimestamp(signedAt);
  if (isIsoTimestamp(signedAt)) return signedAt;
  throw new BullaError('CAPSULE_TIMESTAMP', 'The signed_at is not in the form that isoTimestamp writes.');
}

function checkSigner(signer: Signer, algorithm: string): void {
  if (signer.algorithm === algorithm) return;
  throw new BullaError('CAPSULE_SIGNER', `This seal needs an ${algorithm} key, not ${signer.algorithm}.`);
}

const SIGNATURE_BYTES = 64;
const PQ_SIGNATURE_BYTES = 3309;

function sealFields(
  hash: string,
  signature: Uint8Array,
  pq: Uint8Array | undefined,
  signer: Signer,
  signedAt: string,
): Seal {
  // A signer may be a device that answers anything; a short signature would be found only by the auditor.
  if (signature.length !== SIGNATURE_BYTES || (pq !== undefined && pq.length !== PQ_SIGNATURE_BYTES)) {
    throw new BullaError('CAPSULE_SIGNER', 'The signer returned a signature of the wrong size.');
  }
  return {
    hash,
    signature: toHex(signature),
    signature_pq: pq === undefined ? '' : toHex(pq),
    signed_at: signedAt,
    signed_by: toHex(signer.publicKey.subarray(0, 8)),
  };
}
