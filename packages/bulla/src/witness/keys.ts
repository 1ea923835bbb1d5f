import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  type AlgorithmName,
  fromUtf8,
  type PrivateKey,
  privateKey,
  readPrivateKey,
  type Signer,
  signerOf,
  writePrivateKey,
} from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { createDirectory, realDisk, writeKeyFile } from '../keys/index.ts';

/** A key with which a witness cosigns, under its name. */
export interface Cosigner {
  readonly name: string;
  readonly signer: Signer;
  /** 0x04 for Ed25519, 0x06 for ML-DSA-44. */
  readonly type: number;
}

export interface KeyOptions {
  /** The name of the witness, a URL without a scheme. */
  readonly name: string;
  /** The file of the Ed25519 key. */
  readonly file: string;
  /** The file of the ML-DSA-44 key; without it there is none. */
  readonly mlDsaFile?: string;
}

/**
 * Reads the keys of a witness, and makes those that are not there. Throws `WITNESS_NAME` for a name that no witness
 * can have, `WITNESS_KEY_EXPOSED` for a file that others can reach, `WITNESS_KEY` for one that does not hold such a
 * key, and `FILE_UNWRITABLE` or `HOME_UNWRITABLE`.
 */
export function openKeys({ name, file, mlDsaFile }: KeyOptions): Cosigner[] {
  checkName(name);
  return [
    { name, signer: openKey(file, 'Ed25519'), type: 0x04 },
    ...(mlDsaFile === undefined ? [] : [{ name, signer: openKey(mlDsaFile, 'ML-DSA-44'), type: 0x06 }]),
  ];
}

/** A name that every type of cosignature can hold. Throws `WITNESS_NAME`. */
export function checkName(name: string): void {
  const good = /^[^\p{White_Space}\p{Cc}+]+$/u.test(name) && name.isWellFormed() && !name.includes('://');
  if (good && Buffer.byteLength(name) <= 255) return;
  throw new BullaError(
    'WITNESS_NAME',
    'A witness is named by a URL without a scheme, such as witness.example/w1, of at most 255 bytes without spaces or plus signs.',
  );
}

function openKey(file: string, algorithm: AlgorithmName): Signer {
  if (!existsSync(file)) createKey(file, privateKey(algorithm, new Uint8Array(randomBytes(32))));
  refuseExposed(file);
  let key: PrivateKey;
  try {
    key = readPrivateKey(fromUtf8(readFileSync(file)), algorithm);
  } catch (cause) {
    throw new BullaError('WITNESS_KEY', `${file} does not hold a private key of ${algorithm}.`, { cause });
  }
  return signerOf(key);
}

/** Makes the file appear with all it holds, or not at all; if another process was faster, its key stays. */
function createKey(file: string, key: PrivateKey): void {
  createDirectory(dirname(file));
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    writeKeyFile(draft, writePrivateKey(key, 'pem'), 'private');
    realDisk.link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    realDisk.remove(draft);
  }
  realDisk.syncDirectory(dirname(file));
}

function refuseExposed(file: string): void {
  if (process.platform === 'win32') return; // there are no such modes
  const mode = statSync(file).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  throw new BullaError(
    'WITNESS_KEY_EXPOSED',
    `Others can reach ${file} (mode ${mode.toString(8)}); begin with another key, or allow its owner alone (chmod 600).`,
  );
}
