import { canonicalBytes, type ProfileId } from '../../canon/index.ts';
import { fromHexAnyCase, fromUtf8, type PublicKey, type Signer, toHex, verify } from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { JsonObject, type JsonValue, parse } from '../../json/index.ts';
import { interpret, parseLock, readLock } from './lock.ts';
import { asVerified, type VerifiedLock } from './verified.ts';

// The released program's signature files: a header line and 128 hex digits, or the hex digits alone. Signed
// are the canonical bytes of the whole parsed lockfile. The header is not signed.

/** `v1` and `v2` name the canonical form in a header; `legacy` has no header and means v1. */
type SignatureForm = 'v1' | 'v2' | 'legacy';

/** A signature file taken apart; nothing in it is verified. */
interface LockSignature {
  readonly form: SignatureForm;
  readonly signature: Uint8Array;
}

/**
 * What each form may be over. Of v1 the released program's comes first, and it is the one we sign. The seed's
 * keeps the digits of numbers; the two are the same text unless a number does not survive a double.
 */
const PROFILES: Readonly<Record<SignatureForm, readonly [ProfileId, ...ProfileId[]]>> = {
  v1: ['mcptrust-v1-go', 'mcptrust-v1'],
  v2: ['mcptrust-v2'],
  legacy: ['mcptrust-v1-go', 'mcptrust-v1'],
};

const MAX_BYTES = 1 << 20;
const HEADER = ['canon_version', 'sig_type', 'bundle_encoding'];

/**
 * Takes a signature file apart. Spaces and line ends around it are passed over, and hex may be in upper case,
 * as the released program has it. Throws `LOCK_SIGNATURE_MALFORMED`, also for a Sigstore bundle and for canonical forms
 * that are not known.
 */
export function readSignature(bytes: Uint8Array): LockSignature {
  if (bytes.length > MAX_BYTES) throw malformed('is too long');
  const text = trim(attempt('is not UTF-8', () => fromUtf8(bytes)));
  if (!text.startsWith('{')) return { form: 'legacy', signature: hex(text) };
  const newline = text.indexOf('\n');
  if (newline < 0) throw malformed('has a header and nothing after it');
  const form = readHeader(attempt('has no JSON header', () => parse(text.slice(0, newline))));
  return { form, signature: hex(trim(text.slice(newline + 1))) };
}

function readHeader(header: JsonValue): 'v1' | 'v2' {
  if (!(header instanceof JsonObject) || header.keys.some((key) => !HEADER.includes(key)))
    throw malformed('has a header with unknown keys');
  const type = header.get('sig_type') ?? 'ed25519';
  if (type !== 'ed25519')
    throw unsupported(`A signature of type ${JSON.stringify(type)} cannot be checked here.`);
  const version = header.get('canon_version');
  if (version === 'v1' || version === 'v2') return version;
  throw unsupported('The header names no canonical form that is known (v1, v2).');
}

function hex(text: string): Uint8Array {
  return attempt('does not hold a signature in hex', () => fromHexAnyCase(text));
}

function trim(text: string): string {
  return text.replace(/^[ \t\r\n]+/, '').replace(/(?<![ \t\r\n])[ \t\r\n]+$/, '');
}

function attempt<Result>(what: string, run: () => Result): Result {
  try {
    return run();
  } catch (cause) {
    throw malformed(what, cause);
  }
}

function malformed(what: string, cause?: unknown): BullaError {
  return new BullaError('LOCK_SIGNATURE_MALFORMED', `The signature file ${what}.`, { cause });
}

function unsupported(message: string): BullaError {
  return new BullaError('LOCK_SIGNATURE_MALFORMED', message);
}

/**
 * The text of a signature file, byte for byte as the released program writes it (`legacy` as its old releases
 * did).
 */
export function writeSignature({ form, signature }: LockSignature): string {
  return form === 'legacy' ? `${toHex(signature)}\n` : `{"canon_version":"${form}"}\n${toHex(signature)}`;
}

/**
 * Signs a lockfile in the released program's form; it can verify the result. Rejects with what `readLock`
 * throws, so that nothing is signed that cannot be read, with `KEY_ALGORITHM` for a key that is
 * not Ed25519, and with whatever the signer fails with.
 */
export async function signLock(
  lockBytes: Uint8Array,
  signer: Signer,
  { form = 'v1' }: { readonly form?: SignatureForm } = {},
): Promise<string> {
  if (signer.algorithm !== 'Ed25519')
    throw new BullaError('KEY_ALGORITHM', 'A signature file of a lock holds an Ed25519 signature.');
  const { document } = readLock(lockBytes);
  return writeSignature({ form, signature: await signer.sign(canonicalBytes(document, PROFILES[form][0])) });
}

/**
 * Opens a lockfile whose signature file was made by one of the keys: the bytes are parsed once, the signature
 * is checked over what was parsed, and only that is used. Throws `LOCK_SIGNATURE_NO_KEY` without keys,
 * `LOCK_SIGNATURE_INVALID` when none of them made the signature, and what `readSignature` and `readLock`
 * throw.
 */
export function openSigned(
  lockBytes: Uint8Array,
  signatureBytes: Uint8Array,
  keys: readonly PublicKey[],
): VerifiedLock {
  if (keys.length === 0)
    throw new BullaError('LOCK_SIGNATURE_NO_KEY', 'No key is trusted, so no signature can be checked.');
  const { form, signature } = readSignature(signatureBytes);
  const document = parseLock(lockBytes);
  for (const profile of PROFILES[form]) {
    const message = canonicalBytes(document, profile);
    const key = keys.find(
      (candidate) => candidate.algorithm === 'Ed25519' && verify(candidate, message, signature),
    );
    if (key !== undefined) return asVerified(interpret(document, lockBytes), 'sig', [key], profile);
  }
  throw new BullaError(
    'LOCK_SIGNATURE_INVALID',
    'The signature was not made over this lock by a trusted key.',
  );
}
