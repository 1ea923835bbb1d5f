import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { keyId, privateKey, writePrivateKey, writePublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { writeKeyFile } from '../keys/index.ts';

/**
 * Makes a pair of Ed25519 keys in the format of the released lock program, and gives its key id. The private key is
 * for its owner alone. Throws `FILE_EXISTS`: nothing is ever overwritten.
 */
export function makeLockKeys(privateFile: string, publicFile: string): string {
  const there = [privateFile, publicFile].find((file) => existsSync(file));
  if (there !== undefined)
    throw new BullaError('FILE_EXISTS', `${there} exists already; it is never overwritten.`);
  if (privateFile === publicFile) throw new BullaError('FILE_EXISTS', 'The two keys need a file each.');
  const key = privateKey('Ed25519', new Uint8Array(randomBytes(32)));
  writeKeyFile(privateFile, writePrivateKey(key, 'lock-pem'), 'private');
  try {
    writeKeyFile(publicFile, writePublicKey(key.publicKey, 'lock-pem'), 'public');
  } catch (error) {
    rmSync(privateFile, { force: true });
    throw error;
  }
  return keyId(key.publicKey);
}
