import { basename } from 'node:path';
import { formatVkey, keyId, noteVerifier, publicKey, toUtf8 } from '@bulla/core/crypto';
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
    const signers = {
      sig: () => signLock(bytes, key.signer, { form: input.canonicalization ?? 'v1' }),
      note: () => signLockNote(bytes, [{ name, signer: key.signer }]),
      dsse: () => signLockStatement(bytes, [key.signer], { name: basename(lockfile) }),
    } satisfies Record<SignatureKind, () => Promise<string>>;
    const text = await signers[format]();
    const signature = input.output ?? `${lockfile}${SIGNATURE_KINDS[format]}`;
    replaceFile(signature, toUtf8(text));
    return { signature, format, keyId: keyId(signing), vkey };
  } finally {
    key.close();
  }
}
