import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type AlgorithmName,
  formatVkey,
  fromUtf8,
  noteVerifier,
  type PrivateKey,
  parseVkey,
  privateKey,
  publicKey,
  readPrivateKey,
  type Signer,
  signerOf,
  toUtf8,
  writePrivateKey,
} from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  accessFile,
  createDirectory,
  type Disk,
  fileError,
  findInput,
  findLoose,
  realDisk,
  writeNewFile,
} from '../os/index.ts';
import { lost } from './mark.ts';

/** A key with which a witness cosigns, under its name. */
export interface Cosigner {
  readonly name: string;
  readonly signer: Signer;
  /** 0x04 for Ed25519, 0x06 for ML-DSA-44. */
  readonly type: number;
}

interface KeyOptions {
  /** The name of the witness, a URL without a scheme. */
  readonly name: string;
  /** The file of the Ed25519 key. */
  readonly file: string;
  /** The file of the ML-DSA-44 key; without it there is none. */
  readonly mlDsaFile?: string;
  readonly disk?: Disk;
}

/** The files of the keys that are asked for, each with what it must hold. */
function filesOf({
  file,
  mlDsaFile,
}: KeyOptions): { file: string; algorithm: AlgorithmName; type: number }[] {
  return [
    { file, algorithm: 'Ed25519', type: 0x04 },
    ...(mlDsaFile === undefined ? [] : [{ file: mlDsaFile, algorithm: 'ML-DSA-44' as const, type: 0x06 }]),
  ];
}

/**
 * Reads the keys of a witness. Throws `WITNESS_OPTION` for a name that no witness can have, `KEY_EXPOSED` for a
 * file that others can reach, and `WITNESS_KEY` for one that does not hold such a key.
 */
export function openKeys(options: KeyOptions): Cosigner[] {
  const { name } = options;
  checkName(name);
  return filesOf(options).map(({ file, algorithm, type }) => ({
    name,
    signer: openKey(file, algorithm),
    type,
  }));
}

/**
 * Compares the keys with those that a state names, and makes the missing ones; gives the verifier keys that the state
 * is to name from now on. A key is made as a draft, which gets its name by {@link finishKeys} when the state that
 * names it is durable: so no key is ever there without its state, however the first start ends. Throws
 * `WITNESS_STATE_LOST` for a key of a new state, `WITNESS_STATE_OTHER` for a key that the state does not name or
 * whose file is gone, `FILE_UNWRITABLE`, `HOME_UNWRITABLE`, and as {@link openKeys} does.
 */
export function bindKeys(state: string, options: KeyOptions, known: readonly string[]): string[] {
  const added: string[] = [];
  for (const { file, algorithm, type } of filesOf(options)) {
    const named = known.find((vkey) => parseVkey(vkey).type === type);
    if (named !== undefined) finishKey(file, options);
    const found = existsSync(file) ? vkeyOf(options.name, openKey(file, algorithm), type) : undefined;
    if (named === undefined && found === undefined) {
      added.push(vkeyOf(options.name, draftKey(file, algorithm, options), type));
    } else if (named === undefined && known.length === 0) {
      throw lost(`There is the key ${file}, but ${state}, which says what it cosigned, is empty.`);
    } else if (named !== found) {
      throw new BullaError(
        'WITNESS_STATE_OTHER',
        found === undefined
          ? `${state} is the state of the key ${named}, but ${file} is missing: put that key back, or begin as another witness, with another name and a --state in an empty folder.`
          : `${state} is not the state of the key in ${file}${named === undefined ? '' : ` but of ${named}`}: put the right one of both back, or begin as another witness, with another name and a --state in an empty folder.`,
      );
    }
  }
  return added;
}

/** Gives the drafts of {@link bindKeys} their names. */
export function finishKeys(options: KeyOptions): void {
  for (const { file } of filesOf(options)) finishKey(file, options);
}

function finishKey(file: string, { disk = realDisk }: KeyOptions): void {
  if (existsSync(file)) return;
  try {
    disk.rename(draftOf(file), file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // another process was faster, or the key is gone
    throw fileError('FILE_UNWRITABLE', file, 'written', error);
  }
  disk.syncDirectory(dirname(file));
}

const draftOf = (file: string): string => `${file}.new`;

/** The draft that an earlier start left, or a new one. It has signed nothing, because no state named it. */
function draftKey(file: string, algorithm: AlgorithmName, { disk = realDisk }: KeyOptions): Signer {
  const draft = draftOf(file);
  try {
    if (existsSync(draft)) return openKey(draft, algorithm);
  } catch {} // that start was cut short while it wrote
  createDirectory(dirname(file));
  accessFile('FILE_UNWRITABLE', draft, 'written', () => {
    disk.remove(draft);
    const key = privateKey(algorithm, new Uint8Array(randomBytes(32)));
    writeNewFile(disk, draft, toUtf8(writePrivateKey(key, 'pem')));
    disk.syncDirectory(dirname(file));
  });
  return openKey(draft, algorithm);
}

function vkeyOf(name: string, { algorithm, publicKey: bytes }: Signer, type: number): string {
  return formatVkey(noteVerifier(name, publicKey(algorithm, bytes), type));
}

/** A name that every type of cosignature can hold. Throws `WITNESS_OPTION`. */
export function checkName(name: string): void {
  const good = /^[^\p{White_Space}\p{Cc}+]+$/u.test(name) && name.isWellFormed() && !name.includes('://');
  if (good && Buffer.byteLength(name) <= 255) return;
  throw new BullaError(
    'WITNESS_OPTION',
    'A witness is named by a URL without a scheme, such as witness.example/w1, of at most 255 bytes without spaces or plus signs.',
  );
}

function openKey(file: string, algorithm: AlgorithmName): Signer {
  let key: PrivateKey;
  try {
    refuseExposed(file);
    key = readPrivateKey(fromUtf8(findInput(file, 'key') ?? new Uint8Array()), algorithm);
  } catch (cause) {
    if (cause instanceof BullaError && cause.code === 'KEY_EXPOSED') throw cause;
    throw new BullaError('WITNESS_KEY', `${file} does not hold a private key of ${algorithm}.`, { cause });
  }
  return signerOf(key);
}

function refuseExposed(file: string): void {
  const [loose] = findLoose([file]);
  if (loose === undefined) return;
  throw new BullaError(
    'KEY_EXPOSED',
    `Others can reach ${file} (mode ${loose.mode.toString(8)}); begin with another key, or allow its owner alone (chmod 600).`,
  );
}
