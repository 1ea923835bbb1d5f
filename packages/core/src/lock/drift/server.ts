import { JsonObject, type JsonValue } from '../../json/index.ts';
import { type Exclusions, entryOf } from '../file/entry.ts';
import {
  type Authorization,
  commandText,
  type Identity,
  writeAuthorization,
  writeIdentity,
} from '../file/identity.ts';
import type { Artifact } from '../file/package.ts';
import { treeWords } from '../file/package-tree.ts';
import { pointedContent } from '../file/pointed.ts';
import { LIST_KINDS } from '../file/surface.ts';
import { type DriftItem, isText, itemOf, quoted, type Severity, type Subject, shown, sides } from './item.ts';
import { beside, differingKeys, valueItem, valueWords, without } from './members.ts';
import type { ToolNames } from './names.ts';
import { sameTexts, type Whole } from './side.ts';
import { suspicions } from './suspect.ts';
import { suspiciousPaths, textItem } from './text.ts';

const SERVER: Subject = { kind: 'server', name: '', at: [] };

/**
 * What the server says of itself. A name proves nothing, but people decide by it, as by a title; a version is for
 * reading only, and changes with every release.
 */
export function serverItems(lock: Whole, current: Whole, names: () => ToolNames): DriftItem[] {
  const subject: Subject = { ...SERVER, at: ['serverInfo'] };
  const [before, after] = [lock.serverInfo, current.serverInfo];
  const suspect = suspicions(subject, without(before, 'name'), without(after, 'name'), names);
  const changed = { subject, before, after, suspicious: suspiciousPaths(suspect) };
  const items = differingKeys(after, before).map((key) => {
    const [was, is] = [before.get(key), after.get(key)];
    const version = 'The version of the server';
    if (key === 'name') return serverNameItem(was, is, 'critical');
    if (key === 'version')
      return valueItem(subject, 'server-version-changed', 'info', [key], version, was, is);
    if ((key === 'title' || key === 'description') && isText(was) && isText(is))
      return textItem(changed, `${key}-changed`, [key], was, is);
    const code = key === 'icons' ? 'icons-changed' : 'member-changed';
    return valueItem(subject, code, 'moderate', [key], `The member ${quoted(key)}`, was, is);
  });
  return [...beside(items, suspect), ...protocolItems(lock, current)];
}

export function serverNameItem(
  was: JsonValue | undefined,
  is: JsonValue | undefined,
  severity: Severity,
): DriftItem {
  const subject: Subject = { ...SERVER, at: ['serverInfo'] };
  return valueItem(subject, 'server-name-changed', severity, ['name'], 'The name of the server', was, is);
}

/** Versions of the protocol are dates, so that they sort. */
function protocolItems(lock: Whole, current: Whole): DriftItem[] {
  const [was, is] = [lock.protocolVersion, current.protocolVersion];
  const tell = (path: 'protocolVersion' | 'era', severity: Severity, name: string) =>
    valueItem(SERVER, 'protocol-changed', severity, [path], name, lock[path], current[path]);
  if (was !== is) return [tell('protocolVersion', is < was ? 'moderate' : 'info', 'The protocol version')];
  return lock.era === current.era ? [] : [tell('era', 'moderate', 'The era of the protocol')];
}

export function instructionItems(lock: Whole, current: Whole, names: () => ToolNames): DriftItem[] {
  if (lock.instructions === current.instructions) return [];
  const subject: Subject = { kind: 'instructions', name: '', at: [] };
  const object = (text: string | null) =>
    text === null ? new JsonObject() : new JsonObject(['instructions'], [text]);
  const [before, after] = [object(lock.instructions), object(current.instructions)];
  const suspect = suspicions(subject, before, after, names);
  const changed = { subject, before, after, suspicious: suspiciousPaths(suspect) };
  const texts = [lock.instructions ?? undefined, current.instructions ?? undefined] as const;
  return [textItem(changed, 'instructions-changed', ['instructions'], ...texts), ...suspect];
}

export function capabilityItems(lock: Whole, current: Whole, names: () => ToolNames): DriftItem[] {
  const subject: Subject = { kind: 'capabilities', name: '', at: ['capabilities'] };
  const [before, after] = [lock.capabilities, current.capabilities];
  const items = differingKeys(after, before).map((key): DriftItem => {
    const [was, is] = [before.get(key), after.get(key)];
    const change = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    const name = `The capability ${quoted(key)}`;
    return { ...valueItem(subject, `capability-${change}`, 'moderate', [key], name, was, is), change };
  });
  return items.length === 0 ? [] : [...items, ...suspicions(subject, before, after, names)];
}

/** Which program or address was locked, and which is there now. */
export function identityItems(was: Identity, is: Identity): DriftItem[] {
  // The order of the variables does not count.
  const isSameEnv = was.transport === 'stdio' && is.transport === 'stdio' && sameTexts(was.env, is.env);
  const [before, after] = [writeIdentity(was), writeIdentity(isSameEnv ? { ...is, env: was.env } : is)];
  const sentence = 'The server is not the one that was locked: it is reached in another way.';
  return memberwise('identity', 'critical', sentence, before, after);
}

