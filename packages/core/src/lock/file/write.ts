import { BullaError } from '../../error.ts';
import type { JsonObject } from '../../json/index.ts';
import { DEFAULT_EXCLUSIONS, type Exclusions } from './entry.ts';
import { type LockProfile, rulesPart, textOf } from './hashes.ts';
import { type Authorization, commandText, type Identity, NO_AUTHORIZATION } from './identity.ts';
import { type Native, nativeOf, refuseRemoteSchemas, writeNative } from './native.ts';
import type { Artifact } from './package.ts';
import { lockedSurface } from './selection.ts';
import { byKey, type Surface } from './surface.ts';
import { hashDefinitions, writeV2, writeV3 } from './write-released.ts';

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
 * outside itself, `LOCK_IDENTITY`, `LOCK_DEFINITION`, `LOCK_SELECTION`, `USAGE`, `CANON_NOT_FINITE` for a number that no
 * double holds, `VALUE_TOO_DEEP`.
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
  if (format === 'v1' || format === 'v2') {
    const command = commandText(identity);
    if (format === 'v1' && artifact !== null)
      throw new BullaError('LOCK_FIELD', 'Version 1 has no artifact.', { path: '/artifact' });
    return { text: writeV2(format === 'v1' ? '1.0' : '2.0', command, artifact, hashes.tools), warnings };
  }
  const meta = { generator: options.generator, updatedAt: rfc3339(options.updatedAt) };
  const server = { name: textOf(surface.serverInfo, 'name', ['serverInfo']), artifact };
  if (format === 'v3') return { text: writeV3(meta, server, hashes, null), warnings };
  const excluded = { ...DEFAULT_EXCLUSIONS, ...options.exclude };
  const native = nativeOf(surface, leftOut, { profile, identity, authorization, excluded });
  const text = writeV3(meta, server, hashes, writeNative(native));
  return { text, warnings: [...warnings, ...nativeWarnings(native)] };
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
