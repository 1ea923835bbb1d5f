import {
  createHash,
  createPrivateKey,
  createPublicKey,
  sign as nodeSign,
  verify as nodeVerify,
} from 'node:crypto';
import {
  type AlgorithmName,
  localSigner,
  privateKey,
  publicKey,
  sha3_256Hex,
  sha256Hex,
  signerOf,
  verify,
  writePrivateKey,
  writePublicKey,
} from '@bulla/core/crypto';
import { compare, type Row } from './measure.ts';

export function crypto(): Row[] {
  return [...hashing(), ...(['Ed25519', 'ML-DSA-44', 'ML-DSA-65'] as const).flatMap(signing)];
}

function hashing(): Row[] {
  const bytes = new Uint8Array(1500).fill(7);
  return [
    ...compare('crypto', 'sha256 of 1.5 KB to hex', () => sha256Hex(bytes), {
      'createHash of node:crypto': () => createHash('sha256').update(bytes).digest('hex'),
    }),
    ...compare('crypto', 'sha3-256 of 1.5 KB to hex', () => sha3_256Hex(bytes), {
      'createHash of node:crypto': () => createHash('sha3-256').update(bytes).digest('hex'),
    }),
  ];
}

/** Our checks and key handling, against the bare call with a key that is parsed already. */
function signing(algorithm: AlgorithmName): Row[] {
  const seed = new Uint8Array(32).fill(9);
  const message = new Uint8Array(64).fill(1);
  const key = privateKey(algorithm, seed);
  const signer = signerOf(key);
  const bareKey = createPrivateKey(writePrivateKey(key, 'pem'));
  const barePublic = createPublicKey(writePublicKey(key.publicKey, 'pem'));
  const trusted = publicKey(algorithm, localSigner(algorithm, seed).publicKey);
  const signature = signer.sign(message);
  return [
    ...compare('crypto', `${algorithm} sign`, () => signer.sign(message), {
      'node:crypto': () => nodeSign(null, message, bareKey),
    }),
    ...compare('crypto', `${algorithm} verify`, () => verify(trusted, message, signature), {
      'node:crypto': () => nodeVerify(null, message, barePublic, signature),
    }),
  ];
}
