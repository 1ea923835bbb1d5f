import { sortNames } from '../../canon/index.ts';
import { JsonObject, type JsonValue } from '../../json/index.ts';
import { entryOf } from '../file/entry.ts';
import { pointedContent } from '../file/pointed.ts';
import type { LeftOut } from '../file/selection.ts';
import { LISTS, type ListKind } from '../file/surface.ts';
import { asObject, type DriftItem, itemOf, KIND_OF, quoted, type Subject, sides } from './item.ts';
import { type Around, addedItems, changedItems } from './members.ts';
import { suspiciousNames } from './names.ts';
import type { Whole } from './side.ts';

/** What happened to the names of a list. */
interface Moves {
  readonly removed: readonly string[];
  readonly added: readonly string[];
  /** Old names by new ones. */
  readonly renamed: ReadonlyMap<string, string>;
}

export function subjectOf(kind: ListKind, name: string): Subject {
  return { kind: KIND_OF[kind], name, at: [kind, name] };
}

/** The differences of one list of which both sides are known whole. Equal definitions cost a digest, no more. */
export function listItems(kind: ListKind, lock: Whole, current: Whole, around: Around): DriftItem[] {
  const [removed, changed, added]: string[][] = [[], [], []];
  for (const name of lock.names(kind)) {
    const [was, is] = [lock.entry(kind, name)!, current.entry(kind, name)];
    if (is === undefined) removed!.push(name);
    else if (isOther(was, is)) changed!.push(name);
  }
  const leftOut = kind === 'tools' ? lock.leftOut : NONE;
  const byName = new Map<string, DriftItem[]>();
  for (const name of current.names(kind)) {
    if (lock.definition(kind, name) !== undefined) continue;
    const was = leftOut.get(name);
    if (was === undefined || around.isLock) added!.push(name);
    else if (isOther(was, current.entry(kind, name)!)) byName.set(name, [leftOutItem(subjectOf(kind, name))]);
  }
  const moves = pairRenames(removed!, added!, (name, isNew) =>
    bodyOf(kind, (isNew ? current : lock).definition(kind, name)!, around.exclusions),
  );
  for (const name of changed!) {
    const subject = subjectOf(kind, name);
    const [before, after] = [lock.definition(kind, name)!, current.definition(kind, name)!];
    const items = changedItems(kind, subject, before, after, around, share(changed!.length));
    byName.set(name, [...items, ...unpinned(subject, before, after, current)]);
  }
  for (const [name, from] of moves.renamed) {
    const subject = subjectOf(kind, name);
    const [before, after] = [lock.definition(kind, from)!, current.definition(kind, name)!];
    const items = changedItems(kind, subject, before, after, around, MAX_STEPS);
    byName.set(name, [renamedItem(subject, from, before, after, items.length === 0 ? SAME : ''), ...items]);
  }
  for (const name of moves.added) {
    const subject = subjectOf(kind, name);
    const after = current.definition(kind, name)!;
    const items = addedItems(kind, subject, after, around);
    byName.set(name, [
      addedItem(subject, after, leftOut.has(name)),
      ...items,
      ...unpinned(subject, null, after, current),
    ]);
  }
  for (const name of moves.removed) {
    const isLeftOut = kind === 'tools' && current.leftOut.has(name);
    byName.set(name, [removedItem(subjectOf(kind, name), lock.definition(kind, name), isLeftOut)]);
  }
  const fresh = added!.map((name) => subjectOf(kind, name));
  for (const item of suspiciousNames(fresh, lock.names(kind), around.others))
    byName.get(item.name)!.push(item);
  return inOrder(byName);
}

const NONE: ReadonlyMap<string, LeftOut> = new Map();

function isOther(was: LeftOut, is: LeftOut): boolean {
  return was.digest !== is.digest || was.sourceDigest !== is.sourceDigest;
}

/** Nobody approved it, so nobody is hurt; but whoever thinks of approving it should look again. */
function leftOutItem(subject: Subject): DriftItem {
  const sentence = 'The tool was left out on purpose, and its definition is another now.';
  return itemOf(subject, 'changed', 'tool-left-out-changed', 'info', [], sentence, {});
}

const MAX_STEPS = 50_000;

/**
 * How many steps the comparison of one schema may take when so many definitions changed: all that it wants where they
 * are few, and enough for a hundred arguments where they are many, so that no server makes it take for ever.
 */
function share(changed: number): number {
  return Math.min(MAX_STEPS, Math.max(1_000, Math.ceil(5_000_000 / Math.max(changed, 1))));
}

