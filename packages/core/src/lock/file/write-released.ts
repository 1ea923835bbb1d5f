import { sortNames } from '../../canon/index.ts';
import { JsonObject, type JsonValue } from '../../json/index.ts';
import { goIndented } from './go-json.ts';
import { HASHED_KINDS, type HashedKind, type Hashes, hashDefinition, type LockProfile } from './hashes.ts';
import { type Artifact, writeArtifact } from './package.ts';
import { NATIVE_KEY } from './released.ts';

// Writing what the released program writes, byte for byte: struct fields in their declared order, map keys by
// the bytes of their UTF-8.

/** The hashes that a lockfile holds, each map in the order of the file. */
export type HashedLists = Readonly<Record<HashedKind, ReadonlyMap<string, Hashes>>>;

/** Hashes every definition. Throws what `hashDefinition` throws, with the path. */
export function hashDefinitions(
  definitionsOf: (kind: HashedKind) => ReadonlyMap<string, JsonObject>,
  rule: LockProfile,
): HashedLists {
  const hashed = HASHED_KINDS.map((kind) => [
    kind,
    mapSorted(definitionsOf(kind), (definition, name) =>
      hashDefinition(kind, definition, rule, [kind, name]),
    ),
  ]);
  return Object.fromEntries(hashed);
}

/** Maps the values, keys in the order of their UTF-8 bytes. */
export function mapSorted<From, To>(
  from: ReadonlyMap<string, From>,
  change: (value: From, key: string) => To,
): Map<string, To> {
  return new Map(sortNames([...from.keys()], 'mcptrust-v1').map((key) => [key, change(from.get(key)!, key)]));
}

/** A file of version 1 or 2. It ends without a newline, as the released program leaves it. */
export function writeV2(
  version: '1.0' | '2.0',
  serverCommand: string,
  artifact: Artifact | null,
  tools: HashedLists['tools'],
): string {
  return goIndented(
    record({
      version,
      server_command: serverCommand,
      artifact: artifact && writeArtifact(artifact),
      tools: toObject(tools),
    }),
  );
}

/** A file of version 3, with our own key at its end where `native` is given. It ends with one newline. */
export function writeV3(
  meta: { readonly generator: string; readonly updatedAt: string },
  server: { readonly name: string; readonly artifact: Artifact | null },
  { tools, prompts, resourceTemplates }: HashedLists,
  native: JsonObject | null,
): string {
  const document = record({
    lockFileVersion: '3.0',
    meta: record({ generator: meta.generator, updatedAt: meta.updatedAt }),
    server: record({ name: server.name, artifact: server.artifact && writeArtifact(server.artifact) }),
    prompts: record({ definitions: toObject(prompts) }),
    resources: record({
      templates: [...resourceTemplates.values()].map((template) => record({ ...template })),
    }),
    tools: toObject(tools),
    [NATIVE_KEY]: native,
  });
  return `${goIndented(document)}\n`;
}

/** An object without the members that are null: none of the released program's fields is ever null. */
function record(members: Readonly<Record<string, JsonValue>>): JsonObject {
  return JsonObject.from(Object.entries(members).filter(([, value]) => value !== null));
}

function toObject<Value extends object>(map: ReadonlyMap<string, Value>): JsonObject {
  return new JsonObject(
    [...map.keys()],
    [...map.values()].map((value) => record({ ...value } as Record<string, JsonValue>)),
  );
}
