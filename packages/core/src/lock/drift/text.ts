import { JsonObject, type JsonValue, type Path, pointer, valueAt } from '../../json/index.ts';
import { wordDiff } from '../../text/index.ts';
import { pathTo, walk } from '../file/walk.ts';
import type { DriftCode } from './codes.ts';
import { type DriftItem, itemOf, quoted, type Subject, sides } from './item.ts';

/** Both sides of a definition, and what is known to be suspicious in the new one. */
export interface Changed {
  readonly subject: Subject;
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** The paths of suspicious texts. */
  readonly suspicious: ReadonlySet<string>;
}

/** A piece of text that came or went is shown up to this length. */
export const MAX_TEXT = 4000;

/** The paths at which items found something suspicious. */
export function suspiciousPaths(items: readonly DriftItem[]): Set<string> {
  return new Set(items.map(({ path }) => path));
}

/**
 * A text that is not what was locked. It is critical whatever it says, because a model obeys what it reads; what is
 * plain prose is marked, so that a person can agree to it at a glance.
 */
export function textItem(
  { subject, before, after, suspicious }: Changed,
  code: DriftCode,
  path: Path,
  was: string | undefined,
  is: string | undefined,
): DriftItem {
  const where = wordsForPath(path, is === undefined ? before : after);
  const what = was === undefined ? 'is new' : is === undefined ? 'is gone' : 'changed';
  const parts = wordDiff(was ?? '', is ?? '');
  const isShort = parts.every(({ kind, text }) => kind === 'same' || text.length <= MAX_TEXT);
  const prose = isShort && !suspicious.has(pointer([...subject.at, ...path]));
  return itemOf(subject, 'changed', code, 'critical', path, `${where} ${what}.`, {
    ...sides(was, is),
    ...{ parts, prose },
  });
}

const ANNOTATIONS: Readonly<Record<string, DriftCode>> = {
  description: 'description-changed',
  title: 'title-changed',
  $comment: 'text-added',
};

/** Whether a keyword of a schema is a text for readers. */
export function isTextKeyword(keyword: string): boolean {
  return Object.hasOwn(ANNOTATIONS, keyword);
}

interface SchemaText {
  readonly code: DriftCode;
  readonly path: Path;
  readonly text: string;
  readonly isAnnotation: boolean;
}

/**
 * The texts in a schema that are not what was locked: descriptions, titles and comments by their place, also those
 * of new arguments; sentences in values and in names of members wherever they stand. In the order of their paths.
 */
export function schemaTextItems(changed: Changed, head: string): DriftItem[] {
  const [before, after] = [changed.before.get(head), changed.after.get(head)];
  const [was, is] = [schemaTexts(before, head), schemaTexts(after, head)];
  const known = new Set([...was.values()].map(({ text }) => text));
  const items: DriftItem[] = [];
  for (const [at, { code, path, text, isAnnotation }] of is) {
    const old = was.get(at);
    if (isAnnotation ? old?.text === text : known.has(text)) continue;
    items.push(textItem(changed, code, path, isAnnotation ? old?.text : undefined, text));
  }
  for (const [at, { code, path, text, isAnnotation }] of was) {
    if (!isAnnotation || is.has(at)) continue;
    // What went with the whole around it is told with that.
    if (valueAt(changed.after, path.slice(0, -1).map(String)) instanceof JsonObject)
      items.push(textItem(changed, code, path, text, undefined));
  }
  return items.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function schemaTexts(schema: JsonValue | undefined, head: string): Map<string, SchemaText> {
  const texts = new Map<string, SchemaText>();
  walk(schema ?? null, (value, key, above) => {
    const isAnnotation = typeof key === 'string' && isTextKeyword(key) && typeof value === 'string';
    const isName = typeof key === 'string' && isSentence(key);
    if (!isAnnotation && !isName && !(typeof value === 'string' && isSentence(value))) return;
    const path = [head, ...pathTo(key, above)];
    const code = isAnnotation ? ANNOTATIONS[key]! : 'text-added';
    if (isName)
      texts.set(`name ${pointer(path)}`, { code: 'text-added', path, text: key, isAnnotation: false });
    if (typeof value === 'string' && (isAnnotation || isSentence(value)))
      texts.set(pointer(path), { code, path, text: value, isAnnotation });
  });
  return texts;
}

/** Three words or more; in scripts without spaces, as many letters as those would have. */
function isSentence(text: string): boolean {
  return /\S\s+\S+\s+\S/u.test(text) || /[^\u0000-\u02ff]{12}/u.test(text);
}

const TEXTS: Readonly<Record<string, string>> = {
  description: 'The description',
  title: 'The title',
  name: 'The display name',
  instructions: 'The text of the instructions',
  $comment: 'The comment',
};

/**
 * What stands at a path of a definition, to begin a sentence with: `The description`, `The title of the argument
 * "path"`, `A text in "/_meta/x"`.
 */
export function wordsForPath(path: Path, definition: JsonValue): string {
  const last = path.at(-1);
  const text = typeof last === 'string' && Object.hasOwn(TEXTS, last) ? TEXTS[last]! : undefined;
  if (path.length === 1 && text !== undefined) return text;
  const [head] = path;
  if (head === 'inputSchema' || head === 'outputSchema') {
    const name = argumentIn(path.slice(1, -1));
    const whole = head === 'inputSchema' ? 'the input schema' : 'the output schema';
    const part = head === 'inputSchema' ? 'the argument' : 'the output';
    return `${text === undefined ? 'A text in' : `${text} of`} ${name === '' ? whole : `${part} ${quoted(name)}`}`;
  }
  const name = head === 'arguments' ? valueAt(definition, ['arguments', `${path[1]}`, 'name']) : undefined;
  if (typeof name === 'string')
    return `${path.length === 3 && text !== undefined ? `${text} of` : 'A text in'} the argument ${quoted(name)}`;
  return path.length === 0 ? 'The definition' : `A text in ${quoted(pointer(path))}`;
}

/** The argument that a path into a schema speaks of, such as `options.depth[]`; empty for the whole. */
function argumentIn(path: Path): string {
  let name = '';
  for (let i = 0; i < path.length; i++) {
    if (path[i] === 'properties' && i + 1 < path.length) name += `${name === '' ? '' : '.'}${path[++i]}`;
    else if (path[i] === 'items') name += '[]';
  }
  return name;
}
