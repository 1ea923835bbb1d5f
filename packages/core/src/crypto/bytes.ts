import { BullaError } from '../error.ts';
import { joined } from '../json/index.ts';

const hexPairs: readonly string[] = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));

const encoder = new TextEncoder();
// ignoreBOM keeps a leading U+FEFF in the text: dropping it would let two byte strings decode alike.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

// Uint8Array.fromHex and fromBase64 are missing in Node 24 and more lenient than this module, so neither is used.

/** Writes bytes as lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  let out = '';
  for (const byte of bytes) out += hexPairs[byte];
  return out;
}

/**
 * Reads lower-case hex. Throws `CRYPTO_ENCODING` for an odd length, an upper-case digit, white space or
 * anything else that {@link toHex} would not write.
 */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || /[^0-9a-f]/.test(text)) {
    throw new BullaError('CRYPTO_ENCODING', 'The text is not lower-case hex of whole bytes.');
  }
  const out = new Uint8Array(text.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = (nibble(text, 2 * i) << 4) | nibble(text, 2 * i + 1);
  return out;
}

/**
 * Reads hex whose digits may be upper case, lower case or mixed, as the lock program writes and accepts it.
 * Throws `CRYPTO_ENCODING` for everything else.
 */
export function fromHexAnyCase(text: string): Uint8Array {
  // Checked before lower-casing, which would turn some non-ASCII letters into ASCII ones.
  if (/[^0-9A-Fa-f]/.test(text)) {
    throw new BullaError('CRYPTO_ENCODING', 'The text is not hex of whole bytes.');
  }
  return fromHex(text.toLowerCase());
}

function nibble(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 0x3a ? code - 0x30 : code - 0x57;
}

/** Writes bytes as base64 with padding (RFC 4648 §4). */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/**
 * Reads canonical base64 with padding (RFC 4648 §4). Throws `CRYPTO_ENCODING` for white space, missing
 * or extra padding, another alphabet, and bits set beyond the last byte (§3.5).
 */
export function fromBase64(text: string): Uint8Array {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = text.length % 4 === 0 ? decode(text, text.length - padding, STANDARD) : null;
  if (bytes === null || (3 - (bytes.length % 3)) % 3 !== padding) {
    throw new BullaError('CRYPTO_ENCODING', 'The text is not canonical base64.');
  }
  return bytes;
}

/** Writes bytes as base64url without padding (RFC 4648 §5, RFC 7515 §2). */
export function toBase64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Reads canonical base64url without padding; throws `CRYPTO_ENCODING` for everything else. */
export function fromBase64url(text: string): Uint8Array {
  const bytes = decode(text, text.length, URL_SAFE);
  if (bytes === null) {
    throw new BullaError('CRYPTO_ENCODING', 'The text is not canonical base64url without padding.');
  }
  return bytes;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const [STANDARD, URL_SAFE] = ['+/', '-_'].map((last) => {
  const values = new Int8Array(128).fill(-1);
  for (const [value, letter] of [...LETTERS, ...last].entries()) values[letter.charCodeAt(0)] = value;
  return values;
}) as [Int8Array, Int8Array];

/** By hand, because the platform's decoder forgives, and encoding again to find that out takes longer. */
function decode(text: string, length: number, values: Int8Array): Uint8Array | null {
  const out = new Uint8Array((length * 3) >> 2);
  let [held, bits, at] = [0, 0, 0];
  for (let i = 0; i < length; i++) {
    const value = values[text.charCodeAt(i)] ?? -1;
    if (value < 0) return null;
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out[at++] = held >> bits;
    }
  }
  // A single letter is no byte, and the bits beyond the last byte are zero (RFC 4648 §3.5).
  return bits < 6 && (held & ((1 << bits) - 1)) === 0 ? out : null;
}

/** Writes text as UTF-8. Throws `CRYPTO_ENCODING` for a lone surrogate, which has no UTF-8 form. */
export function toUtf8(text: string): Uint8Array {
  return encoder.encode(wellFormed(text));
}

/** Returns the text itself, or throws `CRYPTO_ENCODING` if it holds a lone surrogate. */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  // Encoders put U+FFFD in its place, and then two different texts would have one hash.
  throw new BullaError('CRYPTO_ENCODING', 'The text holds a lone surrogate and has no UTF-8 form.');
}

/** Reads UTF-8, keeping a leading U+FEFF. Throws `CRYPTO_ENCODING` for any invalid sequence. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new BullaError('CRYPTO_ENCODING', 'The bytes are not valid UTF-8.', { cause });
  }
}

/** Joins byte strings into a new one. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return joined(parts);
}

/**
 * Compares two byte strings. For equal lengths the number of steps does not depend on where they differ; a
 * JavaScript engine promises no more than that.
 */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!;
  return difference === 0;
}
