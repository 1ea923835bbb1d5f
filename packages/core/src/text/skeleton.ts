import { classOf } from './characters.ts';
import { PROTOTYPES } from './confusables.ts';
import { normalized } from './normalize.ts';

/** Pairs of letters that look like one. */
const PAIRS: readonly (readonly [string, string])[] = [
  ['rn', 'm'],
  ['vv', 'w'],
];

/** Nobody compares more of a name than this by eye; what stands behind it is compared as it is. */
const LOOKED_AT = 1024;

/**
 * What a name looks like, in the manner of UTS #39 §4: compatibility forms are undone (NFKD), invisible characters
 * dropped, each look-alike replaced by one stand-in, and case folded. Two names with the same skeleton can be taken
 * for one another. The skeleton is a key to compare with, never a text to show or a name to use. It is coarser than
 * that of UTS #39: case does not count, so `i`, `I`, `l`, `L`, `1` and `|` fall together, as do `0` and `o`; `-`, `.`
 * and `_` are one separator; `rn` is `m` and `vv` is `w`. `confusables.ts` says which look-alikes are known. Only the
 * first 1,024 code units are looked at: compatibility forms grow to many times their length.
 */
export function skeleton(text: string): string {
  return lookOfText(text.slice(0, LOOKED_AT)) + text.slice(LOOKED_AT);
}

function lookOfText(text: string): string {
  let out = '';
  // Before NFKD too, which takes some characters for the letter that they mean and not the one they look like.
  const looks = Array.from(text, (character) => PROTOTYPES.get(character) ?? character).join('');
  for (const character of normalized(looks, 'NFKD')) {
    const kind = classOf(character.codePointAt(0)!)?.kind;
    if (kind === 'space' || /\s/u.test(character)) out += ' ';
    else if (kind === undefined || kind === 'private-use' || kind === 'surrogate') out += lookOf(character);
  }
  for (const [pair, letter] of PAIRS) out = out.replaceAll(pair, letter);
  return normalized(out, 'NFKD');
}

/** The stand-in of one character. Folding case can lead to another look-alike, so both go on until nothing changes. */
function lookOf(character: string): string {
  for (let look = character; ; ) {
    const next = Array.from(look, (c) => fold(PROTOTYPES.get(c) ?? c)).join('');
    if (next === look) return look;
    look = next;
  }
}

/** Full case folding, a character at a time so that no neighbour has a say (the final sigma). */
function fold(text: string): string {
  return text.toUpperCase().toLowerCase();
}
