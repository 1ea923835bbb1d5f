import { BullaError } from '../error.ts';
import { type AlgorithmName, algorithm, algorithms } from './algorithms.ts';
import { concat, equalBytes, fromHex, toHex } from './bytes.ts';
import { type RawKey, readDer, writePkcs8, writeSpki } from './der.ts';
import { parseJwk, writeJwk } from './jwk.ts';
import { readPem, writePem } from './pem.ts';
import { derivePublicKey, type LocalSigner, localSigner, type PublicKey, publicKey } from './signer.ts';

/** `pem` is PKCS#8 or SPKI; `lock-pem` is what the released lock program writes, raw bytes under its own labels. */
export type KeyFormat = 'hex' | 'pem' | 'jwk' | 'lock-pem';

/** A private key as a file holds it. The seed is left out when the object is printed or serialised. */
export interface PrivateKey {
  readonly algorithm: AlgorithmName;
  readonly seed: Uint8Array;
  readonly publicKey: PublicKey;
}

/** What {@link detectKey} says. 64 hex digits may be a seed or an Ed25519 public key: `either`. */
interface DetectedKey {
  readonly format: KeyFormat;
  readonly kind: 'private' | 'public' | 'either';
  /** Null where the text does not say, as with a seed in hex. */
  readonly algorithm: AlgorithmName | null;
}

const lockPrivate = 'ED25519 PRIVATE KEY';
const lockPublic = 'ED25519 PUBLIC KEY';
const lockAlgorithm = 'Ed25519';

/** How each PEM label is read. */
const labels: Readonly<Record<string, { format: KeyFormat; read(bytes: Uint8Array): RawKey }>> = {
  'PRIVATE KEY': { format: 'pem', read: (der) => readDer('PKCS8', der) },
  'PUBLIC KEY': { format: 'pem', read: (der) => readDer('SPKI', der) },
  [lockPrivate]: {
    format: 'lock-pem',
    read(bytes) {
      if (bytes.length !== 64)
        throw new BullaError('KEY_MALFORMED', `An ${lockPrivate} block holds 64 bytes.`);
      return { algorithm: lockAlgorithm, seed: bytes.subarray(0, 32), publicKey: bytes.subarray(32) };
    },
  },
  [lockPublic]: { format: 'lock-pem', read: (bytes) => ({ algorithm: lockAlgorithm, publicKey: bytes }) },
};

type Parsed = { readonly format: KeyFormat } & ({ readonly raw: RawKey } | { readonly hex: Uint8Array });

function parse(text: string): Parsed {
  if (text.startsWith('-----')) {
    const { label, bytes } = readPem(text);
    const reader = Object.hasOwn(labels, label) ? labels[label] : undefined;
    if (reader === undefined)
      throw new BullaError('KEY_MALFORMED', `Bulla reads no PEM block labelled ${label}.`);
    return { format: reader.format, raw: reader.read(bytes) };
  }
  if (text.startsWith('{')) return { format: 'jwk', raw: parseJwk(text) };
  const line = text.replace(/\r?\n$/, '');
  if (/^[0-9a-f]+$/.test(line) && line.length % 2 === 0) return { format: 'hex', hex: fromHex(line) };
  throw new BullaError('KEY_MALFORMED', 'The text is neither PEM, JWK nor lower-case hex.');
}

function privateFrom(raw: RawKey & { readonly seed: Uint8Array }): PrivateKey {
  const derived = derivePublicKey(raw.algorithm, raw.seed);
  if (raw.publicKey !== undefined && !equalBytes(raw.publicKey, derived.bytes)) throw mismatch();
  // Both start with rho (FIPS 204, algorithms 22 and 24); the rest of the expanded key is not used.
  if (
    raw.expanded !== undefined &&
    !equalBytes(raw.expanded.subarray(0, 32), derived.bytes.subarray(0, 32))
  ) {
    throw mismatch();
  }
  return pair(derived, raw.seed);
}

function mismatch(): BullaError {
  return new BullaError(
    'KEY_PAIR_MISMATCH',
    'The public part of the private key does not belong to its seed.',
  );
}

function load(raw: RawKey): { private: PrivateKey } | { public: PublicKey } {
  const { seed } = raw;
  if (seed !== undefined) return { private: privateFrom({ ...raw, seed }) };
  if (raw.publicKey !== undefined) return { public: publicKey(raw.algorithm, raw.publicKey) };
  throw new BullaError(
    'KEY_MALFORMED',
    'The file holds only the expanded private key; Bulla needs the seed.',
  );
}

/** Makes a private key from a seed. Throws `KEY_ALGORITHM` or `KEY_SIZE`. */
export function privateKey(name: AlgorithmName, seed: Uint8Array): PrivateKey {
  return pair(derivePublicKey(name, seed), seed);
}

function pair(derived: PublicKey, seed: Uint8Array): PrivateKey {
  const key = { algorithm: derived.algorithm, publicKey: derived };
  Object.defineProperty(key, 'seed', { value: new Uint8Array(seed), enumerable: false });
  return Object.freeze(key) as PrivateKey;
}

