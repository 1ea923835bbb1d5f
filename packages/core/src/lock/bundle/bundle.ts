// The browser build is the same code without worker threads, so that Node.js and browsers write the same
// bytes.
import { zipSync } from 'fflate/browser';
import { sortNames } from '../../canon/index.ts';
import { equalBytes, fromUtf8, type PublicKey, readPublicKey, toUtf8 } from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { readLock } from '../file/lock.ts';
import { openSigned, readSignature } from '../file/signature.ts';
import type { VerifiedLock } from '../file/verified.ts';
import {
  type BundleManifest,
  checkManifest,
  LOCK_NAME,
  MANIFEST_NAME,
  README_NAME,
  readManifest,
  SIGNATURE_NAME,
  writeManifest,
} from './manifest.ts';
import { bundleReadme } from './readme.ts';
import { isBundleName, unzip } from './unzip.ts';

const POLICY_NAME = 'policy.yaml';
const KEY_NAME = 'public.key';

/** What goes into a bundle. */
export interface BundleFiles {
  readonly lock: Uint8Array;
  /** The signature file, in the released program's form. */
  readonly signature: Uint8Array;
  readonly policy?: Uint8Array;
  /** The key that made the signature, for those who want to compare. */
  readonly publicKey?: Uint8Array;
  /** Others by name, such as a signed note or a statement. */
  readonly others?: ReadonlyMap<string, Uint8Array>;
}

/**
 * Every entry alike, whatever the machine: 1980-01-01 00:00:00 (local fields, which is what ZIP holds), a
 * file that its owner may write and all may read, and a compressor whose table size does not hang on
 * `Math.log`.
 */
function entryOptions() {
  return { level: 9, mem: 6, os: 3, attrs: (0o100644 << 16) >>> 0, mtime: new Date(1980, 0, 1) } as const;
}

/**
 * Makes a bundle: the same files and version give the same bytes on every machine, in every time zone.
 * Entries stand in the order of their names. Throws what `readLock` and `readSignature` throw,
 * `LOCK_SIGNATURE_INVALID` when the public key did not make the signature, `BUNDLE_KEY`, `BUNDLE_NAME` and
 * `BUNDLE_TOO_LARGE`.
 */
export function writeBundle(files: BundleFiles, options: { readonly toolVersion: string }): Uint8Array {
  const { form } = readSignature(files.signature);
  const key = files.publicKey && readKey(files.publicKey);
  const lock = key ? openSigned(files.lock, files.signature, [key]) : readLock(files.lock);
  const content = new Map([
    [LOCK_NAME, files.lock],
    [SIGNATURE_NAME, files.signature],
  ]);
  const add = (name: string, bytes: Uint8Array | undefined) => {
    if (bytes === undefined) return;
    if (!isBundleName(name))
      throw new BullaError('BUNDLE_NAME', `A file cannot be called ${JSON.stringify(name)}.`);
    if (content.has(name)) throw new BullaError('BUNDLE_NAME', `The bundle would hold ${name} twice.`);
    content.set(name, bytes);
  };
  add(POLICY_NAME, files.policy);
  add(KEY_NAME, files.publicKey);
  for (const [name, bytes] of files.others ?? []) add(name, bytes);
  const manifest = writeManifest(content, options.toolVersion, form === 'legacy' ? 'v1' : form);
  add(MANIFEST_NAME, manifest);
  add(README_NAME, toUtf8(bundleReadme(lock)));
  // No name begins with a digit, so the object keeps the order.
  const entries = sortNames([...content.keys()], 'mcptrust-v1').map((name) => [name, content.get(name)!]);
  const bytes = zipSync(Object.fromEntries(entries), entryOptions());
  // What is written must be readable: this catches names that differ in case only, and files over the limits.
  readBundle(bytes);
  return bytes;
}

function readKey(bytes: Uint8Array): PublicKey {
  try {
    return readPublicKey(fromUtf8(bytes), 'Ed25519');
  } catch (cause) {
    throw new BullaError('BUNDLE_KEY', 'The public key in the bundle cannot be read.', { cause });
  }
}

