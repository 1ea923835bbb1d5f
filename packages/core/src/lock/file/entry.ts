import { digest } from '../../canon/index.ts';
import { BullaError } from '../../error.ts';
import { isDouble, JsonNumber, JsonObject, type JsonValue, parsePointer } from '../../json/index.ts';
import type { ListKind } from './surface.ts';
import { walk } from './walk.ts';

/** A definition that the lock stores whole, with the digest by which it is known. */
export interface Entry {
  /** `sha256:` and the SHA-256 of the RFC 8785 form of the definition without its excluded members. */
  readonly digest: string;
  /**
   * The same over `mcptrust-v1`, which keeps numbers in their digits. Only there where a number has more
   * digits than RFC 8785 keeps, so that it could change under an unchanged digest; else null.
   */
  readonly sourceDigest: string | null;
  readonly definition: JsonValue;
}

/** JSON Pointers to members, of objects only, that the digest of each definition of a list leaves out. */
export type Exclusions = Readonly<Record<ListKind, readonly string[]>>;

/** What changes while a server runs and says nothing of what it does. */
export const DEFAULT_EXCLUSIONS: Exclusions = {
  tools: [],
  prompts: [],
  resources: ['/annotations/lastModified', '/size'],
  resourceTemplates: ['/annotations/lastModified'],
};

/**
 * Members that no exclusion may reach: the released program hashes them, or definitions are known by them.
 */
const PINNED: Readonly<Record<ListKind, readonly string[]>> = {
  tools: ['name', 'description', 'inputSchema'],
  prompts: ['name', 'description', 'arguments'],
  resources: ['uri'],
  resourceTemplates: ['uriTemplate', 'name', 'description', 'mimeType'],
};

/** Throws `LOCK_DEFINITION` for what is no JSON Pointer below the root, or reaches what must be pinned. */
export function checkExclusions(kind: ListKind, pointers: readonly string[]): void {
  for (const pointer of pointers) {
    const [head] = parsePointer(pointer) ?? [];
    if (head === undefined || PINNED[kind].includes(head)) {
      const message = `${JSON.stringify(pointer)} cannot be left out of the digests of ${kind}.`;
      throw new BullaError('LOCK_DEFINITION', message);
    }
  }
  if (new Set(pointers).size !== pointers.length)
    throw new BullaError('LOCK_DEFINITION', `An exclusion of ${kind} is named twice.`);
}

/** Digests a definition. Throws `CANON_NOT_FINITE` for a number that no double holds. */
export function entryOf(definition: JsonValue, exclusions: readonly string[] = []): Entry {
  const part = exclusions.reduce((value, pointer) => without(value, parsePointer(pointer)!), definition);
  return {
    digest: `sha256:${digest(part, 'jcs')}`,
    sourceDigest: isExact(part) ? null : `sha256:${digest(part, 'mcptrust-v1')}`,
    definition,
  };
}

/**
 * The value without one member; a pointer that leads nowhere changes nothing. As deep as the pointer is long.
 */
function without(value: JsonValue, [key, ...rest]: readonly string[]): JsonValue {
  if (key === undefined || !(value instanceof JsonObject) || !value.has(key)) return value;
  const members = [...value].filter(([name]) => rest.length > 0 || name !== key);
  return JsonObject.from(
    members.map(([name, member]) => [name, name === key ? without(member, rest) : member]),
  );
}

/** Whether every number is, to the last digit, the one that RFC 8785 writes. */
function isExact(root: JsonValue): boolean {
  let exact = true;
  walk([root], (value) => {
    if (value instanceof JsonNumber && !isDouble(value.lexeme)) exact = false;
  });
  return exact;
}
