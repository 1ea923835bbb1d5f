import { randomBytes } from 'node:crypto';
import { safeText } from '@bulla/core/text';

/**
 * Our own colours are marks that nobody else can write, because nobody knows the key of this process. At the print
 * boundary they become escape sequences; every escape sequence that stands in a text is somebody else's.
 */
let key: string | null = null;
const OPEN = '\u{fdd0}';
const CLOSE = '\u{fdd1}';

function mark(code: number): string {
  key ??= randomBytes(8).toString('hex');
  return `${OPEN}${key};${code}${CLOSE}`;
}
const paint =
  (start: number, end: number) =>
  (text: string): string =>
    `${mark(start)}${text}${mark(end)}`;

/** Paints text for people. What is printed has colours only where the stream may have them. */
export const colors = {
  bold: paint(1, 22),
  dim: paint(2, 22),
  underline: paint(4, 24),
  strikethrough: paint(9, 29),
  red: paint(31, 39),
  green: paint(32, 39),
  yellow: paint(33, 39),
  cyan: paint(36, 39),
} as const satisfies Record<string, (text: string) => string>;

/** What goes to a stream for this text: our colours or nothing in their place, and no control character but newlines. */
export function painted(text: string, isColoured: boolean): string {
  // No text has a mark before there is a key.
  if (key === null) return safeText(text);
  return text
    .split(new RegExp(`${OPEN}${key};([0-9]+)${CLOSE}`, 'u'))
    .map((part, i) => {
      if (i % 2 === 0) return safeText(part);
      return isColoured ? `\u001b[${part}m` : '';
    })
    .join('');
}
