import { BullaError } from '@bulla/core/error';

/**
 * Splits a command line into words as a POSIX shell would (XCU §2.2, §2.6.5), and refuses whatever the shell would
 * not take literally: a word here is exactly what the program gets, so nothing may be left to expand. Throws
 * `MCP_TARGET`, with the offset in UTF-16 code units, for an expansion, a pattern, an operator, a comment or an
 * assignment that is not quoted, and for a quote or a backslash that nothing ends.
 */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === ' ' || c === '\t') {
      if (word !== null) words.push(word);
      word = null;
    } else if (c === "'") {
      const end = text.indexOf("'", i + 1);
      if (end < 0) throw unended(i);
      word = (word ?? '') + text.slice(i + 1, end);
      i = end;
    } else if (c === '"') {
      const quoted = doubleQuoted(text, i);
      word = (word ?? '') + quoted.value;
      i = quoted.end;
    } else if (c === '\\') {
      if (i + 1 === text.length) throw unended(i);
      i++;
      // A backslash before a line end joins the lines.
      if (text[i] !== '\n') word = (word ?? '') + text[i];
    } else {
      if (isSpecial(c, word === null)) throw special(c, i);
      if (c === '=' && words.length === 0 && word !== null && /^[A-Za-z_][A-Za-z0-9_]*$/.test(word)) {
        throw special(`${word}=`, i - word.length);
      }
      word = (word ?? '') + c;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

/** What stands between double quotes, where `$`, the backquote, `"` and the backslash keep their meaning. */
function doubleQuoted(text: string, start: number): { value: string; end: number } {
  let value = '';
  for (let i = start + 1; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') return { value, end: i };
    if (c === '$' || c === '`') throw special(c, i);
    if (c === '\\' && /^[$`"\\\n]/.test(text.slice(i + 1))) {
      i++;
      if (text[i] !== '\n') value += text[i];
    } else {
      value += c;
    }
  }
  throw unended(start);
}

/** Whether a shell would not take the character for itself; some have a meaning only at the start of a word. */
function isSpecial(c: string, atStart: boolean): boolean {
  return '|&;<>()$`*?[\n\r\0'.includes(c) || (atStart && '~#'.includes(c));
}

function special(what: string, offset: number): BullaError {
  return new BullaError(
    'MCP_TARGET',
    `A shell would not take ${JSON.stringify(what)} for itself; quote it, or give the words one by one.`,
    { offset },
  );
}

function unended(offset: number): BullaError {
  return new BullaError('MCP_TARGET', 'A quote or a backslash in the command is not ended.', {
    offset,
  });
}
