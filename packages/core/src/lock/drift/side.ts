import type { JsonObject } from '../../json/index.ts';
import { type Entry, type Exclusions, entryOf } from '../file/entry.ts';
import type { Lock } from '../file/lock.ts';
import type { Native } from '../file/native.ts';
import { located } from '../file/reading.ts';
import type { LeftOut } from '../file/selection.ts';
import { byKey, type Content, type Era, forLists, type ListKind, type Surface } from '../file/surface.ts';

/** One side of a comparison that is known whole. */
export interface Whole {
  readonly protocolVersion: string;
  readonly era: Era;
  readonly serverInfo: JsonObject;
  readonly instructions: string | null;
  readonly capabilities: JsonObject;
  readonly contents: ReadonlyMap<string, Content>;
  /** Tools that a lock leaves out on purpose; a surface leaves out none. */
  readonly leftOut: ReadonlyMap<string, LeftOut>;
  names(kind: ListKind): Iterable<string>;
  definition(kind: ListKind, name: string): JsonObject | undefined;
  /** The definition with its digest, under the exclusions of the comparison. */
  entry(kind: ListKind, name: string): Entry | undefined;
}

export function isLock(side: Surface | Lock): side is Lock {
  return 'document' in side;
}

/** What a side tells whole, or null when it is a lock that holds hashes alone. Throws as `byKey` does. */
export function wholeOf(side: Surface | Lock, exclusions: Exclusions): Whole | null {
  if (!isLock(side)) return ofSurface(side, exclusions);
  return side.native === null ? null : ofNative(side.native, exclusions);
}

function ofNative(native: Native, exclusions: Exclusions): Whole {
  const same = forLists((kind) => sameTexts(native.excluded[kind], exclusions[kind]));
  const { protocolVersion, era, contents, leftOut } = native;
  return {
    ...{ protocolVersion, era, contents, leftOut },
    serverInfo: native.serverInfo.definition as JsonObject,
    instructions: native.instructions.definition as string | null,
    capabilities: native.capabilities.definition as JsonObject,
    names: (kind) => native[kind].keys(),
    definition: (kind, name) => native[kind].get(name)?.definition as JsonObject | undefined,
    entry(kind, name) {
      const entry = native[kind].get(name);
      return entry === undefined || same[kind] ? entry : entryOf(entry.definition, exclusions[kind]);
    },
  };
}

function ofSurface(surface: Surface, exclusions: Exclusions): Whole {
  const lists = forLists((kind) => byKey(kind, surface[kind]));
  const { protocolVersion, era, serverInfo, instructions, capabilities, contents } = surface;
  return {
    ...{ protocolVersion, era, serverInfo, instructions, capabilities },
    contents: new Map(contents.map((content) => [content.uri, content])),
    leftOut: new Map(),
    names: (kind) => lists[kind].keys(),
    definition: (kind, name) => lists[kind].get(name),
    entry(kind, name) {
      const definition = lists[kind].get(name);
      if (definition === undefined) return undefined;
      return located([kind, name], () => entryOf(definition, exclusions[kind]));
    },
  };
}

/** Whether two lists hold the same texts, in any order. */
export function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  const [one, other] = [new Set(a), new Set(b)];
  return one.size === other.size && [...one].every((text) => other.has(text));
}