export function authorizationItems(was: Authorization, is: Authorization): DriftItem[] {
  const write = (one: Authorization) =>
    writeAuthorization({ ...one, scopes: one.scopes.toSorted(), headers: one.headers.toSorted() });
  const sentence =
    'The server is asked with other rights than when it was locked, and may show other things.';
  return memberwise('authorization', 'moderate', sentence, write(was), write(is));
}

/** One item for two objects that differ, with a detail for each member. */
function memberwise(
  kind: 'identity' | 'authorization',
  severity: Severity,
  sentence: string,
  before: JsonObject,
  after: JsonObject,
): DriftItem[] {
  const details = differingKeys(before, after).map(
    (key) => `${key} ${valueWords(before.get(key), after.get(key))}.`,
  );
  if (details.length === 0) return [];
  const subject: Subject = { kind, name: '', at: [kind] };
  const more = { ...sides(before, after), details };
  return [itemOf(subject, 'changed', `${kind}-changed`, severity, [], sentence, more)];
}

/**
 * The text of a command line in an old file. How it was quoted is not known, so quotes and spaces do not count.
 */
export function commandItems(was: string, identity: Identity): DriftItem[] {
  const is = commandText(identity);
  const plain = (text: string) => text.replace(/["']/g, '').split(/\s+/).filter(Boolean).join(' ');
  if (plain(was) === plain(is)) return [];
  const subject: Subject = { kind: 'identity', name: '', at: ['identity'] };
  return [valueItem(subject, 'command-changed', 'moderate', [], 'The command of the server', was, is)];
}

/** Where the server's program comes from, then and now. When it was verified does not count. */
export function artifactItems(was: Artifact | null, is: Artifact | null): DriftItem[] {
  const text = (value: unknown) =>
    JSON.stringify(value ?? null, (key, inner) => (key === 'verified_at' ? undefined : inner));
  const keys = (Object.keys({ ...was, ...is }) as (keyof Artifact)[]).filter((key) => key !== 'tree');
  const members = keys
    .filter((key) => text(was?.[key]) !== text(is?.[key]))
    .map((key) => `${key} was ${shown(text(was?.[key]))} and is now ${shown(text(is?.[key]))}`);
  const details = [...members, ...treeWords(was?.tree ?? null, is?.tree ?? null)];
  if (details.length === 0) return [];
  const subject: Subject = { kind: 'artifact', name: '', at: ['artifact'] };
  const sentence = 'The program of the server is pinned to something else.';
  return [itemOf(subject, 'changed', 'artifact-changed', 'critical', [], sentence, { details })];
}

/** What two lockfiles leave out of their digests. */
export function exclusionItems(was: Exclusions, is: Exclusions): DriftItem[] {
  const subject: Subject = { kind: 'lock', name: '', at: ['excluded'] };
  return LIST_KINDS.filter((kind) => !sameTexts(was[kind], is[kind])).map((kind) => {
    const name = `What the digests of ${kind} leave out`;
    const [before, after] = [[...was[kind]], [...is[kind]]];
    return valueItem(subject, 'exclusions-changed', 'moderate', [kind], name, before, after);
  });
}

/** Content behind addresses: icons, and pages that a host shows. */
export function contentItems(lock: Whole, current: Whole): DriftItem[] {
  let pointed: ReadonlySet<string> | undefined;
  return [...lock.contents].flatMap(([uri, was]): DriftItem[] => {
    const subject: Subject = { kind: 'content', name: uri, at: ['contents', uri] };
    // A host shows a page of the server's as its own; an icon is only looked at.
    const severity = uri.startsWith('ui://') ? 'critical' : 'moderate';
    const is = current.contents.get(uri);
    if (is === undefined) {
      pointed ??= addresses(current);
      if (!pointed.has(uri)) return [];
      const sentence = 'The content was not read this time, so nobody can say whether it changed.';
      return [itemOf(subject, 'changed', 'content-unread', severity, [], sentence, { before: was.sha256 })];
    }
    const items: DriftItem[] = [];
    if (was.sha256 !== is.sha256) {
      const hashes = { before: was.sha256, after: is.sha256 };
      const sentence = 'The content is another; only its hash was locked, so the difference cannot be shown.';
      items.push(itemOf(subject, 'changed', 'content-changed', severity, ['sha256'], sentence, { hashes }));
    }
    const [type, newType] = [was.mimeType ?? undefined, is.mimeType ?? undefined];
    if (type !== newType)
      items.push(
        valueItem(subject, 'mime-type-changed', severity, ['mimeType'], 'The media type', type, newType),
      );
    const digestOf = (meta: JsonObject | undefined) => meta && entryOf(meta).digest;
    if (digestOf(was.meta) !== digestOf(is.meta))
      items.push(
        valueItem(subject, 'meta-changed', severity, ['meta'], 'What the page may do', was.meta, is.meta),
      );
    return items;
  });
}

function addresses(whole: Whole): Set<string> {
  const lists = LIST_KINDS.map((kind) => [...whole.names(kind)].map((name) => whole.definition(kind, name)!));
  const definitions = [whole.serverInfo, ...lists.flat()];
  return new Set(definitions.flatMap((definition) => pointedContent(definition, []).map(({ uri }) => uri)));
}