/** Makes a signer of a private key in memory. */
export function signerOf(key: PrivateKey): LocalSigner {
  return localSigner(key.algorithm, key.seed);
}

/**
 * Recognises a key file from its text, as strictly as the readers: what is recognised can also be read. Throws
 * `KEY_MALFORMED`, `KEY_SIZE` for hex of a size that no key has, and the codes of the format.
 */
export function detectKey(text: string): DetectedKey {
  const parsed = parse(text);
  const { format } = parsed;
  if ('raw' in parsed) {
    load(parsed.raw);
    return { format, kind: parsed.raw.seed ? 'private' : 'public', algorithm: parsed.raw.algorithm };
  }
  if (parsed.hex.length === 32) return { format, kind: 'either', algorithm: null };
  return { format, kind: 'public', algorithm: publicFromHex(parsed.hex).algorithm };
}

/**
 * Reads a private key from any of the formats. A seed in hex does not say its algorithm, so `expected` is needed
 * there (`KEY_AMBIGUOUS`); elsewhere it is checked when given (`KEY_ALGORITHM`). Throws
 * `KEY_IS_PUBLIC` for a public key, `KEY_PAIR_MISMATCH` when the public part does not belong to the seed,
 * `KEY_MALFORMED` for an expanded ML-DSA key without its seed, and the codes of the format.
 */
export function readPrivateKey(text: string, expected?: AlgorithmName): PrivateKey {
  const parsed = parse(text);
  if ('hex' in parsed) {
    if (expected !== undefined) return privateKey(expected, parsed.hex);
    throw new BullaError('KEY_AMBIGUOUS', 'A seed in hex does not say which algorithm it is for.');
  }
  const key = load(parsed.raw);
  if ('public' in key)
    throw new BullaError('KEY_IS_PUBLIC', 'The file holds a public key; a private one is needed.');
  return expect(key.private, expected);
}

/**
 * Reads a public key from any of the formats; hex is told apart by its size. Throws `KEY_IS_PRIVATE` for a private
 * key (rather than derive from what should not have been passed), `KEY_ALGORITHM`, the codes of
 * {@link publicKey} and those of the format.
 */
export function readPublicKey(text: string, expected?: AlgorithmName): PublicKey {
  const parsed = parse(text);
  if ('hex' in parsed) return expect(publicFromHex(parsed.hex), expected);
  const key = load(parsed.raw);
  if ('private' in key)
    throw new BullaError('KEY_IS_PRIVATE', 'The file holds a private key; a public one is needed.');
  return expect(key.public, expected);
}

function publicFromHex(bytes: Uint8Array): PublicKey {
  for (const entry of algorithms.values()) {
    if (entry.publicKeyBytes === bytes.length) return publicKey(entry.name, bytes);
  }
  throw new BullaError('KEY_SIZE', `No public key has ${bytes.length} bytes.`);
}

function expect<Key extends { readonly algorithm: AlgorithmName }>(key: Key, expected?: AlgorithmName): Key {
  if (expected === undefined || key.algorithm === algorithm(expected).name) return key;
  throw new BullaError('KEY_ALGORITHM', `The key is for ${key.algorithm}, not ${expected}.`);
}

function onlyEd25519(name: AlgorithmName): void {
  if (name === lockAlgorithm) return;
  throw new BullaError('KEY_ALGORITHM', `The lock program's key files hold only ${lockAlgorithm} keys.`);
}

const privateWriters: Readonly<Record<KeyFormat, (key: PrivateKey) => string>> = {
  hex: (key) => `${toHex(key.seed)}\n`,
  pem: (key) => writePem('PRIVATE KEY', writePkcs8(key.algorithm, key.seed)),
  jwk: (key) => writeJwk(key.publicKey, key.seed),
  'lock-pem'(key) {
    onlyEd25519(key.algorithm);
    return writePem(lockPrivate, concat(key.seed, key.publicKey.bytes));
  },
};

const publicWriters: Readonly<Record<KeyFormat, (key: PublicKey) => string>> = {
  hex: (key) => `${toHex(key.bytes)}\n`,
  pem: (key) => writePem('PUBLIC KEY', writeSpki(key.algorithm, key.bytes)),
  jwk: (key) => writeJwk(key),
  'lock-pem'(key) {
    onlyEd25519(key.algorithm);
    return writePem(lockPublic, key.bytes);
  },
};

/**
 * Writes the text of a private key file, ending with a newline. ML-DSA keys are written as their seed. Throws
 * `KEY_ALGORITHM` for `lock-pem` with anything but Ed25519.
 */
export function writePrivateKey(key: PrivateKey, format: KeyFormat): string {
  return privateWriters[format](key);
}

/** Writes the text of a public key file, ending with a newline; throws as {@link writePrivateKey} does. */
export function writePublicKey(key: PublicKey, format: KeyFormat): string {
  return publicWriters[format](key);
}
