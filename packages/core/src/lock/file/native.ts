import { BullaError } from '../../error.ts';
import { JsonNumber, JsonObject, type JsonValue, pointer } from '../../json/index.ts';
import { checkExclusions, DEFAULT_EXCLUSIONS, type Entry, type Exclusions, entryOf } from './entry.ts';
import { type LockProfile, schemaOf } from './hashes.ts';
import { type Authorization, type Identity, writeAuthorization, writeIdentity } from './identity.ts';
import { pointedContent } from './pointed.ts';
import { located } from './reading.ts';
import { refuseRemoteRefs } from './remote-ref.ts';
import { keptOf, type LeftOut } from './selection.ts';
import { byKey, type Content, type Era, LIST_KINDS, type ListKind, type Surface } from './surface.ts';
import { mapSorted } from './write-released.ts';

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

interface NativeOptions {
  readonly profile: LockProfile;
  readonly identity: Identity;
  readonly authorization: Authorization;
  readonly exclude?: Partial<Exclusions>;
  /** Names of tools that are left out on purpose. */
  readonly leftOut?: ReadonlySet<string>;
}

/** What a server has one of. */
export const SINGLES = ['serverInfo', 'instructions', 'capabilities'] as const;

/**
 * Pins a surface whole. Throws `LOCK_DEFINITION` and `LOCK_DUPLICATE` (see `byKey`), `LOCK_DEFINITION`,
 * `LOCK_FIELD` for a content without a hash, and `CANON_NOT_FINITE` for a number that no double holds.
 */
export function nativeOf(whole: Surface, options: NativeOptions): Native {
  const { leftOut = new Set() } = options;
  const surface = keptOf(whole, leftOut);
  const excluded = { ...DEFAULT_EXCLUSIONS, ...options.exclude };
  for (const kind of LIST_KINDS) checkExclusions(kind, excluded[kind]);
  const list = (kind: ListKind) =>
    mapSorted(byKey(kind, surface[kind]), (definition, key) =>
      located([kind, key], () => entryOf(definition, excluded[kind])),
    );
  const single = (name: (typeof SINGLES)[number]) => located([name], () => entryOf(surface[name]));
  const entries = {
    serverInfo: single('serverInfo'),
    instructions: single('instructions'),
    capabilities: single('capabilities'),
    tools: list('tools'),
    prompts: list('prompts'),
    resources: list('resources'),
    resourceTemplates: list('resourceTemplates'),
  };
  const contents = contentsByUri(surface.contents);
  return {
    format: 1,
    profile: options.profile,
    identity: options.identity,
    authorization: options.authorization,
    era: surface.era,
    protocolVersion: surface.protocolVersion,
    excluded,
    ...entries,
    contents,
    flags: flagsOf(entries, contents),
    leftOut: leftOutOf(whole, leftOut, excluded),
  };
}

function leftOutOf(
  surface: Surface,
  names: ReadonlySet<string>,
  excluded: Exclusions,
): ReadonlyMap<string, LeftOut> {
  const out = new Map([...byKey('tools', surface.tools)].filter(([name]) => names.has(name)));
  return mapSorted(out, (definition, name) =>
    located(['tools', name], () => {
      const { digest, sourceDigest } = entryOf(definition, excluded.tools);
      return { digest, sourceDigest };
    }),
  );
}

/** The surface that a native lock stores; lists come in the order of the file. */
export function surfaceOf(native: Native): Surface {
  const list = (kind: ListKind) => [...definitionsOf(native, kind).values()];
  return {
    protocolVersion: native.protocolVersion,
    era: native.era,
    serverInfo: native.serverInfo.definition as JsonObject,
    instructions: native.instructions.definition as string | null,
    capabilities: native.capabilities.definition as JsonObject,
    tools: list('tools'),
    prompts: list('prompts'),
    resources: list('resources'),
    resourceTemplates: list('resourceTemplates'),
    contents: [...native.contents.values()],
  };
}

type Entries = Pick<Native, (typeof SINGLES)[number] | ListKind>;

/** Throws `LOCK_REMOTE_REF` for a tool with a schema that points outside itself, and `LOCK_DEFINITION`. */
export function refuseRemoteSchemas(tools: ReadonlyMap<string, JsonObject>): void {
  for (const [name, definition] of tools) {
    for (const key of ['inputSchema', 'outputSchema']) {
      const schema = schemaOf(definition, key, ['tools', name]);
      if (schema !== undefined) refuseRemoteRefs(schema, ['tools', name, key]);
    }
  }
}

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
  const entries = (map: ReadonlyMap<string, Entry>) =>
    new JsonObject([...map.keys()], [...map.values()].map(writeEntry));
  return JsonObject.from([
    ['format', new JsonNumber(String(native.format))],
    ['profile', native.profile],
    ['identity', writeIdentity(native.identity)],
    ['authorization', writeAuthorization(native.authorization)],
    ['era', native.era],
    ['protocolVersion', native.protocolVersion],
    ['excluded', JsonObject.from(LIST_KINDS.map((kind) => [kind, [...native.excluded[kind]]]))],
    ...SINGLES.map((name): [string, JsonValue] => [name, writeEntry(native[name])]),
    ...LIST_KINDS.map((kind): [string, JsonValue] => [kind, entries(native[kind])]),
    [
      'contents',
      new JsonObject([...native.contents.keys()], [...native.contents.values()].map(writeContent)),
    ],
    ['flags', native.flags.map((flag) => JsonObject.from(Object.entries(flag)))],
    ...(native.leftOut.size === 0 ? [] : [leftOutMember(native.leftOut)]),
  ]);
}

function leftOutMember(leftOut: Native['leftOut']): [string, JsonValue] {
  const digests = [...leftOut.values()].map(({ digest, sourceDigest }) =>
    sourceDigest === null
      ? new JsonObject(['digest'], [digest])
      : new JsonObject(['digest', 'sourceDigest'], [digest, sourceDigest]),
  );
  return ['leftOut', new JsonObject(['tools'], [new JsonObject([...leftOut.keys()], digests)])];
}

function writeEntry({ digest, sourceDigest, definition }: Entry): JsonObject {
  return sourceDigest === null
    ? new JsonObject(['digest', 'definition'], [digest, definition])
    : new JsonObject(['digest', 'sourceDigest', 'definition'], [digest, sourceDigest, definition]);
}

function writeContent({ sha256, mimeType, meta }: Content): JsonObject {
  return meta === undefined
    ? new JsonObject(['sha256', 'mimeType'], [sha256, mimeType])
    : new JsonObject(['sha256', 'mimeType', 'meta'], [sha256, mimeType, meta]);
}
