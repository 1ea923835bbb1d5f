/** Deeper levels are not set in further, or a deeply nested document would be mostly spaces. */
const MAX_INDENT = 40;

/** Sets compact JSON in lines, two spaces a level. The text must be what `stringify` writes. */
export function indented(compact: string): string {
  const out: string[] = [];
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
  for (let i = 0; i < compact.length; ) {
    const c = compact[i]!;
    const isEmpty = (c === '{' && compact[i + 1] === '}') || (c === '[' && compact[i + 1] === ']');
    if (c === '"') {
      const end = stringEnd(compact, i);
      out.push(compact.slice(i, end));
      i = end;
      continue;
    }
    if (isEmpty) {
      out.push(compact.slice(i, i + 2));
      i += 2;
      continue;
    }
    if (c === '{' || c === '[') {
      depth++;
      out.push(c, line());
    } else if (c === '}' || c === ']') {
      depth--;
      out.push(line(), c);
    } else if (c === ',') out.push(c, line());
    else out.push(c === ':' ? ': ' : c);
    i++;
  }
  return out.join('');
}

/** Where the string that begins here is over: behind the first quote that no backslash escapes. */
function stringEnd(text: string, start: number): number {
  for (let i = start + 1; ; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i + 1;
  }
}

/**
 * Inside strings alone these characters can stand, and there an escape means the same: a terminal is not moved. Newlines
 * and tabs stand only between the tokens.
 */
export function escaped(json: string): string {
  return json.replace(/[[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\n\t]]/gv, (character) =>
    Array.from({ length: character.length }, (_, i) => {
      return `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