/** A bundle taken apart; its files are what its manifest says, and nothing more is known. */
export interface Bundle {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly manifest: BundleManifest;
}

/**
 * Takes a bundle of ours or of the released program apart. Throws what `unzip` throws, the `JSON_…` codes,
 * `BUNDLE_MANIFEST`, and `BUNDLE_MISMATCH` where a file is not what the manifest says.
 */
export function readBundle(bytes: Uint8Array): Bundle {
  const files = unzip(bytes);
  const manifest = readManifest(fileOf(files, MANIFEST_NAME));
  fileOf(files, LOCK_NAME);
  fileOf(files, SIGNATURE_NAME);
  checkManifest(manifest, files);
  return { files, manifest };
}

function fileOf(files: ReadonlyMap<string, Uint8Array>, name: string): Uint8Array {
  const file = files.get(name);
  if (file === undefined) throw new BullaError('BUNDLE_MANIFEST', `The bundle holds no ${name}.`);
  return file;
}

/** A bundle whose lock a trusted key signed. */
export interface VerifiedBundle extends Bundle {
  readonly lock: VerifiedLock;
  /** The trusted key that made the signature. */
  readonly trusted: { readonly key: PublicKey; readonly keyId: string };
  /** Whether the bundle carries that key too. It was not trusted for it. */
  readonly carriesKey: boolean;
  /**
   * Files that no signature covers: anyone who had the bundle could have changed them together with the
   * manifest.
   */
  readonly unsigned: readonly string[];
  /**
   * `derived` when the README is the one that follows from the lock; `unchecked` in the released program's
   * bundles.
   */
  readonly readme: 'derived' | 'unchecked' | 'none';
}

/**
 * Verifies a bundle against keys that the caller trusts: the archive, the manifest and its hashes, the
 * signature over the lock, and the README. The key inside the bundle is never trusted; it is refused with
 * `BUNDLE_KEY` when it is not the one that signed. Throws what `readBundle` and `openSigned` throw, and
 * `BUNDLE_MISMATCH` when the manifest names another canonical form than the signature, or the README is not that of
 * this lock.
 */
export function verifyBundle(bundle: Uint8Array | Bundle, keys: readonly PublicKey[]): VerifiedBundle {
  const { files, manifest } = bundle instanceof Uint8Array ? readBundle(bundle) : bundle;
  const signature = fileOf(files, SIGNATURE_NAME);
  const { form } = readSignature(signature);
  if (manifest.canon_version !== null && manifest.canon_version !== (form === 'legacy' ? 'v1' : form))
    throw new BullaError('BUNDLE_MISMATCH', 'The manifest names another canonical form than the signature.');
  const lock = openSigned(fileOf(files, LOCK_NAME), signature, keys);
  const [key, keyId] = [lock.verified.keys[0]!, lock.verified.keyIds[0]!];
  const carried = files.get(KEY_NAME);
  if (carried !== undefined && !equalBytes(readKey(carried).bytes, key.bytes))
    throw new BullaError('BUNDLE_KEY', 'The bundle carries another key than the one that signed its lock.');
  return {
    files,
    manifest,
    lock,
    trusted: { key, keyId },
    carriesKey: carried !== undefined,
    unsigned: [...files.keys()].filter((name) => name !== LOCK_NAME && name !== SIGNATURE_NAME),
    readme: checkReadme(files.get(README_NAME), manifest, lock),
  };
}

function checkReadme(
  readme: Uint8Array | undefined,
  manifest: BundleManifest,
  lock: VerifiedLock,
): VerifiedBundle['readme'] {
  if (readme === undefined) return 'none';
  if (equalBytes(readme, toUtf8(bundleReadme(lock)))) return 'derived';
  if (manifest.go_version !== null) return 'unchecked';
  throw new BullaError('BUNDLE_MISMATCH', 'The README of the bundle is not the one of its lock.');
}
