import { BullaError } from '../error.ts';
import { type Algorithm, type AlgorithmName, algorithm, algorithms } from './algorithms.ts';
import { concat, equalBytes, fromHex } from './bytes.ts';

// Every key file that is read has one of a few layouts, all of them constant but for the raw key bytes. So there
// is no DER parser to get wrong: a file is compared with each layout, byte for byte, and refused if none fits.

/** What a layout leaves open. */
type Field = 'seed' | 'publicKey' | 'expanded';
type Segment = Uint8Array | { readonly field: Field; readonly size: number };

interface Layout {
  readonly algorithm: AlgorithmName;
  readonly kind: 'PKCS8' | 'SPKI';
  readonly segments: readonly Segment[];
}

/** The raw parts that a key file gave up, before they are checked against each other. */
export interface RawKey {
  readonly algorithm: AlgorithmName;
  readonly seed?: Uint8Array;
  readonly publicKey?: Uint8Array;
  readonly expanded?: Uint8Array;
}

function sizeOf(segment: Segment): number {
  return segment instanceof Uint8Array ? segment.length : segment.size;
}

/** Puts a DER tag and length (X.690 §8.1, shortest form) before what it holds. */
function wrap(tag: number, ...inner: readonly Segment[]): readonly Segment[] {
  const size = inner.reduce((sum, segment) => sum + sizeOf(segment), 0);
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return [Uint8Array.of(tag, ...length), ...inner];
}

const SEQUENCE = 0x30;
const OCTETS = 0x04;
const BITS = 0x03;
const version = (n: number) => Uint8Array.of(0x02, 0x01, n);
const noUnusedBits = Uint8Array.of(0x00);

function spki(entry: Algorithm): Layout {
  const publicKey = { field: 'publicKey', size: entry.publicKeyBytes } as const;
  const id = wrap(SEQUENCE, fromHex(entry.oid));
  return {
    algorithm: entry.name,
    kind: 'SPKI',
    segments: wrap(SEQUENCE, ...id, ...wrap(BITS, noUnusedBits, publicKey)),
  };
}

/** The private layouts of an algorithm, the one that is written first. */
function pkcs8(entry: Algorithm): readonly Layout[] {
  const seed = { field: 'seed', size: entry.seedBytes } as const;
  const publicKey = { field: 'publicKey', size: entry.publicKeyBytes } as const;
  const id = wrap(SEQUENCE, fromHex(entry.oid));
  const layout = (...inner: readonly Segment[]): Layout => ({
    algorithm: entry.name,
    kind: 'PKCS8',
    segments: wrap(SEQUENCE, ...inner),
  });
  if (entry.expandedKeyBytes === null) {
    const key = wrap(OCTETS, ...wrap(OCTETS, seed));
    return [
      layout(version(0), ...id, ...key), // RFC 8410 §7
      layout(version(1), ...id, ...key, ...wrap(0x81, noUnusedBits, publicKey)), // RFC 5958 §2, with [1] publicKey
    ];
  }
  const expanded = { field: 'expanded', size: entry.expandedKeyBytes } as const;
  const both = wrap(SEQUENCE, ...wrap(OCTETS, seed), ...wrap(OCTETS, expanded));
  return [
    layout(version(0), ...id, ...wrap(OCTETS, ...wrap(0x80, seed))), // RFC 9881 §6, [0] seed
    layout(version(0), ...id, ...wrap(OCTETS, ...both)), // as Node 24 exports it
    layout(version(0), ...id, ...wrap(OCTETS, ...wrap(OCTETS, expanded))), // known in order to be refused by name
  ];
}

const layouts: readonly Layout[] = [...algorithms.values()].flatMap((entry) => [
  spki(entry),
  ...pkcs8(entry),
]);

function match(layout: Layout, der: Uint8Array): RawKey | null {
  if (der.length !== layout.segments.reduce((sum, segment) => sum + sizeOf(segment), 0)) return null;
  const fields: Partial<Record<Field, Uint8Array>> = {};
  let at = 0;
  for (const segment of layout.segments) {
    const part = der.subarray(at, at + sizeOf(segment));
    at += part.length;
    if (!(segment instanceof Uint8Array)) fields[segment.field] = part;
    else if (!equalBytes(segment, part)) return null;
  }
  return { algorithm: layout.algorithm, ...fields };
}

/**
 * Takes the raw bytes out of a PKCS#8 or SPKI encoding. Throws `KEY_MALFORMED` unless the bytes are exactly
 * one of the known layouts: no attributes, no trailing data, no longer length form.
 */
export function readDer(kind: Layout['kind'], der: Uint8Array): RawKey {
  for (const layout of layouts) {
    const found = layout.kind === kind ? match(layout, der) : null;
    if (found !== null) return found;
  }
  throw new BullaError('KEY_MALFORMED', `The ${kind} encoding is none of the layouts that Bulla reads.`);
}

function fill(layout: Layout, field: Uint8Array): Uint8Array {
  return concat(...layout.segments.map((segment) => (segment instanceof Uint8Array ? segment : field)));
}

/** Encodes a seed as PKCS#8: version 0 for Ed25519, the 54-byte seed form for ML-DSA. */
export function writePkcs8(name: AlgorithmName, seed: Uint8Array): Uint8Array {
  return fill(pkcs8(algorithm(name))[0]!, seed);
}

/** Encodes a public key as SubjectPublicKeyInfo. */
export function writeSpki(name: AlgorithmName, publicKey: Uint8Array): Uint8Array {
  return fill(spki(algorithm(name)), publicKey);
}
