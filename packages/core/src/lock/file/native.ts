import { BullaError } from '../../error.ts';
import { JsonNumber, JsonObject, type JsonValue, pointer } from '../../json/index.ts';
import { checkExclusions, type Entry, type Exclusions, entryOf } from './entry.ts';
import { type LockProfile, mapSorted } from './hashes.ts';
import { type Authorization, type Identity, writeAuthorization, writeIdentity } from './identity.ts';
import { pointedContent } from './pointed.ts';
import { located } from './reading.ts';
import { type LeftOut, lockedSurface } from './selection.ts';
import {
  byKey,
  type Content,
  type Era,
  forLists,
  LIST_KINDS,
  type ListKind,
  type Surface,
} from './surface.ts';

/** What our own key holds: all that version 3 lacks. */
export interface Native {
  readonly format: 1;
  /** The number rule of the file's `input_schema_hash`es. */
  readonly profile: LockProfile;
  readonly identity: Identity;
  readonly authorization: Authorization;
  readonly era: Era;
  readonly protocolVersion: string;
  readonly excluded: Exclusions;
  readonly serverInfo: Entry;
  readonly instructions: Entry;
  readonly capabilities: Entry;
  readonly tools: ReadonlyMap<string, Entry>;
  readonly prompts: ReadonlyMap<string, Entry>;
  readonly resources: ReadonlyMap<string, Entry>;
  readonly resourceTemplates: ReadonlyMap<string, Entry>;
  readonly contents: ReadonlyMap<string, Content>;
  readonly flags: readonly Flag[];
  /** Tools that the server offered and nobody approved, by name. */
  readonly leftOut: ReadonlyMap<string, LeftOut>;
}

/** Something that the lock could not pin. */
export interface Flag {
  readonly code: 'content-unpinned';
  /** JSON Pointer into our key, leaving out the steps `definition`. */
  readonly at: string;
  readonly uri: string;
}

/** What a server has one of. */
export const SINGLES = ['serverInfo', 'instructions', 'capabilities'] as const;

/**
 * Pins a surface whole, without the tools in `leftOut`, of which it keeps the digests. Throws `LOCK_DEFINITION` and
 * `LOCK_DUPLICATE` (see `byKey`), `LOCK_FIELD` for a content without a hash, and `CANON_NOT_FINITE` for a number that
 * no double holds.
 */
export function nativeOf(
  surface: Surface,
  leftOut: ReadonlySet<string>,
  options: Pick<Native, 'profile' | 'identity' | 'authorization' | 'excluded'>,
): Native {
  const { excluded } = options;
  for (const kind of LIST_KINDS) checkExclusions(kind, excluded[kind]);
  const locked = lockedSurface(surface, leftOut);
  const list = (kind: ListKind, definitions: ReadonlyMap<string, JsonObject>) =>
    mapSorted(definitions, (definition, key) =>
      located([kind, key], () => entryOf(definition, excluded[kind])),
    );
  const single = (name: (typeof SINGLES)[number]) => located([name], () => entryOf(surface[name]));
  const entries = {
    serverInfo: single('serverInfo'),
    instructions: single('instructions'),
    capabilities: single('capabilities'),
    ...forLists((kind) => list(kind, byKey(kind, locked[kind]))),
  };
  const contents = contentsByUri(locked.contents);
  const out = [...byKey('tools', surface.tools)].filter(([name]) => leftOut.has(name));
  return {
    format: 1,
    ...options,
    era: surface.era,
    protocolVersion: surface.protocolVersion,
    ...entries,
    contents,
    flags: flagsOf(entries, contents),
    leftOut: list('tools', new Map(out)),
  };
}

/** The surface that a native lock stores; lists come in the order of the file. */
export function surfaceOf(native: Native): Surface {
  return {
    protocolVersion: native.protocolVersion,
    era: native.era,
    serverInfo: native.serverInfo.definition as JsonObject,
    instructions: native.instructions.definition as string | null,
    capabilities: native.capabilities.definition as JsonObject,
    ...forLists((kind) => [...definitionsOf(native, kind).values()]),
    contents: [...native.contents.values()],
  };
}

type Entries = Pick<Native, (typeof SINGLES)[number] | ListKind>;

function contentsByUri(contents: readonly Content[]): Map<string, Content> {
  const found = new Map<string, Content>();
  for (const content of contents) {
    if (found.has(content.uri))
      throw new BullaError('LOCK_DUPLICATE', `Two contents have the address ${JSON.stringify(content.uri)}.`);
    if (!/^[0-9a-f]{64}$/.test(content.sha256))
      throw new BullaError('LOCK_FIELD', 'A content is pinned by 64 lower-case hex digits.');
    found.set(content.uri, content);
  }
  return mapSorted(found, (content) => content);
}

/** Flags every address to content that is not pinned. */
export function flagsOf(entries: Entries, contents: ReadonlyMap<string, Content>): Flag[] {
  const pointed = [
    ...SINGLES.flatMap((name) => pointedContent(entries[name].definition, [name])),
    ...LIST_KINDS.flatMap((kind) =>
      [...entries[kind]].flatMap(([key, { definition }]) => pointedContent(definition, [kind, key])),
    ),
  ];
  return pointed
    .filter(({ uri }) => !contents.has(uri))
    .map(({ uri, at }) => ({ code: 'content-unpinned', at: pointer(at), uri }));
}

/** The definitions of a list, by name. */
export function definitionsOf(native: Native, kind: ListKind): Map<string, JsonObject> {
  return new Map([...native[kind]].map(([key, { definition }]) => [key, definition as JsonObject]));
}

/** The value of our key in the file. Throws `LOCK_IDENTITY`. */
export function writeNative(native: Native): JsonObject {
  const { leftOut } = native;
  return JsonObject.from([
    ['format', new JsonNumber(String(native.format))],
    ['profile', native.profile],
    ['identity', writeIdentity(native.identity)],
    ['authorization', writeAuthorization(native.authorization)],
    ['era', native.era],
    ['protocolVersion', native.protocolVersion],
    ['excluded', JsonObject.from(LIST_KINDS.map((kind) => [kind, [...native.excluded[kind]]]))],
    ...SINGLES.map((name): Written => [name, writeEntry(native[name])]),
    ...LIST_KINDS.map((kind): Written => [kind, writeMap(native[kind], writeEntry)]),
    ['contents', writeMap(native.contents, writeContent)],
    ['flags', native.flags.map((flag) => JsonObject.from(Object.entries(flag)))],
    ...(leftOut.size === 0 ? [] : [['leftOut', writeLeftOut(leftOut)] satisfies Written]),
  ]);
}

type Written = [string, JsonValue];

function writeMap<Value>(map: ReadonlyMap<string, Value>, write: (value: Value) => JsonObject): JsonObject {
  return new JsonObject([...map.keys()], Array.from(map.values(), write));
}

function writeDigests({ digest, sourceDigest }: LeftOut): Written[] {
  return [
    ['digest', digest],
    ...(sourceDigest === null ? [] : [['sourceDigest', sourceDigest] satisfies Written]),
  ];
}

function writeEntry(entry: Entry): JsonObject {
  return JsonObject.from([...writeDigests(entry), ['definition', entry.definition]]);
}

function writeLeftOut(leftOut: Native['leftOut']): JsonObject {
  return new JsonObject(['tools'], [writeMap(leftOut, (tool) => JsonObject.from(writeDigests(tool)))]);
}

function writeContent({ sha256, mimeType, meta }: Content): JsonObject {
  return JsonObject.from(Object.entries({ sha256, mimeType, ...(meta && { meta }) }));
}
