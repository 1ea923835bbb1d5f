import { randomUUID } from 'node:crypto';
import type { CapsuleInput, SealedCapsule } from '@bulla/core/capsule';
import { type Declared, decide, stateOf } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import {
  diffManifests,
  type Manifest,
  type ManifestDiff,
  ManifestError,
  type ManifestProblem,
  nextVersion,
  validateManifest,
} from '@bulla/core/manifest';
import { createQueue, untilSettled } from '../os/index.ts';
import type { Store } from '../store/index.ts';
import { declaredOf } from './declared.ts';
import {
  addVersion,
  agentNames,
  allVersions,
  declaredRow,
  keyed,
  oneVersion,
  readContent,
  type StoredVersion,
} from './rows.ts';

export interface PushOptions {
  /** Makes a retry safe: the same key is one version, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
  /** Who pushes; it goes into the record. */
  readonly by: string;
  /** The chain into which that is sealed. */
  readonly chain: string;
}

/** A version with its content. */
export interface CurrentManifest extends StoredVersion {
  readonly manifest: Manifest;
}

export interface Pushed extends CurrentManifest {
  /** What changed since the version before it; null for the first one. */
  readonly diff: ManifestDiff | null;
  readonly warnings: readonly ManifestProblem[];
  /** Whether the key was used before: then nothing is stored or sealed, and this is what came of it the first time. */
  readonly repeated: boolean;
  readonly capsule: SealedCapsule | null;
}

export interface Manifests {
  /**
   * Accepts a manifest as the next version of the agent's, one more than the last, also for the same content, and
   * seals that. When it breaks with the one before it, what people granted rests until they have reviewed it. Rejects
   * with a `ManifestError` that has all problems, `MANIFEST_AGENT` and `MANIFEST_KEY` for a name that is none,
   * `MANIFEST_KEY_REUSED` for a key that came with other content, `MANIFEST_STORED`, and as appending to a chain does.
   * The stored version is untouched then.
   */
  push(agent: string, text: string | Uint8Array, options: PushOptions): Promise<Pushed>;
  /** Null for an agent without a manifest. Rejects with `MANIFEST_STORED`, as `version` does. */
  current(agent: string): Promise<CurrentManifest | null>;
  version(agent: string, version: number): Promise<CurrentManifest | null>;
  /** All of them, the first one first. */
  versions(agent: string): Promise<readonly StoredVersion[]>;
  agents(): Promise<readonly string[]>;
}

export interface ManifestsOptions {
  /** Unix time in milliseconds. Default: the system's clock. */
  readonly now?: () => number;
}

const KEY = /^[\x21-\x7e]{1,255}$/;
const MAX_AGENT = 512;

export function createManifests(store: Store, { now = Date.now }: ManifestsOptions = {}): Manifests {
  const { reading } = store;
  const inTurn = createQueue();

  const withContent = async (version: StoredVersion | null): Promise<CurrentManifest | null> =>
    version === null ? null : { ...version, manifest: await readContent(reading, version.hash) };

  const repeated = async (
    agent: string,
    key: string,
    manifest: Manifest,
    warnings: readonly ManifestProblem[],
  ): Promise<Pushed | null> => {
    const found = await keyed(reading, agent, key);
    if (found === null) return null;
    if (found.hash !== manifest.hash)
      throw new BullaError('MANIFEST_KEY_REUSED', 'The idempotency key came with another manifest before.');
    const version = (await oneVersion(reading, agent, found.version))!;
    const before = await oneVersion(reading, agent, version.version - 1);
    const diff = before === null ? null : diffManifests(await readContent(reading, before.hash), manifest);
    return { ...version, manifest, diff, warnings, repeated: true, capsule: null };
  };

  const attempt = async (
    agent: string,
    manifest: Manifest,
    warnings: readonly ManifestProblem[],
    options: PushOptions,
  ): Promise<Pushed> => {
    const idempotencyKey = options.idempotencyKey ?? null;
    if (idempotencyKey !== null) {
      const known = await repeated(agent, idempotencyKey, manifest, warnings);
      if (known !== null) return known;
    }
    const before = await declaredRow(reading, agent);
    const diff = before === null ? null : diffManifests(await readContent(reading, before.hash), manifest);
    const breaking = diff !== null && diff.breaking.length > 0;
    const at = now();
    const declared = declaring(agent, before, manifest, breaking, at);
    const capsuleId = randomUUID();
    const version: StoredVersion = {
      agent,
      version: declared.version,
      hash: manifest.hash,
      bytes: manifest.bytes,
      breaking,
      by: options.by,
      at,
      capsuleId,
    };
    const effect = addVersion({
      declared,
      before: before?.rev ?? null,
      manifest,
      version,
      idempotencyKey,
    });
    const capsule = await store
      .chain(options.chain)
      .append(pushCapsule(version, diff), { id: capsuleId, effect });
    return { ...version, manifest, diff, warnings, repeated: false, capsule };
  };

  return {
    async push(agent, text, options) {
      if (agent === '' || agent.length > MAX_AGENT || !agent.isWellFormed() || agent.includes('\0'))
        throw new BullaError('MANIFEST_AGENT', `An agent has a name of 1 to ${MAX_AGENT} characters.`);
      if (options.idempotencyKey !== undefined && !KEY.test(options.idempotencyKey))
        throw new BullaError('MANIFEST_KEY', 'An idempotency key has 1 to 255 visible ASCII characters.');
      const report = validateManifest(text);
      const { manifest, warnings } = report;
      if (manifest === null) throw new ManifestError(report);
      return inTurn(agent, () =>
        untilSettled('MANIFEST_CONFLICT', () => attempt(agent, manifest, warnings, options)),
      );
    },
    async current(agent) {
      const declared = await declaredRow(reading, agent);
      return declared === null ? null : withContent(await oneVersion(reading, agent, declared.version));
    },
    version: async (agent, version) => withContent(await oneVersion(reading, agent, version)),
    versions: (agent) => allVersions(reading, agent),
    agents: () => agentNames(reading),
  };
}

/** What the agent declares with its next version, as the engine says; it is the same for all of its people. */
function declaring(
  agent: string,
  before: Declared | null,
  manifest: Manifest,
  breaking: boolean,
  at: number,
): Declared {
  const nobody = {
    user: '',
    disclosures: [],
    grants: [],
    silences: [],
    prompts: [],
    decisions: [],
    approvals: [],
  };
  const state = stateOf({ ...nobody, agent, manifests: before === null ? [] : [before] });
  const version = nextVersion(before?.version ?? null);
  const next = { agent, version, hash: manifest.hash, ...declaredOf(manifest) };
  const { changes, refusal } = decide(state, { type: 'manifest', at, manifest: next, breaking });
  if (refusal !== null) throw new BullaError(refusal.code, refusal.message);
  return changes[0]!.row as Declared;
}

function pushCapsule(
  { agent, version, hash, breaking, by }: StoredVersion,
  diff: ManifestDiff | null,
): CapsuleInput {
  const request = `manifest push ${agent} ${version}`;
  const changes =
    diff === null ? null : { breaking: diff.breaking.length, non_breaking: diff.non_breaking.length };
  return {
    type: 'auth',
    domain: 'manifest',
    trigger: { type: 'user_request', source: by, request },
    context: {
      agent_id: agent,
      environment: { bulla: { v: 1, manifest: { agent_id: agent, version, hash } } },
    },
    outcome: { status: 'success', summary: request, result: { breaking, changes } },
  };
}
