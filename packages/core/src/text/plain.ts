import { classOf } from './characters.ts';
import { normalized } from './normalize.ts';

/** A reading of a text that knows where each of its characters stands in the text. */
interface View {
  readonly text: string;
  /** The offset in the original text of the character at this index. */
  offset(index: number): number;
  /** The offset in the original text of the end of the character before this index. */
  end(index: number): number;
}

/** The text as it stands. */
export function wholeView(text: string): View {
  return { text, offset: (index) => index, end: (index) => index };
}

/**
 * The text as it reads when nothing is hidden: invisible and control characters dropped, look-alike spaces made plain
 * ones, compatibility forms (fullwidth, mathematical, ligatures) undone by NFKC, a character at a time.
 */
export function plainView(text: string): View {
  let plain = '';
  const offsets: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of text) {
    const end = at + character.length;
    const shown = shownAs(character);
    for (let i = 0; i < shown.length; i++) {
      offsets.push(at);
      ends.push(end);
    }
    plain += shown;
    at = end;
  }
  return { text: plain, offset: (index) => offsets[index]!, end: (index) => ends[index - 1]! };
}

/** Single letters that stand for whole sayings (U+FDFA is 18 characters) stay: no address is written with them. */
const MAX_FORM = 6;

function bounded(character: string, form: string): string {
  return form.length > MAX_FORM ? character : form;
}

function shownAs(character: string): string {
  if (character >= ' ' && character <= '~') return character;
  if (character === '\n' || character === '\r' || character === '\t') return character;
  switch (classOf(character.codePointAt(0)!)?.kind) {
    case 'space':
      return ' ';
    case undefined:
    case 'private-use':
    case 'surrogate':
      return bounded(character, normalized(character, 'NFKC'));
    default:
      return '';
  }
}
