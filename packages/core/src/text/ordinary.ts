// Which invisible characters belong to ordinary writing. The rule is narrow: where it does not hold, they are told.

/** Scripts whose letters join, so that a joiner or non-joiner between them changes what is seen. */
const JOINING =
  'Adlam Arabic Bengali Devanagari Gujarati Gurmukhi Hanifi_Rohingya Kannada Khmer Malayalam Mandaic Mongolian Myanmar Nko Oriya Sinhala Syriac Tamil Telugu'.split(
    ' ',
  );
/** The signs that kill a vowel in the Indic scripts above (canonical combining class 9). */
const VIRAMA =
  '\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d3b\\u0d3c\\u0d4d\\u0dca\\u1039\\u103a\\u17d2';
const SELECTOR = '[\\u180b-\\u180d\\u180f\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]';
const EAST_ASIAN =
  '[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Hangul}\\u3000-\\u303f\\uff00-\\uffef]';
const EMOJI = '[\\p{Emoji}--\\p{ASCII}]';
const ELEMENT = `${EMOJI}(?:\\ufe0f|\\p{Emoji_Modifier})?`;

const letters = (script: string) => `[\\p{scx=${script}}&&[\\p{L}\\p{M}]]`;
/** Holds when the character before the one just matched is one of these; looked at last, because it is dear. */
const after = (characters: string) => `(?<=(?:${characters})[^])`;
const tags = (text: string) =>
  [...text].map((c) => `\\u{${(0xe0000 + c.charCodeAt(0)).toString(16)}}`).join('');

const RULES: readonly string[] = [
  // Emoji joined by zero width joiners: no sequence recommended for interchange has more than three of them.
  `(?<!\\u200d)${ELEMENT}(?:\\u200d${ELEMENT}){1,3}(?!\\u200d|${SELECTOR})`,
  // One presentation selector after an emoji, and keycaps.
  `${EMOJI}[\\ufe0e\\ufe0f](?!${SELECTOR})`,
  '[0-9#*]\\ufe0f\\u20e3',
  // The three flags that are written with tag characters: England, Scotland, Wales.
  `\\u{1f3f4}(?:${['gbeng', 'gbsct', 'gbwls'].map(tags).join('|')})\\u{e007f}`,
  // One selector after a character that has standardised or registered variants.
  `\\p{Unified_Ideograph}[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}](?!${SELECTOR})`,
  `[\\p{Sm}\\p{sc=Myanmar}\\p{sc=Phags_Pa}]\\ufe00(?!${SELECTOR})`,
  `[\\u180b-\\u180d\\u180f]${after(letters('Mongolian'))}(?!${SELECTOR})`,
  `\\u180e${after(letters('Mongolian'))}(?=${letters('Mongolian')})`,
  // One joiner after a letter or mark of a joining script. A non-joiner needs a letter of the same script on its
  // other side, where it stops the two from joining, or a virama before it.
  `\\u200d${after(JOINING.map(letters).join('|'))}(?![\\u200c\\u200d])`,
  `\\u200c${after(`[${VIRAMA}]`)}(?![\\u200c\\u200d])`,
  ...JOINING.map((script) => `\\u200c${after(letters(script))}(?=${letters(script)})`),
  // The wide space of East Asian text.
  `\\u3000(?:${after(EAST_ASIAN)}|(?=${EAST_ASIAN}))`,
];
/** Made when it is first needed: it takes longer to make than most commands take to run. */
let ordinary: RegExp | undefined;
/** Whether there is anything to look for: the expression above is slow. */
const CANDIDATE = new RegExp(`[\\u180b-\\u180f\\u200c\\u200d\\u3000\\u{e0020}-\\u{e007f}]|${SELECTOR}`, 'v');

/**
 * The UTF-16 offsets at which an invisible character or wide space is ordinary writing: emoji sequences, joiners in
 * Arabic and Indic scripts, one variation selector where variants exist, wide spaces in East Asian text. What it
 * lets pass can still carry a few bits a character (which registered variant of an ideograph, for example).
 */
export function ordinaryOffsets(text: string): ReadonlySet<number> {
  const offsets = new Set<number>();
  if (!CANDIDATE.test(text)) return offsets;
  ordinary ??= new RegExp(RULES.join('|'), 'gv');
  for (const { 0: match, index } of text.matchAll(ordinary)) {
    for (let at = index; at < index + match.length; at++) offsets.add(at);
  }
  return offsets;
}
