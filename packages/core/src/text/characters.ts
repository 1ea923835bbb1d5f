/**
 * How a code point deceives: `space` looks like a space and is another character, `private-use` and `noncharacter`
 * have no agreed look, `surrogate` is half of a pair that stands alone.
 */
export type CharacterClass =
  | 'control'
  | 'invisible'
  | 'bidi-mark'
  | 'bidi-control'
  | 'variation-selector'
  | 'tag'
  | 'space'
  | 'private-use'
  | 'noncharacter'
  | 'surrogate';

export interface Character {
  /** `U+200B`. */
  readonly point: string;
  /** A plain name, or that of the class: `zero width space`, `control character`. */
  readonly name: string;
}

type Row = readonly [from: number, to: number, kind: CharacterClass, name: string];

/**
 * Every code point that a person cannot see for what it is, in order. It holds all of the Unicode property
 * Default_Ignorable_Code_Point, written out so that each engine gives the same answer. Newline and tab are left
 * out; a carriage return counts unless a newline follows.
 */
const TABLE: readonly Row[] = [
  [0x0000, 0x0000, 'control', 'null'],
  [0x0001, 0x0006, 'control', 'control character'],
  [0x0007, 0x0007, 'control', 'bell'],
  [0x0008, 0x0008, 'control', 'backspace'],
  [0x000b, 0x000b, 'control', 'vertical tab'],
  [0x000c, 0x000c, 'control', 'form feed'],
  [0x000d, 0x000d, 'control', 'carriage return'],
  [0x000e, 0x001a, 'control', 'control character'],
  [0x001b, 0x001b, 'control', 'escape'],
  [0x001c, 0x001f, 'control', 'control character'],
  [0x007f, 0x007f, 'control', 'delete'],
  [0x0080, 0x0084, 'control', 'control character'],
  [0x0085, 0x0085, 'control', 'next line'],
  [0x0086, 0x009a, 'control', 'control character'],
  [0x009b, 0x009b, 'control', 'control sequence introducer'],
  [0x009c, 0x009f, 'control', 'control character'],
  [0x00a0, 0x00a0, 'space', 'no-break space'],
  [0x00ad, 0x00ad, 'invisible', 'soft hyphen'],
  [0x034f, 0x034f, 'invisible', 'combining grapheme joiner'],
  [0x061c, 0x061c, 'bidi-mark', 'Arabic letter mark'],
  [0x115f, 0x1160, 'invisible', 'Hangul filler'],
  [0x1680, 0x1680, 'space', 'Ogham space mark'],
  [0x17b4, 0x17b5, 'invisible', 'Khmer inherent vowel'],
  [0x180b, 0x180d, 'variation-selector', 'Mongolian variation selector'],
  [0x180e, 0x180e, 'invisible', 'Mongolian vowel separator'],
  [0x180f, 0x180f, 'variation-selector', 'Mongolian variation selector'],
  [0x2000, 0x200a, 'space', 'typographic space'],
  [0x200b, 0x200b, 'invisible', 'zero width space'],
  [0x200c, 0x200c, 'invisible', 'zero width non-joiner'],
  [0x200d, 0x200d, 'invisible', 'zero width joiner'],
  [0x200e, 0x200e, 'bidi-mark', 'left-to-right mark'],
  [0x200f, 0x200f, 'bidi-mark', 'right-to-left mark'],
  [0x2028, 0x2028, 'space', 'line separator'],
  [0x2029, 0x2029, 'space', 'paragraph separator'],
  [0x202a, 0x202a, 'bidi-control', 'left-to-right embedding'],
  [0x202b, 0x202b, 'bidi-control', 'right-to-left embedding'],
  [0x202c, 0x202c, 'bidi-control', 'pop directional formatting'],
  [0x202d, 0x202d, 'bidi-control', 'left-to-right override'],
  [0x202e, 0x202e, 'bidi-control', 'right-to-left override'],
  [0x202f, 0x202f, 'space', 'narrow no-break space'],
  [0x205f, 0x205f, 'space', 'medium mathematical space'],
  [0x2060, 0x2060, 'invisible', 'word joiner'],
  [0x2061, 0x2064, 'invisible', 'invisible operator'],
  [0x2065, 0x2065, 'invisible', 'unassigned invisible character'],
  [0x2066, 0x2066, 'bidi-control', 'left-to-right isolate'],
  [0x2067, 0x2067, 'bidi-control', 'right-to-left isolate'],
  [0x2068, 0x2068, 'bidi-control', 'first strong isolate'],
  [0x2069, 0x2069, 'bidi-control', 'pop directional isolate'],
  [0x206a, 0x206f, 'invisible', 'deprecated format character'],
  [0x2800, 0x2800, 'invisible', 'blank Braille pattern'],
  [0x3000, 0x3000, 'space', 'ideographic space'],
  [0x3164, 0x3164, 'invisible', 'Hangul filler'],
  [0xd800, 0xdfff, 'surrogate', 'lone surrogate'],
  [0xe000, 0xf8ff, 'private-use', 'private use character'],
  [0xfdd0, 0xfdef, 'noncharacter', 'noncharacter'],
  [0xfe00, 0xfe0f, 'variation-selector', 'variation selector'],
  [0xfeff, 0xfeff, 'invisible', 'zero width no-break space'],
  [0xffa0, 0xffa0, 'invisible', 'Hangul filler'],
  [0xfff0, 0xfff8, 'invisible', 'unassigned invisible character'],
  [0xfff9, 0xfffb, 'invisible', 'interlinear annotation character'],
  [0xfffc, 0xfffc, 'invisible', 'object replacement character'],
  [0xfffe, 0xffff, 'noncharacter', 'noncharacter'],
  [0x13430, 0x1343f, 'invisible', 'Egyptian hieroglyph format control'],
  [0x1bca0, 0x1bca3, 'invisible', 'shorthand format control'],
  [0x1d173, 0x1d17a, 'invisible', 'musical format control'],
  ...Array.from({ length: 13 }, (_, i): Row => {
    const end = (i + 2) * 0x10000 - 1;
    return [end - 1, end, 'noncharacter', 'noncharacter'];
  }),
  [0xe0000, 0xe007f, 'tag', 'tag character'],
  [0xe0080, 0xe00ff, 'invisible', 'unassigned invisible character'],
  [0xe0100, 0xe01ef, 'variation-selector', 'variation selector'],
  [0xe01f0, 0xe0fff, 'invisible', 'unassigned invisible character'],
  [0xefffe, 0xeffff, 'noncharacter', 'noncharacter'],
  [0xf0000, 0xffffd, 'private-use', 'private use character'],
  [0xffffe, 0xfffff, 'noncharacter', 'noncharacter'],
  [0x100000, 0x10fffd, 'private-use', 'private use character'],
  [0x10fffe, 0x10ffff, 'noncharacter', 'noncharacter'],
];

const escaped = (point: number) => `\\u{${point.toString(16)}}`;

/** One code point of the table; a carriage return only where no newline follows. */
export const SUSPECT: RegExp = new RegExp(
  `\\r(?!\\n)|[${TABLE.filter(([from]) => from !== 0x0d)
    .map(([from, to]) => `${escaped(from)}-${escaped(to)}`)
    .join('')}]`,
  'gu',
);

/** The class and name of a code point, or undefined when it is not in the table. */
export function classOf(point: number): { kind: CharacterClass; name: string } | undefined {
  let low = 0;
  let high = TABLE.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [from, to, kind, name] = TABLE[middle]!;
    if (point < from) high = middle - 1;
    else if (point > to) low = middle + 1;
    else return { kind, name };
  }
  return undefined;
}

/** `U+` and at least four hexadecimal digits. */
export function pointName(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Scripts that do not put spaces between words, as members of a character class. */
export const UNSPACED: string = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar', 'Tibetan']
  .map((name) => `\\p{sc=${name}}`)
  .join('');
