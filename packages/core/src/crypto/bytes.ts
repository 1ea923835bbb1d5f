import { BullaError } from '../error.ts';

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
 * Reads lower-case hex. Throws `CRYPTO_HEX_MALFORMED` for an odd length, an upper-case digit, white space or
 * anything else that {@link toHex} would not write.
 */
export function fromHex(text: string): Uint8Array {
  if (text.length % 2 !== 0 || /[^0-9a-f]/.test(text)) {
    throw new BullaError('CRYPTO_HEX_MALFORMED', 'The text is not lower-case hex of whole bytes.');
  }
  const out = new Uint8Array(text.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = (nibble(text, 2 * i) << 4) | nibble(text, 2 * i + 1);
  return out;
}

/**
 * Reads hex whose digits may be upper case, lower case or mixed, as the lock program writes and accepts it.
 * Throws `CRYPTO_HEX_MALFORMED` for everything else.
 */
export function fromHexAnyCase(text: string): Uint8Array {
  // Checked before lower-casing, which would turn some non-ASCII letters into ASCII ones.
  if (/[^0-9A-Fa-f]/.test(text)) {
    throw new BullaError('CRYPTO_HEX_MALFORMED', 'The text is not hex of whole bytes.');
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
 * Reads canonical base64 with padding (RFC 4648 §4). Throws `CRYPTO_BASE64_MALFORMED` for white space, missing
 * or extra padding, another alphabet, and bits set beyond the last byte (§3.5).
 */
export function fromBase64(text: string): Uint8Array {
  const bytes = decodeBase64(text);
  // The platform's decoder forgives; a text is canonical only if encoding its bytes gives it back.
  if (bytes === null || toBase64(bytes) !== text) {
    throw new BullaError('CRYPTO_BASE64_MALFORMED', 'The text is not canonical base64.');
  }
  return bytes;
}

/** Writes bytes as base64url without padding (RFC 4648 §5, RFC 7515 §2). */
export function toBase64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Reads canonical base64url without padding; throws `CRYPTO_BASE64_MALFORMED` for everything else. */
export function fromBase64url(text: string): Uint8Array {
  const bytes = decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
  if (bytes === null || toBase64url(bytes) !== text) {
    throw new BullaError('CRYPTO_BASE64_MALFORMED', 'The text is not canonical base64url without padding.');
  }
  return bytes;
}

function decodeBase64(text: string): Uint8Array | null {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    return null;
  }
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < out.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** Writes text as UTF-8. Throws `CRYPTO_TEXT_NOT_UNICODE` for a lone surrogate, which has no UTF-8 form. */
export function toUtf8(text: string): Uint8Array {
  return encoder.encode(wellFormed(text));
}

/** Returns the text itself, or throws `CRYPTO_TEXT_NOT_UNICODE` if it holds a lone surrogate. */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  // Encoders put U+FFFD in its place, and then two different texts would have one hash.
  throw new BullaError('CRYPTO_TEXT_NOT_UNICODE', 'The text holds a lone surrogate and has no UTF-8 form.');
}

/** Reads UTF-8, keeping a leading U+FEFF. Throws `CRYPTO_UTF8_MALFORMED` for any invalid sequence. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new BullaError('CRYPTO_UTF8_MALFORMED', 'The bytes are not valid UTF-8.', { cause });
  }
}

/** Joins byte strings into a new one. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
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
