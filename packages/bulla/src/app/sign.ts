import { basename } from 'node:path';
import { formatVkey, keyId, noteVerifier, publicKey, type Signer, toUtf8 } from '@bulla/core/crypto';
import { signLock, signLockNote, signLockStatement } from '@bulla/core/lock';
import { loadSigner, SIGNATURE_KINDS, type SignatureKind } from '../locks/index.ts';
import { replaceFile } from '../os/index.ts';
import { readLockFile } from './locked.ts';

export interface SignInput {
  readonly lockfile: string;
  /** The file of the private key. Default: without a keyring, `private.key`. */
  readonly key?: string | undefined;
  /** The folder of a keyring whose active key signs instead. */
  readonly keys?: string | undefined;
  /** Default: beside the lockfile. */
  readonly output?: string | undefined;
  /** Default `sig`. */
  readonly format?: SignatureKind | undefined;
  /** What a `sig` is over. Default `v1`. */
  readonly canonicalization?: 'v1' | 'v2' | undefined;
  /** The name of the key in a note. Default `bulla-lock`. */
  readonly name?: string | undefined;
}

interface SignedLock {
  readonly signature: string;
  readonly format: SignatureKind;
  readonly keyId: string;
  /** By what a note is verified. */
  readonly vkey: string | null;
}

/**
 * Signs a lockfile. Nothing is signed that cannot be read: the lockfile is read strictly first. Rejects as
 * `readLockFile` and `loadSigner` throw, and as the lock's reader does.
 */
export async function sign(input: SignInput): Promise<SignedLock> {
  const { lockfile, format = 'sig', name = 'bulla-lock' } = input;
  const bytes = readLockFile(lockfile);
  const file = input.key ?? (input.keys === undefined ? 'private.key' : undefined);
  const key = loadSigner({ file, keyring: input.keys });
  try {
    const signing = publicKey(key.signer.algorithm, key.signer.publicKey);
    const vkey = format === 'note' ? formatVkey(noteVerifier(name, signing)) : null;
    const text = await signAs(bytes, key.signer, { ...input, format, name });
    const signature = input.output ?? `${lockfile}${SIGNATURE_KINDS[format]}`;
    replaceFile(signature, toUtf8(text));
    return { signature, format, keyId: keyId(signing), vkey };
  } finally {
    key.close();
  }
}

function signAs(
  lock: Uint8Array,
  signer: Signer,
  { format, name, lockfile, canonicalization = 'v1' }: SignInput & { readonly name: string },
): Promise<string> {
  if (format === 'note') return signLockNote(lock, [{ name, signer }]);
  if (format === 'dsse') return signLockStatement(lock, [signer], { name: basename(lockfile) });
  return signLock(lock, signer, { form: canonicalization });
}
