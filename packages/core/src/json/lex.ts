import { fail } from './text.ts';

const QUOTE = 34;
const BACKSLASH = 92;
const SPECIAL = /["\\\u0000-\u001f]/g;

/** The index of the first character from `i` on that is not white space (RFC 8259 §2). */
export function skipSpace(text: string, i: number): number {
  let c = text.charCodeAt(i);
  while (c === 32 || c === 10 || c === 13 || c === 9) c = text.charCodeAt(++i);
  return i;
}

/** The index of the first character from `i` on that is a quote, a backslash, a control character or the end. */
export function plainEnd(text: string, i: number): number {
  const near = i + 48;
  for (; i < near; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE || c === BACKSLASH || !(c >= 32)) return i;
  }
  // In a long string the engine's own search is faster than the loop.
  SPECIAL.lastIndex = i;
  return SPECIAL.exec(text)?.index ?? text.length;
}

const SHORT_ESCAPES = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/**
 * Reads a string that does not consist of plain characters alone. `start` is the first character after the
 * opening quote, `special` the first that is not plain. Returns the string and the index after the closing quote.
 */
export function escapedString(
  text: string,
  start: number,
  special: number,
  loneSurrogates: boolean,
): { string: string; end: number } {
  let string = '';
  let from = start;
  let i = special;
  for (;;) {
    string += text.slice(from, i);
    const c = text.charCodeAt(i);
    if (c === QUOTE) return { string, end: i + 1 };
    if (c !== BACKSLASH) {
      if (i >= text.length) fail(text, i, 'JSON_UNEXPECTED_END', 'The text ends inside a string.');
      fail(text, i, 'JSON_CONTROL_CHARACTER', 'A control character must be escaped inside a string.');
    }
    const short = SHORT_ESCAPES.get(text.charAt(i + 1));
    if (short !== undefined) {
      string += short;
      i += 2;
    } else {
      const unit = unicodeEscape(text, i);
      const pair =
        (unit & 0xfc00) === 0xd800 && text.startsWith('\\u', i + 6) ? unicodeEscape(text, i + 6) : 0;
      if ((pair & 0xfc00) === 0xdc00) {
        string += String.fromCharCode(unit, pair);
        i += 12;
      } else {
        if ((unit & 0xf800) === 0xd800 && !loneSurrogates) {
          fail(text, i, 'JSON_LONE_SURROGATE', 'The escape stands for half of a surrogate pair.');
        }
        string += String.fromCharCode(unit);
        i += 6;
      }
    }
    from = i;
    i = plainEnd(text, i);
  }
}

function unicodeEscape(text: string, i: number): number {
  const token = text.slice(i, i + 6);
  if (/^\\u[0-9a-fA-F]{4}$/.test(token)) return Number.parseInt(token.slice(2), 16);
  if (i + token.length === text.length && /^\\(?:u[0-9a-fA-F]*)?$/.test(token)) {
    fail(text, text.length, 'JSON_UNEXPECTED_END', 'The text ends inside a string.');
  }
  fail(text, i, 'JSON_BAD_ESCAPE', 'This escape is not one that JSON knows.');
}

/** The index after the number that begins at `i`, by the grammar of RFC 8259 §6. */
export function numberEnd(text: string, i: number): number {
  const start = i;
  let c = text.charCodeAt(i);
  if (c === 45) c = text.charCodeAt(++i);
  if (c === 48) {
    c = text.charCodeAt(++i);
    if (c >= 48 && c <= 57) fail(text, start, 'JSON_BAD_NUMBER', 'A number must not have leading zeros.');
  } else if (c >= 49 && c <= 57) {
    do c = text.charCodeAt(++i);
    while (c >= 48 && c <= 57);
  } else {
    fail(text, start, 'JSON_BAD_NUMBER', 'A minus sign must be followed by a digit.');
  }
  if (c === 46) {
    c = text.charCodeAt(++i);
    if (!(c >= 48 && c <= 57))
      fail(text, start, 'JSON_BAD_NUMBER', 'A decimal point must be followed by a digit.');
    do c = text.charCodeAt(++i);
    while (c >= 48 && c <= 57);
  }
  if (c === 101 || c === 69) {
    c = text.charCodeAt(++i);
    if (c === 43 || c === 45) c = text.charCodeAt(++i);
    if (!(c >= 48 && c <= 57)) fail(text, start, 'JSON_BAD_NUMBER', 'An exponent must have a digit.');
    do c = text.charCodeAt(++i);
    while (c >= 48 && c <= 57);
  }
  return i;
}
