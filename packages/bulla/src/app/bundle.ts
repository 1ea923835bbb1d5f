import { sha256Hex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { verifyBundle, writeBundle } from '@bulla/core/lock';
import { findInput, readInput, replaceFile } from '../os/index.ts';
import { VERSION } from '../version.ts';
import { type KeyChoice, keysFrom, readLockFile } from './locked.ts';

export interface BundleInput {
  readonly lockfile: string;
  readonly output: string;
  /** Default: the lockfile with `.sig`. */
  readonly signature?: string | undefined;
  readonly policy?: string | undefined;
  /** The key that signed. */
  readonly publicKey?: string | undefined;
  /** Take `policy.yaml` and `public.key` of the current folder where they are there, as the released program does. */
  readonly compat?: boolean | undefined;
}

/** Packs a lockfile and its signature into one file. Throws `INPUT_UNREADABLE`, and what `writeBundle` throws. */
export function packBundle(input: BundleInput): { sha256: string; bytes: number } {
  const { lockfile, signature } = input;
  const besides = (named: string | undefined, usual: string) =>
    named !== undefined ? readInput(named, 'document') : input.compat ? findInput(usual, 'document') : null;
  const lock = readLockFile(lockfile);
  const policy = besides(input.policy, 'policy.yaml');
  const publicKey = besides(input.publicKey, 'public.key');
  const bytes = writeBundle(
    {
      lock,
      signature: signature === undefined ? signatureOf(lockfile) : readInput(signature, 'signature'),
      ...(policy && { policy }),
      ...(publicKey && { publicKey }),
    },
    { toolVersion: `bulla ${VERSION}` },
  );
  replaceFile(input.output, bytes);
  return { sha256: sha256Hex(bytes), bytes: bytes.length };
}

function signatureOf(lockfile: string): Uint8Array {
  const bytes = findInput(`${lockfile}.sig`, 'signature');
  if (bytes !== null) return bytes;
  throw new BullaError(
    'INPUT_UNREADABLE',
    `There is no signature ${lockfile}.sig. "bulla sign -l ${lockfile}" makes one; "-s FILE" names another.`,
  );
}

/**
 * Verifies a bundle against trusted keys; the key inside is never one of them. The origin is where these come from.
 * Throws `LOCK_SIGNATURE_NO_KEY`, and what `verifyBundle` throws.
 */
export function openBundle(
  file: string,
  choice: KeyChoice,
): { verified: ReturnType<typeof verifyBundle>; origin: string } {
  const { keys, origin } = keysFrom(choice);
  if (keys.length === 0)
    throw new BullaError('LOCK_SIGNATURE_NO_KEY', 'Name the keys that you trust with --key or --keyring.');
  return { verified: verifyBundle(readInput(file, 'document'), keys), origin };
}
