import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type AlgorithmName, derivePublicKey, equalBytes, type PublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { accessFile, type Disk, eraseFile, findLoose, readIfThere, writeNewFile } from '../os/index.ts';
import type { Epoch, Keyring } from './epoch.ts';

/*
 * The private keys beside keyring.json, 32-byte seeds of mode 0600:
 *
 *   key, key.ml      the active epoch's Ed25519 and ML-DSA-65 seeds; `key` is where the Python reference looks
 *   key.N, key.ml.N  those of epoch N, written before the keyring names N as active
 *   key.retired, …   a retired one on its way to be erased
 *
 * keyring.json alone says which epoch is active. Its rename is the moment of rotation: before it `key.N` is nobody's,
 * after it `key.N` is the key and `key` is retired. A key is used only if its public key is the epoch's, so a crash at
 * any point leaves either the old epoch or the new one, and `tidy` ends what was begun.
 */
const STORES = [
  { name: 'key', algorithm: 'Ed25519', of: (epoch: Epoch) => (epoch.token ? null : epoch.publicKey) },
  { name: 'key.ml', algorithm: 'ML-DSA-65', of: (epoch: Epoch) => epoch.pqPublicKey },
] as const satisfies readonly Store[];

interface Store {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  /** The public key whose seed lies here while the epoch is active, or null if none does. */
  of(epoch: Epoch): PublicKey | null;
}

/** The seeds of an epoch; null where it has none in a file. */
export interface Seeds {
  readonly seed: Uint8Array | null;
  readonly pqSeed: Uint8Array | null;
}

/**
 * Reads the seeds of the active epoch. Throws `KEYRING_PRIVATE_KEY_MISSING`; `KEYRING_PRIVATE_KEY` for
 * a seed that is malformed or of another key, and for the expanded `key.ml` of the Python reference; `KEY_EXPOSED` for a file that others may read, and `KEYRING_UNREADABLE`.
 */
export function readSeeds(dir: string, active: Epoch): Seeds {
  const [seed, pqSeed] = STORES.map((store) => {
    const key = store.of(active);
    return key && readSeed(dir, store, active.epoch, key);
  });
  return { seed: seed ?? null, pqSeed: pqSeed ?? null };
}

function readSeed(dir: string, store: Store, epoch: number, key: PublicKey): Uint8Array {
  let problem = new BullaError(
    'KEYRING_PRIVATE_KEY_MISSING',
    `The private key of the active epoch is not in ${join(dir, store.name)}.`,
  );
  // The staged file first: it disappears only once `key` holds the same seed.
  for (const name of [`${store.name}.${epoch}`, store.name]) {
    const path = join(dir, name);
    const seed = readPrivate(path);
    if (seed === null) continue;
    if (belongs(seed, key)) {
      refuseExposed(path);
      return seed;
    }
    problem = foreign(path, seed);
  }
  throw problem;
}

function readPrivate(path: string): Uint8Array | null {
  return accessFile('KEYRING_UNREADABLE', path, 'read', () => readIfThere(path));
}

function belongs(seed: Uint8Array, key: PublicKey): boolean {
  return seed.length === 32 && equalBytes(derivePublicKey(key.algorithm, seed).bytes, key.bytes);
}

/** What is wrong with a private key that is not the one looked for. */
function foreign(path: string, seed: Uint8Array): BullaError {
  const what =
    seed.length === 32
      ? 'is not the private key of the active epoch.'
      : seed.length === 4032
        ? 'holds an expanded ML-DSA-65 key, as the Python reference writes it; Bulla needs the 32-byte seed, which cannot be got back from it.'
        : `holds ${seed.length} bytes; a seed has 32.`;
  return new BullaError('KEYRING_PRIVATE_KEY', `${path} ${what}`);
}

function refuseExposed(path: string): void {
  const [loose] = findLoose([path]);
  if (loose === undefined) return;
  throw new BullaError(
    'KEY_EXPOSED',
    `Others can reach ${path} (mode ${loose.mode.toString(8)}); rotate the key, or allow its owner alone (chmod 600).`,
  );
}

/** Writes the seeds of an epoch that is not active yet. Errors are Node's. */
export function stageSeeds(dir: string, epoch: number, { seed, pqSeed }: Seeds, disk: Disk): void {
  if (seed !== null) writeNewFile(disk, join(dir, `key.${epoch}`), seed);
  if (pqSeed !== null) writeNewFile(disk, join(dir, `key.ml.${epoch}`), pqSeed);
}

/**
 * Throws, with the codes of {@link readSeeds}, if a private key that the rotation would erase is not the active
 * epoch's: it may be all that is left of another one. A lost private key does not hinder its replacement.
 */
export function checkReplaceable(dir: string, active: Epoch, next: Epoch): void {
  for (const store of STORES) {
    const key = store.of(active);
    if (key === null && store.of(next) === null) continue;
    const path = join(dir, store.name);
    const seed = readPrivate(path);
    if (seed !== null && (key === null || !belongs(seed, key))) throw foreign(path, seed);
  }
}

/**
 * Ends what a rotation, or a crash in it, left: puts the active epoch's private keys in their place, and erases those
 * of others. With no keyring, everything staged is erased. The caller holds the lock. Errors are Node's.
 */
export function tidy(dir: string, keyring: Keyring | null, disk: Disk): void {
  const names = new Set(readdirSync(dir));
  const at = (name: string) => join(dir, name);
  const drop = [...names].filter((name) => name === 'keyring.json.new' || /^keyring\.lock\../.test(name));
  for (const name of drop) disk.remove(at(name));

  const erase: string[] = [];
  for (const store of STORES) {
    const key = keyring && store.of(keyring.active);
    const staged = `${store.name}.${keyring?.active.epoch}`;
    const retired = `${store.name}.retired`;
    if (names.has(retired)) eraseFile(disk, at(retired));
    if (key && names.has(staged) && belongs(readIfThere(at(staged)) ?? new Uint8Array(), key)) {
      disk.syncDirectory(dir); // the rotation must be durable before the old key goes
      if (names.has(store.name)) {
        disk.link(at(store.name), at(retired));
        erase.push(retired);
      }
      disk.rename(at(staged), at(store.name));
    } else if (!key && keyring && names.has(store.name) && isRetired(at(store.name), store, keyring)) {
      disk.syncDirectory(dir);
      disk.rename(at(store.name), at(retired));
      erase.push(retired);
    }
    for (const name of names) {
      const isStaged = name.startsWith(`${store.name}.`) && /^\d+$/.test(name.slice(store.name.length + 1));
      if (isStaged && name !== staged) erase.push(name);
    }
  }
  disk.syncDirectory(dir);
  for (const name of erase) eraseFile(disk, at(name));
}

/** Whether `tidy` has anything to do. */
export function isUntidy(dir: string, { active, epochs }: Keyring): boolean {
  return (
    readdirSync(dir).some(
      (name) => /^key(?:\.ml)?\.(?:\d+|retired)$/.test(name) || name === 'keyring.json.new',
    ) ||
    STORES.some((store) => store.of(active) === null && isRetired(join(dir, store.name), store, { epochs }))
  );
}

function isRetired(path: string, store: Store, { epochs }: Pick<Keyring, 'epochs'>): boolean {
  const seed = readIfThere(path);
  if (seed?.length !== 32) return false;
  const { bytes } = derivePublicKey(store.algorithm, seed);
  return epochs.some((epoch) => {
    const key = epoch.status === 'retired' && !epoch.verifyOnly ? store.of(epoch) : null;
    return key !== null && equalBytes(key.bytes, bytes);
  });
}
