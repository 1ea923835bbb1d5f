import { inspectText, mixedScript, skeleton } from '../../text/index.ts';
import { type DriftItem, itemOf, quoted, type Subject, some } from './item.ts';

/** Finds the names of tools in texts. */
export interface ToolNames {
  /** The tools, each once, that a text names, apart from `self`. Takes linear time. */
  find(text: string, self: string): string[];
}

/** A word with the invisible characters inside it, which the skeleton drops. */
const WORD = /[\p{L}\p{N}\p{M}\p{Cf}]{1,65535}/gu;
/** What may stand between the words of a name. */
const JOINT = /^(?:[-_./:]|\s{1,8})$/;
/** Names of more words than this are not looked for. */
const MAX_WORDS = 8;

/**
 * Names are found by what they look like, so that case, separators and look-alike letters do not hide one. A name
 * that is an ordinary word (`search`) counts only where the text speaks of a tool: in quotes or backticks, before an
 * opening bracket, or beside a word such as `call` or `tool`.
 */
export function toolNames(names: Iterable<string>): ToolNames {
  const looks = new Map<string, string>();
  const look = (word: string) => {
    const known = looks.get(word) ?? skeleton(word);
    looks.set(word, known);
    return known;
  };
  /** By the looks of the words; the plain ones are ordinary words. */
  const byLook = new Map<string, { readonly names: string[]; readonly plain: boolean }>();
  const firsts = new Set<string>();
  let longest = 0;
  for (const name of names) {
    const words = wordsOf(name);
    if (words.length === 0 || words.length > MAX_WORDS || words.some(({ joint }) => joint === null)) continue;
    const key = words.reduce((joined, { text, joint }) => joined + joint + look(text), '');
    const plain = words.length === 1 && /^\p{L}?\p{Ll}*$/u.test(name);
    const known = byLook.get(key);
    if (known === undefined) byLook.set(key, { names: [name], plain });
    // Two are enough: one of them is not the text's own.
    else if (known.names.length < 2) known.names.push(name);
    firsts.add(look(words[0]!.text));
    longest = Math.max(longest, words.length);
  }
  return {
    find(text, self) {
      const found = new Set<string>();
      const words = wordsOf(text);
      words.forEach((first, i) => {
        if (!firsts.has(look(first.text))) return;
        let key = '';
        for (let n = 0; n < longest && i + n < words.length; n++) {
          const { text: word, joint, end } = words[i + n]!;
          if (n > 0 && joint === null) break;
          key += (n === 0 ? START : joint) + look(word);
          const entry = byLook.get(key);
          if (entry === undefined || (entry.plain && !isMeant(text, first.start, end))) continue;
          const other = entry.names.find((name) => name !== self);
          if (other !== undefined && !entry.names.includes(self)) found.add(other);
        }
      });
      return [...found];
    },
  };
}

interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** What joins it to the word before: `_`, a space, or null when something else stands between. */
  readonly joint: string | null;
}

/** The first word of a text, or of a name, has this joint. */
const START = '\u0000';

function wordsOf(text: string): Word[] {
  let last = -1;
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => {
    const between = last < 0 ? '' : text.slice(last, Math.min(index, last + 16));
    const joint = last < 0 ? START : JOINT.test(between) ? (/\s/.test(between) ? ' ' : '_') : null;
    last = index + word.length;
    return { text: word, start: index, end: last, joint };
  });
}

/** Whether an ordinary word is used as the name of a tool. */
function isMeant(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 24), start);
  const after = text.slice(end, end + 16);
  return (
    (/["'`“‘«<[]$/u.test(before) && /^["'`”’»>\]]/u.test(after)) ||
    after.startsWith('(') ||
    /^\s+(?:tool|function)\b/i.test(after) ||
    /\b(?:tools?|functions?|call(?:s|ed|ing)?|invok(?:e|es|ed|ing))\s+(?:the\s+)?$/i.test(before)
  );
}

/**
 * What is wrong with new names of one list: characters that are not seen, letters of several scripts, and a look that
 * another name has, be it locked, new, or `others`. Takes linear time; each name is told with one other.
 */
export function suspiciousNames(
  added: readonly Subject[],
  locked: Iterable<string>,
  others: Iterable<string>,
): DriftItem[] {
  if (added.length === 0) return [];
  const byLook = new Map<string, string[]>();
  const enter = (name: string) => {
    const look = skeleton(name);
    const known = byLook.get(look);
    if (known === undefined) byLook.set(look, [name]);
    else if (known.length < 2 && !known.includes(name)) known.push(name);
  };
  for (const name of locked) enter(name);
  for (const name of others) enter(name);
  for (const { name } of added) enter(name);
  return added.flatMap((subject) => {
    const { name } = subject;
    const items: DriftItem[] = [];
    const findings = inspectText(name);
    if (findings.length > 0) {
      const sentence = 'The name holds characters that a person does not see.';
      const details = some(findings.map(({ message }) => message));
      items.push(itemOf(subject, 'suspicious', 'hidden-characters', 'critical', [], sentence, { details }));
    }
    if (mixedScript(name)) {
      const sentence = 'The name mixes letters of several alphabets.';
      items.push(itemOf(subject, 'suspicious', 'mixed-script', 'critical', [], sentence));
    }
    const twin = byLook.get(skeleton(name))!.find((other) => other !== name);
    if (twin !== undefined) {
      const sentence = `The name can be taken for ${quoted(twin)}.`;
      items.push(
        itemOf(subject, 'suspicious', 'confusable-name', 'critical', [], sentence, { before: twin }),
      );
    }
    return items;
  });
}