/** The items of each name, names in the order of the lockfile. */
export function inOrder(byName: ReadonlyMap<string, readonly DriftItem[]>): DriftItem[] {
  return sortNames([...byName.keys()], 'mcptrust-v1').flatMap((name) => byName.get(name)!);
}

/**
 * Pairs what is gone with what is new and has the same body. A body is known by any of some keys; one without tells
 * too little. Takes linear time, also where many have the same body.
 */
export function pairRenames(
  removed: readonly string[],
  added: readonly string[],
  body: (name: string, isNew: boolean) => readonly string[],
): Moves {
  const renamed = new Map<string, string>();
  if (removed.length === 0 || added.length === 0) return { removed, added, renamed };
  const waiting = new Map<string, string[]>();
  for (const name of sortNames(removed, 'mcptrust-v1').reverse()) {
    for (const key of body(name, false)) {
      const names = waiting.get(key);
      if (names === undefined) waiting.set(key, [name]);
      else names.push(name);
    }
  }
  const gone = new Set<string>();
  const take = (keys: readonly string[]) => {
    for (const key of keys) {
      const names = waiting.get(key) ?? [];
      for (let name = names.pop(); name !== undefined; name = names.pop()) if (!gone.has(name)) return name;
    }
    return undefined;
  };
  for (const name of sortNames(added, 'mcptrust-v1')) {
    const from = take(body(name, true));
    if (from === undefined) continue;
    renamed.set(name, from);
    gone.add(from);
  }
  return {
    removed: removed.filter((name) => !gone.has(name)),
    added: added.filter((name) => !renamed.has(name)),
    renamed,
  };
}

/** What a definition is apart from its name and title, by digest; none when that says too little to know it by. */
function bodyOf(kind: ListKind, definition: JsonObject, exclusions: readonly string[]): string[] {
  if (!isTelling(kind, definition)) return [];
  const members = [...definition].filter(([key]) => key !== LISTS[kind] && key !== 'title');
  const { digest, sourceDigest } = entryOf(JsonObject.from(members), exclusions);
  return [`${digest} ${sourceDigest}`];
}

function isTelling(kind: ListKind, definition: JsonObject): boolean {
  const has = (key: string) => isFilled(definition.get(key));
  if (has('description')) return true;
  if (kind === 'tools') return isFilled(asObject(definition.get('inputSchema')).get('properties'));
  return kind === 'prompts' ? has('arguments') : has('name');
}

function isFilled(value: JsonValue | undefined): boolean {
  if (typeof value === 'string' || Array.isArray(value)) return value.length > 0;
  return value instanceof JsonObject && value.size > 0;
}

const MOVED: Readonly<Record<string, string>> = { resource: 'moved to', template: 'moved to' };
const SAME = '; its definition is otherwise the same';

export function renamedItem(
  subject: Subject,
  from: string,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
  rest: string,
): DriftItem {
  const { kind, name } = subject;
  const code = `${kind as 'tool'}-renamed` as const;
  const sentence = `The ${kind} ${quoted(from)} ${MOVED[kind] ?? 'is now called'} ${quoted(name)}${rest}.`;
  return itemOf(subject, 'renamed', code, 'critical', [], sentence, { ...sides(before, after), from });
}

export function addedItem(subject: Subject, after: JsonObject | undefined, wasLeftOut = false): DriftItem {
  const code = `${subject.kind as 'tool'}-added` as const;
  const sentence = wasLeftOut
    ? 'The tool was left out before, and is approved now.'
    : `The ${subject.kind} is new.`;
  return itemOf(subject, 'added', code, 'critical', [], sentence, sides(undefined, after));
}

export function removedItem(subject: Subject, before: JsonObject | undefined, isLeftOut = false): DriftItem {
  const code = `${subject.kind as 'tool'}-removed` as const;
  const sentence = isLeftOut ? 'The tool is left out on purpose now.' : `The ${subject.kind} is gone.`;
  return itemOf(subject, 'removed', code, 'critical', [], sentence, sides(before, undefined));
}

/** Addresses of content that are new in a definition and not pinned. */
function unpinned(
  subject: Subject,
  before: JsonObject | null,
  after: JsonObject,
  { contents }: Whole,
): DriftItem[] {
  const known = new Set(before === null ? [] : pointedContent(before, []).map(({ uri }) => uri));
  const fresh = pointedContent(after, []).filter(({ uri }) => !known.has(uri) && !contents.has(uri));
  return fresh.map(({ uri, at }) => {
    const sentence = `What lies behind ${quoted(uri)} was not read and can change unnoticed.`;
    return itemOf(subject, 'suspicious', 'content-unpinned', 'moderate', at, sentence, { after: uri });
  });
}
