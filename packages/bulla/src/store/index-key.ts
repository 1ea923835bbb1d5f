import { sha256Hex } from '@bulla/core/crypto';

// Search tables hold text that others chose. A database takes no NUL, none of half a character, and only short keys in
// its indexes; so each key is written in a form that every database takes. Different texts have different forms, and a
// query writes its keys the same way: it finds exactly what was asked for.

/** The longest key that is stored whole, in bytes; a longer one is stored as its beginning and its hash. */
const MAX_KEY_BYTES = 1024;
const BEGINNING = 128;

export function indexKey(text: string): string {
  const escaped = text.replace(/[\\\0]|\p{Surrogate}/gu, escapeOf);
  if (Buffer.byteLength(escaped) <= MAX_KEY_BYTES) return escaped;
  // No escape reads "\#", so that no key that is kept whole looks like this.
  return `${escaped.slice(0, BEGINNING).toWellFormed()}\\#${sha256Hex(escaped)}`;
}

function escapeOf(character: string): string {
  if (character === '\\') return '\\\\';
  return character === '\0' ? '\\0' : `\\u${character.charCodeAt(0).toString(16)}`;
}

/** Limit on the text that is searched for words; PostgreSQL takes less than a megabyte with all that it derives from it. */
const MAX_TEXT_BYTES = 65_536;

/** A text whose words are searched: its beginning, with a space for what no database takes. */
export function indexText(text: string): string {
  const bytes = Buffer.from(text.slice(0, MAX_TEXT_BYTES).replaceAll('\0', ' ').toWellFormed());
  if (bytes.length <= MAX_TEXT_BYTES) return bytes.toString();
  let end = MAX_TEXT_BYTES;
  // Not in the midst of a character.
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}
