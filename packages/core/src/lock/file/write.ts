import { BullaError } from '../../error.ts';
import { JsonObject, type JsonValue } from '../../json/index.ts';
import { DEFAULT_EXCLUSIONS, type Exclusions } from './entry.ts';
import { goIndented } from './go-json.ts';
import { type Hashes, hashDefinitions, type LockProfile, rulesPart, textOf } from './hashes.ts';
import { type Authorization, commandText, type Identity, NO_AUTHORIZATION } from './identity.ts';
import { type Native, nativeOf, writeNative } from './native.ts';
import { type Artifact, writeArtifact } from './package.ts';
import { NATIVE_KEY } from './released.ts';
import { refuseRemoteSchemas } from './remote-ref.ts';
import { lockedSurface } from './selection.ts';
import { byKey, type Surface } from './surface.ts';

// Version 1 to 3 have the released program's bytes: struct fields in their declared order, map keys by the bytes of
// their UTF-8.

export interface WriteLockOptions {
  /**
   * `native` is version 3 with our own key, and serves every command. `v1`, `v2` and `v3` are exactly what
   * the released program writes. Default `native`.
   */
  readonly format?: 'native' | 'v3' | 'v2' | 'v1';
  /** Hash schemas by the released program's number rule (`mcptrust-v1-go`), not the seed's. Default false. */
  readonly compatGo?: boolean;
  /** The program and its version; version 3 has it in `meta`. */
  readonly generator: string;
  /** Now, for version 3, in whole seconds. */
  readonly updatedAt: Date;
  readonly identity: Identity;
  /** Default: none. */
  readonly authorization?: Authorization;
  /** Where the server's program comes from; version 1 has no place for it. */
  readonly artifact?: Artifact;
  /** Other members to leave out of the digests of a list, instead of the default ones. */
  readonly exclude?: Partial<Exclusions>;
  /**
   * Names of tools that are left out on purpose: `drift` tells them from new ones. The released program's formats have
   * no place for that.
   */
  readonly leftOut?: ReadonlySet<string>;
}

/** Something that whoever makes a lock should know. */
export interface LockWarning {
  /**
   * `number-rule`: the seed's and the released program's hashes of a schema differ; `content-unpinned`: what
   * an address leads to can change unnoticed; `url-query`: the address of the server is stored with its
   * query; `install-script`: a pinned package has scripts for its installation, and they never run.
   */
  readonly code: 'number-rule' | 'content-unpinned' | 'url-query' | 'install-script';
  /** The tool, where it is about one. */
  readonly tool: string | null;
  readonly message: string;
}

/**
 * Locks a surface: the text of the lockfile, and what should be said about it. The same surface and options
 * give the same text. Throws with the path: `LOCK_DEFINITION` and `LOCK_CASE_TWIN` for definitions that
 * cannot be read in one way, `LOCK_DUPLICATE` for two of one name, `LOCK_REMOTE_REF` for a schema that points
 * outside itself, `LOCK_IDENTITY`, `LOCK_SELECTION`, `USAGE`, `CANON_NOT_FINITE` for a number that no double holds,
 * `VALUE_TOO_DEEP`.
 */
export function writeLock(
  surface: Surface,
  options: WriteLockOptions,
): { readonly text: string; readonly warnings: readonly LockWarning[] } {
  const {
    format = 'native',
    identity,
    artifact = null,
    authorization = NO_AUTHORIZATION,
    leftOut = new Set(),
  } = options;
  if (leftOut.size > 0 && format !== 'native') {
    const message = 'Only the native format says which tools are left out on purpose.';
    throw new BullaError('LOCK_SELECTION', message);
  }
  const locked = lockedSurface(surface, leftOut);
  const profile: LockProfile = options.compatGo === true ? 'mcptrust-v1-go' : 'mcptrust-v1';
  const tools = byKey('tools', locked.tools);
  refuseRemoteSchemas(tools);
  const hashes = hashDefinitions((kind) => byKey(kind, locked[kind]), profile);
  const warnings = numberWarnings(tools, profile);
  const program = artifact && writeArtifact(artifact);
  if (format === 'v1' || format === 'v2') {
    if (format === 'v1' && artifact !== null)
      throw new BullaError('LOCK_FIELD', 'Version 1 has no artifact.', { path: '/artifact' });
    const document = record({
      version: format === 'v1' ? '1.0' : '2.0',
      server_command: commandText(identity),
      artifact: program,
      tools: toObject(hashes.tools),
    });
    // The released program ends these without a newline, and version 3 with one.
    return { text: goIndented(document), warnings };
  }
  const excluded = { ...DEFAULT_EXCLUSIONS, ...options.exclude };
  const native =
    format === 'v3' ? null : nativeOf(surface, leftOut, { profile, identity, authorization, excluded });
  const document = record({
    lockFileVersion: '3.0',
    meta: record({ generator: options.generator, updatedAt: rfc3339(options.updatedAt) }),
    server: record({ name: textOf(surface.serverInfo, 'name', ['serverInfo']), artifact: program }),
    prompts: record({ definitions: toObject(hashes.prompts) }),
    resources: record({ templates: [...hashes.resourceTemplates.values()].map(toRecord) }),
    tools: toObject(hashes.tools),
    [NATIVE_KEY]: native && writeNative(native),
  });
  return {
    text: `${goIndented(document)}\n`,
    warnings: [...warnings, ...(native ? nativeWarnings(native) : [])],
  };
}

/** An object without the members that are null: none of the released program's fields is ever null. */
function record(members: Readonly<Record<string, JsonValue>>): JsonObject {
  return JsonObject.from(Object.entries(members).filter(([, value]) => value !== null));
}

function toRecord(hashes: Hashes): JsonObject {
  return record({ ...hashes });
}

function toObject(map: ReadonlyMap<string, Hashes>): JsonObject {
  return new JsonObject([...map.keys()], Array.from(map.values(), toRecord));
}

/** As Go writes RFC 3339 in UTC. */
function rfc3339(moment: Date): string {
  const text = Number.isNaN(moment.getTime()) ? '' : moment.toISOString();
  if (text.length !== 24)
    throw new BullaError('USAGE', 'The time of the lock lies in no year from 0 to 9999.');
  return `${text.slice(0, -5)}Z`;
}

function numberWarnings(tools: ReadonlyMap<string, JsonObject>, profile: LockProfile): LockWarning[] {
  const other = profile === 'mcptrust-v1' ? 'the released program' : 'the lock specification';
  return [...tools]
    .filter(([name, tool]) => rulesPart(tool, ['tools', name]))
    .map(([tool]) => {
      const quoted = JSON.stringify(tool);
      const message = `A number in the schema of ${quoted} makes ${other} compute another hash than ${profile}.`;
      return { code: 'number-rule', tool, message };
    });
}

function nativeWarnings({ flags, identity }: Native): LockWarning[] {
  const warnings: LockWarning[] = flags.map(({ at, uri }) => ({
    code: 'content-unpinned',
    tool: null,
    message: `What lies behind ${JSON.stringify(uri)} (${at}) is not pinned and can change unnoticed.`,
  }));
  if (identity.transport === 'http' && new URL(identity.url).search !== '') {
    const message = 'The address of the server is stored with its query; see that it holds no secret.';
    warnings.push({ code: 'url-query', tool: null, message });
  }
  return warnings;
}
