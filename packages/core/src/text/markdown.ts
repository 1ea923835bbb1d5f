import { visible } from './visible.ts';

// Foreign text in Markdown: it can be no markup, link, image, mention or row, whatever it is.

/** A code span: nothing in it is markup, if its fence is longer than any run of backticks in it. */
export function markdownCode(text: string): string {
  const seen = visible(text, { ordinary: true });
  const fence = '`'.repeat(longestRun(seen) + 1);
  const space = /^[` ]|[` ]$|^$/.test(seen) ? ' ' : '';
  return `${fence}${space}${seen}${space}${fence}`;
}

/** The same in a table, where a bar ends the cell even in code, and not all readers agree on how to escape it. */
export function markdownCell(text: string): string {
  const cut = text.length > 200 ? `${Array.from(text.slice(0, 200)).slice(0, -1).join('')}…` : text;
  return markdownCode(cut).replaceAll('|', '⟨U+007C⟩');
}

/** A block of code of its own. The text is shown as it is: pass it through `visible` first. */
export function markdownBlock(text: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}text\n${text}\n${fence}`;
}

/** Every character of ASCII that could be markup as a reference, which no reader of Markdown or HTML takes for it. */
export function markdownReferences(text: string): string {
  return text.replace(/[^A-Za-z0-9 \u0080-\u{10ffff}]/gu, (character) => `&#${character.charCodeAt(0)};`);
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}
