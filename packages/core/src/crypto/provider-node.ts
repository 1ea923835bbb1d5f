import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { BullaError } from '../error.ts';
import { type AlgorithmName, algorithm } from './algorithms.ts';
import { wellFormed } from './bytes.ts';
import { writePkcs8, writeSpki } from './der.ts';
import type { CryptoProvider, SignatureScheme } from './provider.ts';
import { loadSodium } from './sodium.ts';

/** How many parsed public keys are kept; a parsed key verifies 2 to 11 times faster. */
const cacheSize = 256;
const publicKeys = new Map<string, KeyObject>();

function cachedPublic(name: AlgorithmName, raw: Uint8Array): KeyObject {
  const id = name + hash('sha256', raw, 'hex');
  const known = publicKeys.get(id);
  const key = known ?? loadPublic(name, raw);
  if (known !== undefined) publicKeys.delete(id);
  else if (publicKeys.size >= cacheSize) publicKeys.delete(publicKeys.keys().next().value!);
  publicKeys.set(id, key); // the last entry is the most recently used
  return key;
}

// Bytes of the right size always parse where the algorithm is built in, so a failure here means that it is not.
function native(name: AlgorithmName, load: () => KeyObject): KeyObject {
  let cause: unknown;
  try {
    const key = load();
    if (key.asymmetricKeyType === algorithm(name).nodeType) return key;
  } catch (error) {
    cause = error;
  }
  throw new BullaError(
    'CRYPTO_ALGORITHM_UNAVAILABLE',
    `This Node.js (${process.version}) has no ${name}; Bulla needs Node.js 24.15 or later.`,
    { cause },
  );
}

function loadPrivate(name: AlgorithmName, seed: Uint8Array): KeyObject {
  const key = Buffer.from(writePkcs8(name, seed));
  return native(name, () => createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
}

function loadPublic(name: AlgorithmName, raw: Uint8Array): KeyObject {
  const key = Buffer.from(writeSpki(name, raw));
  return native(name, () => createPublicKey({ key, format: 'der', type: 'spki' }));
}

function scheme(name: AlgorithmName): SignatureScheme {
  const { publicKeyBytes } = algorithm(name);
  return {
    publicKey(seed) {
      const key = createPublicKey(loadPrivate(name, seed));
      return new Uint8Array(key.export({ format: 'der', type: 'spki' }).subarray(-publicKeyBytes));
    },
    signer(seed) {
      const key = loadPrivate(name, seed);
      return (message) => plain(sign(null, message, key));
    },
    verify: (publicKey, message, signature) =>
      verify(null, message, cachedPublic(name, publicKey), signature),
  };
}

// node:crypto gives each result memory of its own, so a view is enough to be rid of what a Buffer does otherwise.
function plain({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

// Twice as fast as asking node:crypto for a buffer, and the result shares no memory pool.
function digest(name: string, bytes: Uint8Array): Uint8Array {
  const binary = hash(name, bytes, 'binary');
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** The block of SHA-256 in bytes, and up to which length a message is copied rather than streamed. */
const BLOCK = 64;
const SHORT = 4096;

/** RFC 2104 by two plain hashes: for a short message node:crypto takes far longer to make a key object than to hash. */
function shortHmac(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  const inner = new Uint8Array(BLOCK + bytes.length).fill(0x36, 0, BLOCK);
  const outer = new Uint8Array(BLOCK + 32).fill(0x5c, 0, BLOCK);
  for (let i = 0; i < key.length; i++) {
    inner[i]! ^= key[i]!;
    outer[i]! ^= key[i]!;
  }
  inner.set(bytes, BLOCK);
  outer.set(digest('sha256', inner), BLOCK);
  return digest('sha256', outer);
}

function digestHex(name: string, data: Uint8Array | string): string {
  return hash(name, typeof data === 'string' ? wellFormed(data) : data, 'hex');
}

/** Ed25519 on libsodium where it is installed, which is found out when it is first needed, else on OpenSSL. */
function ed25519(): SignatureScheme {
  const openssl = scheme('Ed25519');
  let fast: ReturnType<typeof loadSodium> | undefined;
  let until = SODIUM_AFTER;
  const best = () => {
    if (until > 0) {
      until--;
      return openssl;
    }
    fast ??= loadSodium(openssl.publicKey) ?? openssl;
    return fast;
  };
  return {
    publicKey: openssl.publicKey,
    signer: (seed) => {
      const first = openssl.signer(seed);
      let later: typeof first | undefined;
      return (message) => {
        const chosen = best();
        if (chosen === openssl) return first(message);
        later ??= chosen.signer(seed);
        return later(message);
      };
    },
    verify: (publicKey, message, signature) => best().verify(publicKey, message, signature),
  };
}

/** The number of signatures after which loading libsodium has paid for itself. */
const SODIUM_AFTER = 100;

/** OpenSSL's Ed25519 alone, for holding the other against it. */
export const opensslEd25519: SignatureScheme = scheme('Ed25519');

/** The primitives on node:crypto. ML-DSA signatures are hedged: two of the same message differ. */
export const provider: CryptoProvider = {
  name: 'node',
  sha256: (bytes) => digest('sha256', bytes),
  sha256Hex: (data) => digestHex('sha256', data),
  sha3_256Hex: (data) => digestHex('sha3-256', data),
  hmacSha256: (key, bytes) =>
    key.length <= BLOCK && bytes.length <= SHORT
      ? shortHmac(key, bytes)
      : plain(createHmac('sha256', key).update(bytes).digest()),
  signatures: {
    Ed25519: ed25519(),
    'ML-DSA-44': scheme('ML-DSA-44'),
    'ML-DSA-65': scheme('ML-DSA-65'),
  },
};
