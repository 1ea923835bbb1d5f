import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';
import { inspectText } from '../text/index.ts';
import { listed, type Path, type Problems, quoted } from './problems.ts';

/** The members of an object of the manifest; the rest is refused. */
export interface Fields {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** What it is called in sentences, such as `a tool`. */
  readonly name: string;
}

const TYPES = {
  text: 'a text',
  object: 'an object',
  list: 'a list',
  boolean: 'true or false',
  number: 'a number',
};
type Type = keyof typeof TYPES;

function isOf(value: JsonValue, type: Type): boolean {
  switch (type) {
    case 'text':
      return typeof value === 'string';
    case 'object':
      return value instanceof JsonObject;
    case 'list':
      return Array.isArray(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
      return value instanceof JsonNumber;
  }
}

/** Tells which members are missing and which are not known. */
export function checkMembers(object: JsonObject, fields: Fields, at: Path, problems: Problems): void {
  const { required, optional, name } = fields;
  for (const key of object.keys) {
    if (required.includes(key) || optional.includes(key)) continue;
    const meant = nearest(
      key,
      [...required, ...optional].filter((known) => !object.has(known)),
    );
    const hint =
      meant === undefined
        ? `Remove it: ${name} has ${listed([...required, ...optional].map((known) => `\`${known}\``))}, and nothing else.`
        : `Perhaps \`${meant}\` is meant.`;
    const message = `${name[0]!.toUpperCase()}${name.slice(1)} has no member ${quoted(key)}.`;
    problems.add('MANIFEST_FIELD_UNKNOWN', [...at, key], message, hint);
  }
  for (const key of required) {
    if (!object.has(key))
      problems.add('MANIFEST_FIELD_MISSING', [...at, key], `\`${key}\` is missing.`, `Add \`${key}\` here.`);
  }
}

/** The member if it is there and of its type; undefined, and a problem, if it is of another. */
export function member(object: JsonObject, key: string, type: Type, at: Path, problems: Problems) {
  const value = object.get(key);
  if (value === undefined || isOf(value, type)) return value;
  wrongType([...at, key], `\`${key}\``, type, problems);
  return undefined;
}

export function wrongType(at: Path, what: string, type: Type, problems: Problems): void {
  problems.add('MANIFEST_FIELD_TYPE', at, `${what} must be ${TYPES[type]}.`, `Write ${TYPES[type]} here.`);
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
