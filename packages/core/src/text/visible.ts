import { classOf, pointName, SUSPECT } from './characters.ts';
import { ordinaryOffsets } from './ordinary.ts';

interface VisibleOptions {
  /** Leave newlines (`\n` and `\r\n`) as they are. Default false. */
  readonly newlines?: boolean;
  /** Leave tabs as they are. Default false. */
  readonly tabs?: boolean;
  /** Leave what `inspectText` holds for ordinary writing, such as the joiners inside an emoji. Default false. */
  readonly ordinary?: boolean;
}

/** The bracket that begins our markers, and brackets that look like it in front of what looks like a marker. */
const BRACKET = '\\u27e8|[\\u2039\\u2329\\u276c\\u276e\\u29fc\\u3008](?=U\\+)';
const MARKED = new RegExp(
  `\\r\\n|[\\t\\n]|${SUSPECT.source}|${BRACKET}|(?:(?!${SUSPECT.source})\\p{M}){1,65535}`,
  'gu',
);
/** How many marks may stand on one letter (UTS #39 §5.4). */
const MAX_MARKS = 4;

/**
 * Writes a text so that a person sees every character that a machine reads, safe in terminals, logs and as text in a
 * page (it does not escape markup): each invisible, bidi, control, tag, private-use or look-alike space character
 * becomes a marker such as `⟨U+200B⟩`. Marks that would pile up, or combine with a marker, are marked too. The result
 * is unambiguous: a bracket that could begin a marker is itself written as one, so replacing each `⟨U+X⟩` by its
 * character gives the text back.
 */
export function visible(text: string, options: VisibleOptions = {}): string {
  const ordinary = options.ordinary === true ? ordinaryOffsets(text) : undefined;
  // Where the last marker or line ends: a mark here would combine with what we wrote.
  let edge = 0;
  return text.replace(MARKED, (found: string, offset: number) => {
    const end = offset + found.length;
    if (isMarks(found)) {
      if (offset !== edge) {
        const shown = limitMarks(found);
        if (shown !== found) edge = end;
        return shown;
      }
    } else if (
      found === '\t' ? options.tabs : found.endsWith('\n') ? options.newlines : ordinary?.has(offset)
    ) {
      if (found === '\t' || found.endsWith('\n')) edge = end;
      return found;
    }
    edge = end;
    return markers(found);
  });
}

const MARKS = /^\p{M}/u;

function isMarks(found: string): boolean {
  return MARKS.test(found) && classOf(found.codePointAt(0)!) === undefined;
}

function limitMarks(run: string): string {
  const marks = Array.from(run);
  return marks.slice(0, MAX_MARKS).join('') + markers(marks.slice(MAX_MARKS).join(''));
}

function markers(text: string): string {
  return Array.from(text, (character) => `⟨${pointName(character.codePointAt(0)!)}⟩`).join('');
}

/** What a terminal acts on or does not show; but newlines, tabs, and the joiners and selectors of ordinary writing. */
const UNSAFE =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t\u200c\u200d\ufe0e\ufe0f]]/gv;

/**
 * The last step before a terminal, for a whole text of ours that may quote others: nothing in it moves the cursor,
 * reorders what is shown or hides itself. It leaves newlines, so a quoted text that must not begin a line of its own
 * goes through `visible` first; what `visible` wrote stays as it is.
 */
export function safeText(text: string): string {
  return text.replace(UNSAFE, markers);
}
