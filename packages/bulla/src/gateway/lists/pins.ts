import { canonicalize } from '@bulla/core/canon';
import { JsonNumber, JsonObject, type JsonValue, memberAt, parse, parsePointer } from '@bulla/core/json';
import {
  type Content,
  type Entry,
  entryOf,
  hashPrompt,
  hashTemplate,
  hashTool,
  type ListKind,
  type Lock,
  lockDigest,
} from '@bulla/core/lock';
import { skeleton } from '@bulla/core/text';
import { addressKey } from './uri.ts';

/** How a definition that a server offers stands to the lock. */
export interface Verdict {
  readonly status: 'same' | 'changed' | 'unlocked';
  /** The digest of what was offered; null where it has none. */
  readonly digest: string | null;
}

/** A lock of the released program holds no capabilities: these are what its lists need. */
const RELEASED_CAPABILITIES = parse(
  '{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}}',
) as JsonObject;

/** What a lock permits, in the form in which the gates ask for it. */
export type Pins = ReturnType<typeof pinsOf>;

/**
 * Reads a lock for the gateway. One of the released program pins what it pins: of tools the description and input
 * schema, of prompts and templates some members, of resources and instructions nothing, so that none of these pass
 * (but see `pinResources`).
 */
export function pinsOf(lock: Lock) {
  const { native } = lock;
  const inFile = lock.document.get('tools');
  /** Of a lock that pins none: those of the first complete list, where the operator allows that. */
  const listed = new Map<string, Entry>();
  let isListed = false;
  const lists: Record<ListKind, ReadonlyMap<string, unknown>> = native ?? {
    tools: lock.tools,
    prompts: lock.prompts ?? new Map(),
    resources: listed,
    resourceTemplates: lock.resourceTemplates ?? new Map(),
  };
  const isSame =
    native === null
      ? (kind: ListKind, key: string, definition: JsonObject) =>
          kind === 'resources'
            ? isSameEntry(listed.get(key)!, entryOf(definition))
            : hashesAgree(lock, kind, key, definition)
      : (kind: ListKind, key: string, definition: JsonObject) => {
          const [one, other] = [native[kind].get(key)!, entryOf(definition, native.excluded[kind])];
          if (!isSameEntry(one, other)) return false;
          return native.excluded[kind].every((pointer) => isPlain(at(definition, pointer)));
        };
  const contents = [...(native?.contents.values() ?? [])];
  const likeness = new Map(contents.map((content) => [addressKey(content.uri), content]));
  const owned = perKind((kind) => new Map([...lists[kind].keys()].map((key) => [key, key])));
  const looks = perKind((kind) => new Map([...lists[kind].keys()].map((key) => [skeleton(key), key])));
  return {
    /** The digest by which capsules name the lock. */
    lock: lockDigest(lock),
    verdictOn(kind: ListKind, key: string, definition: JsonObject): Verdict {
      const digest = attempt(() => entryOf(definition, native?.excluded[kind]).digest);
      if (!lists[kind].has(key)) return { status: 'unlocked', digest };
      const same = digest !== null && attempt(() => isSame(kind, key, definition)) === true;
      return { status: same ? 'same' : 'changed', digest };
    },
    has: (kind: ListKind, key: string): boolean => lists[kind].has(key),
    keys: (kind: ListKind): Iterable<string> => lists[kind].keys(),
    /** The lock's own text of a key that it has. */
    own: (kind: ListKind, key: string): string | undefined => owned.of(kind).get(key),
    /** Whether the lock's file holds a tool that does not pass here (`narrowed`). */
    isLeftOut: (kind: ListKind, key: string): boolean =>
      kind === 'tools' && !lists.tools.has(key) && inFile instanceof JsonObject && inFile.has(key),
    /** A locked key that could be taken for this one, which is not locked. */
    lookAlike: (kind: ListKind, key: string): string | undefined => looks.of(kind).get(skeleton(key)),
    /** With a lock that pins no resources, from now on it pins these, and the first call counts. */
    pinResources(definitions: readonly JsonObject[]): void {
      if (native !== null || isListed) return;
      isListed = true;
      for (const definition of definitions) listed.set(definition.get('uri') as string, entryOf(definition));
      owned.forget('resources');
      looks.forget('resources');
    },
    instructions: (native?.instructions.definition ?? null) as string | null,
    capabilities: (native?.capabilities.definition ?? RELEASED_CAPABILITIES) as JsonObject,
    serverInfo: (native?.serverInfo.definition ?? new JsonObject()) as JsonObject,
    /** Whether the content of some address is pinned. */
    hasContents: contents.length > 0,
    /** The content that is pinned for an address, or for one that a reader could take for it (see `addressKey`). */
    contentLike(uri: string): Content | undefined {
      if (contents.length === 0) return undefined;
      const key = addressKey(uri);
      // An address that hides its target could be any of them.
      return native!.contents.get(uri) ?? (key === null ? contents[0] : likeness.get(key));
    },
  };
}

/** Whether two values have the same canonical form; false for what has none. */
export function isSameJson(a: JsonValue, b: JsonValue): boolean {
  return attempt(() => canonicalize(a, 'mcptrust-v1') === canonicalize(b, 'mcptrust-v1')) === true;
}

/** Computes a value for each list, once, when it is first needed. */
function perKind<Value>(make: (kind: ListKind) => Value) {
  const made = new Map<ListKind, Value>();
  return {
    of(kind: ListKind): Value {
      if (!made.has(kind)) made.set(kind, make(kind));
      return made.get(kind)!;
    },
    forget: (kind: ListKind): void => void made.delete(kind),
  };
}

function isSameEntry(one: Entry, other: Entry): boolean {
  return one.digest === other.digest && one.sourceDigest === other.sourceDigest;
}

/** As the digest leaves it out: an exclusion leads through objects only. */
const at = (definition: JsonValue, exclusion: string) => memberAt(definition, parsePointer(exclusion)!);

/** An excluded member may be a number or a date, but no text, which could carry a message. */
function isPlain(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return /^[0-9TZ:.+-]{1,40}$/.test(value);
  return value === undefined || value instanceof JsonNumber;
}

/** Null for a definition that cannot be digested; no such definition was locked. */
function attempt<Result>(run: () => Result): Result | null {
  try {
    return run();
  } catch {
    return null;
  }
}

function hashesAgree(lock: Lock, kind: ListKind, key: string, definition: JsonObject): boolean {
  if (kind === 'tools') {
    const locked = lock.tools.get(key)!;
    return lock.profiles.some((profile) => sameMembers(locked, hashTool(definition, profile)));
  }
  if (kind === 'prompts') return sameMembers(lock.prompts!.get(key)!, hashPrompt(definition));
  return sameMembers(lock.resourceTemplates!.get(key)!, hashTemplate(definition));
}

function sameMembers<Hashes extends object>(locked: Hashes, offered: Hashes): boolean {
  return (Object.keys(offered) as (keyof Hashes)[]).every((name) => locked[name] === offered[name]);
}
