/**
 * Characters that look like an ASCII letter, digit or separator: the one that they look like, then their code points.
 *
 * The boundary: what can stand in an identifier and be taken for ASCII by a reader of Latin script. That is Latin
 * phonetic letters and small capitals, Greek, Coptic, Cyrillic, Armenian, Cherokee, Lisu, Georgian, a few Hebrew,
 * Arabic and Canadian syllabic letters, digits of other scripts that look like `0` or `1`, dashes, dots, bars,
 * slashes and colons. Fullwidth, mathematical, circled, superscript and Roman-numeral forms are not here, because NFKD
 * undoes them; nor are letters with accents, which can be told apart; nor historic scripts (Old Italic, Warang Citi,
 * Miao), musical and alchemical symbols; nor look-alikes inside other scripts (two Han or two Arabic letters). The
 * choice follows UTS #39 where both speak, and adds letters that look like Latin small capitals (Cyrillic ve, en, te),
 * since names are compared without case.
 */
const TABLE: Readonly<Record<string, string>> = {
  A: '0391 0410 13aa 15c5 a4ee',
  B: '0392 0412 13f4 15f7 a4d0 a7b4',
  C: '03f9 0421 13df 2ca4 a4da',
  D: '13a0 15de 15ea a4d3',
  E: '0395 0415 13ac 22ff a4f0',
  F: '03dc 15b4 a4dd a798',
  G: '050c 13c0 13f3 a4d6',
  H: '0397 041d 13bb 157c 2c8e a4e7',
  J: '037f 0408 13ab 148d a4d9 a7b2',
  K: '039a 041a 13e6 16d5 2c94 a4d7',
  L: '13de 14aa 2cd0 a4e1',
  M: '039c 03fa 041c 13b7 15f0 16d6 2c98 a4df',
  N: '039d 2c9a a4e0',
  O: '039f 041e 0555 2c9e 2d54 a4f3',
  P: '03a1 0420 13e2 146d 2ca2 a4d1',
  Q: '051a 2d55',
  R: '01a6 13a1 13d2 1587 a4e3',
  S: '0405 054f 13d5 13da a4e2',
  T: '03a4 0422 13a2 22a4 2ca6 a4d4',
  U: '054d 144c 222a 22c3 a4f4',
  V: '0474 13d9 142f 2d38 a4e6',
  W: '051c 13b3 13d4 a4ea',
  X: '03a7 0425 166d 16b7 2573 2cac 2d5d a4eb a7b3',
  Y: '03a5 0423 04ae 13a9 13bd 2ca8 a4ec',
  Z: '0396 13c3 a4dc',
  a: '0251 03b1 0430 1d00 237a',
  b: '0184 0185 0299 03b2 0432 042c 044c 13cf 15af',
  c: '03f2 0441 1d04 2ca5 abaf',
  d: '0501 13e7 146f 1d05 a4d2',
  e: '0435 04bd 1d07 212e ab32',
  f: '0584 1e9d a730 a799 ab35',
  g: '018d 0261 0262 050d 0581 1d83',
  h: '029c 043d 04bb 0570 13c2',
  i: '0131 0269 026a 03b9 0456 13a5 2373 a647 ab75',
  j: '03f3 0458 1d0a',
  k: '0138 03ba 043a 1d0b 2c95',
  // Case does not count, so the capital i draws i, l and 1 together.
  l: '0031 0049 0069 007c 0196 01c0 029f 0399 0406 04c0 04cf 05c0 05d5 05df 0627 0661 06f1 07ca 16c1 2223 23fd 2502 2c92 2d4f a4f2',
  m: '028d 043c 1d0d',
  n: '0274 03b7 0578 057c',
  o: '0030 03bf 03c2 03c3 043e 0585 05e1 0647 0665 06be 06c1 06d5 06f5 07c0 0966 09e6 0a66 0ae6 0b66 0be6 0c02 0c66 0c82 0ce6 0d02 0d20 0d66 0d82 0e50 0ed0 101d 1040 10ff 1d0f 1d11 2c9f 3007 ab3d',
  p: '03c1 0440 1d18 2374 2ca3',
  q: '051b 0563 0566',
  r: '0280 0433 1d26 2c85 ab47 ab48 ab81',
  s: '01bd 0455 a731 abaa',
  t: '03c4 0442 1d1b 2ca7',
  u: '028b 03bc 03c5 057d 1d1c a79f ab4e ab52',
  v: '03bd 0475 05d8 1d20 2228 22c1 aba9',
  w: '026f 03c9 0461 051d 0561 1d21 ab83',
  x: '00d7 03c7 0445 1541 157d 166e 292b 2a2f 2cad',
  y: '0263 028f 03b3 0443 04af 10e7 1d8c 1eff ab5a 2ca9',
  z: '1d22 ab93',
  '2': '01a7 03e8 a644 a75a',
  '3': '01b7 021c 0417 04e0 2ccc a76a a7ab',
  '4': '13ce',
  '5': '01bc',
  '6': '0431 13ee 2cd2',
  '8': '0222 0223',
  '9': '2cca a76e',
  // Separators that names are told apart by only on a close look.
  '/': '2044 2215 2571 29f8',
  ':': '02d0 02f8 0589 05c3 2236 a789',
  _: '002d 002e 00b7 02cd 02d7 0660 06d4 06f0 0701 0702 07fa 2010 2012 2013 2014 2015 2027 2043 2212 22c5 2796 2cba 30fb a4f8',
};

/** A look-alike and the character that it stands for. */
export const PROTOTYPES: ReadonlyMap<string, string> = new Map(
  Object.entries(TABLE).flatMap(([target, points]) =>
    points
      .split(' ')
      .map((hex): [string, string] => [String.fromCodePoint(Number.parseInt(hex, 16)), target]),
  ),
);
