import {
  checkMembers,
  type JsonObject,
  type Path,
  TYPE_NAMES,
  type TypeName,
  typeOf,
} from '../json/index.ts';
import { inspectText } from '../text/index.ts';
import { listed, type Problems, quoted } from './problems.ts';

/** The members of an object of the manifest; the rest is refused. */
export interface Fields {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** What it is called in sentences, such as `a tool`. */
  readonly name: string;
}

/** Adds a problem for every member that is unknown or missing. */
export function checkFields(object: JsonObject, fields: Fields, at: Path, problems: Problems): void {
  const { required, optional, name } = fields;
  checkMembers(object, fields, (fault, key) => {
    const place = [...at, key];
    if (fault === 'missing')
      return problems.add('MANIFEST_FIELD_MISSING', place, `\`${key}\` is missing.`, `Add \`${key}\` here.`);
    const known = [...required, ...optional];
    const meant = nearest(
      key,
      known.filter((other) => !object.has(other)),
    );
    const hint =
      meant === undefined
        ? `Remove it: ${name} has ${listed(known.map((other) => `\`${other}\``))}, and nothing else.`
        : `Perhaps \`${meant}\` is meant.`;
    const message = `${name[0]!.toUpperCase()}${name.slice(1)} has no member ${quoted(key)}.`;
    problems.add('MANIFEST_FIELD_UNKNOWN', place, message, hint);
  });
}

/** The member if it is there and of its type; undefined, and a problem, if it is of another. */
export function member(object: JsonObject, key: string, type: TypeName, at: Path, problems: Problems) {
  const value = object.get(key);
  if (value === undefined || typeOf(value) === type) return value;
  wrongType([...at, key], `\`${key}\``, type, problems);
  return undefined;
}

export function wrongType(at: Path, what: string, type: TypeName, problems: Problems): void {
  const name = TYPE_NAMES[type];
  problems.add('MANIFEST_FIELD_TYPE', at, `${what} must be ${name}.`, `Write ${name} here.`);
}

/** Beyond these a text can hold what a person does not see. */
const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/;

/** A text that people are shown or that names something: not empty, and every character of it can be seen. */
export function text(object: JsonObject, key: string, at: Path, problems: Problems): string | undefined {
  const value = member(object, key, 'text', at, problems) as string | undefined;
  if (value === undefined || PLAIN.test(value)) return value;
  if (value.trim() === '') {
    problems.add(
      'MANIFEST_TEXT_EMPTY',
      [...at, key],
      `\`${key}\` is empty.`,
      'Write what it is to be called.',
    );
    return undefined;
  }
  const [finding] = inspectText(value);
  const hidden = finding?.message ?? (/[\n\t]/.test(value) ? 'A line end or a tab is not seen.' : undefined);
  if (hidden !== undefined)
    problems.add(
      'MANIFEST_TEXT_HIDDEN',
      [...at, key],
      `\`${key}\` holds what a person does not see: ${hidden}`,
      'Remove the character: people are shown this text, and must see all of it.',
    );
  return value;
}

/** The known name that was probably meant: the same but for case and separators, or a slip or two away. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const bare = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return (
    known.find((name) => bare(name) === bare(word)) ??
    known.find((name) => name.length > 3 && distance(name, word.toLowerCase()) <= 2)
  );
}

/** The least number of letters to change, add or leave out (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
