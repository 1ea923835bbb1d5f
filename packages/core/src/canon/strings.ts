import { BullaError } from '../error.ts';
import { escapeString, isPlainString } from '../json/index.ts';

/** One way to write the characters of strings and keys between their quotes. */
export interface StringRule {
  /** The rule in a few words, for the profile table. */
  readonly text: string;
  escape(value: string): string;
}

/**
 * RFC 8785 §3.2.2.2: only quote, backslash and control characters are escaped, the latter in their short
 * forms or as `\\u00xx`. Both capsule references do the same. Lone surrogates are refused.
 */
export const minimal: StringRule = {
  text: 'minimal escapes; lone surrogates refused',
  escape(value) {
    if (isPlainString(value)) return value;
    if (!value.isWellFormed()) {
      throw new BullaError('CANON_LONE_SURROGATE', 'The string holds half of a surrogate pair.');
    }
    return escapeString(value);
  },
};

/** ECMAScript's `JSON.stringify`, which escapes lone surrogates. */
export const jsonStringify: StringRule = {
  text: 'JSON.stringify; lone surrogates escaped',
  escape: escapeString,
};

const HTML = /[<>&\u2028\u2029]/g;

/** Go's standard encoder, which also escapes what HTML and old JavaScript would trip over. */
export const goHtml: StringRule = {
  text: 'minimal escapes, and < > & U+2028 U+2029 as \\u escapes; lone surrogates refused',
  escape: (value) =>
    minimal.escape(value).replace(HTML, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
};
