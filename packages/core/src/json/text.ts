import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import type { ParseOptions, Span } from './parse.ts';

export const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Turns the input into a string, checking size, encoding and byte order mark; a permitted mark is dropped. */
export function decodeText(input: string | Uint8Array, options: ParseOptions): string {
  const max = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const isText = typeof input === 'string';
  if (input.length > max || (isText && input.length * 3 > max && utf8Length(input, input.length) > max)) {
    throw new BullaError('JSON_TOO_LARGE', `The text is longer than ${max} bytes.`, { offset: max });
  }
  const text = isText ? input : decodeUtf8(input);
  if (isText && !text.isWellFormed() && !options.allow?.includes('lone-surrogates')) {
    throw new BullaError('JSON_LONE_SURROGATE', 'The text holds half of a surrogate pair.', {
      offset: utf8Length(text, text.search(LONE_SURROGATE)),
    });
  }
  if (text.charCodeAt(0) === 0xfeff && !options.allow?.includes('bom')) {
    throw new BullaError('JSON_BOM', 'The text begins with a byte order mark.', { offset: 0 });
  }
  return text;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new BullaError('JSON_INVALID_UTF8', 'The text is not valid UTF-8.', {
      offset: invalidUtf8At(bytes),
    });
  }
}

/** The offset of the first byte that does not begin a well-formed sequence (Unicode, table 3-7). */
function invalidUtf8At(bytes: Uint8Array): number {
  let i = 0;
  while (i < bytes.length) {
    const lead = bytes[i]!;
    const length =
      lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length === 0) return i;
    for (let k = 1; k < length; k++) {
      const low = k === 1 && lead === 0xe0 ? 0xa0 : k === 1 && lead === 0xf0 ? 0x90 : 0x80;
      const high = k === 1 && lead === 0xed ? 0x9f : k === 1 && lead === 0xf4 ? 0x8f : 0xbf;
      const byte = bytes[i + k];
      if (byte === undefined || byte < low || byte > high) return i;
    }
    i += length;
  }
  return i;
}

/** The UTF-8 length of the first `end` code units; half of a surrogate pair counts three bytes. */
function utf8Length(text: string, end: number): number {
  let bytes = 0;
  for (let i = 0; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c < 0x80) bytes += 1;
    else if (c < 0x800) bytes += 2;
    else if ((c & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

/** Turns the code-unit positions of a span and all spans below it into byte offsets. */
export function toByteOffsets(text: string, root: Span): void {
  if (/^[\u0000-\u007f]*$/.test(text)) return;
  const offsets = new Uint32Array(text.length + 1);
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    offsets[i] = bytes;
    const c = text.charCodeAt(i);
    // Each half of a surrogate pair takes two of its four bytes; no span begins or ends between them.
    bytes += c < 0x80 ? 1 : c < 0x800 || (c & 0xf800) === 0xd800 ? 2 : 3;
  }
  offsets[text.length] = bytes;
  const open = [root];
  for (let span = open.pop(); span !== undefined; span = open.pop()) {
    span.start = offsets[span.start]!;
    span.end = offsets[span.end]!;
    for (const key of span.keys ?? []) open.push(key);
    for (const child of span.children ?? []) open.push(child);
  }
}

/** Throws the parser's error for the code unit at `at`. */
export function fail(text: string, at: number, code: Code, message: string): never {
  throw new BullaError(code, message, { offset: utf8Length(text, Math.min(at, text.length)) });
}

/**
 * A copy that stands alone. Engines share the characters of a long substring with its parent, so a cache would
 * pin whole documents, and comparing such strings is slow; joining two parts makes a new string.
 */
export function detach(substring: string): string {
  return substring.length < 13 ? substring : [substring.charAt(0), substring.slice(1)].join('');
}
