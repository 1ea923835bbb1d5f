import { randomUUID } from 'node:crypto';
import type { DataObject, SealedCapsule } from '@bulla/core/capsule';
import {
  type Bound,
  type ConsentEvent,
  type Declared,
  decide,
  emptyState,
  isRebound,
  rowsOf,
  stateOf,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import {
  type Bindings,
  createBindings,
  diffManifests,
  type Manifest,
  type ManifestDiff,
  ManifestError,
  type ManifestProblem,
  readBindings,
  validateManifest,
} from '@bulla/core/manifest';
import { createQueue, untilSettled } from '../os/index.ts';
import type { Recorder } from '../record/index.ts';
import type { Effect, Store } from '../store/index.ts';
import { declaredOf } from './declared.ts';
import {
  addBindings,
  addVersion,
  agentNames,
  allBindings,
  allVersions,
  declaredRow,
  keyed,
  oneVersion,
  readContent,
  readStoredBindings,
  type StoredBindings,
  type StoredVersion,
} from './rows.ts';

export interface BindOptions {
  /** Who does it; it goes into the record. */
  readonly by: string;
  readonly record: Recorder;
}

export interface PushOptions extends BindOptions {
  /** Makes a retry safe: the same key is one version, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
  /**
   * Which tools of servers its tools are, as `readBindings` takes it. Default: each tool that was bound before and is
   * still declared stays what it was.
   */
  readonly bindings?: string | Uint8Array | undefined;
}

/** A version with its content. */
export interface CurrentManifest extends StoredVersion {
  readonly manifest: Manifest;
}

/** What the agent declares now. */
export interface InForce extends CurrentManifest {
  readonly bindings: Bindings;
}

export interface Pushed extends InForce {
  /** Tools that were bound before, and are now bound to another one or to none: then it is breaking. */
  readonly rebound: readonly string[];
  /** What changed since the version before it; null for the first one. */
  readonly diff: ManifestDiff | null;
  readonly warnings: readonly ManifestProblem[];
  /** Whether the key was used before: then nothing is stored or sealed, and this is what came of it the first time. */
  readonly repeated: boolean;
  readonly capsule: SealedCapsule | null;
}

/** What came of a change of bindings. */
export interface Rebound {
  readonly agent: string;
  readonly version: number;
  readonly hash: string;
  readonly bindings: Bindings;
  /** As in `Pushed`. */
  readonly rebound: readonly string[];
  readonly breaking: boolean;
  readonly capsule: SealedCapsule;
}

export interface Manifests {
  /**
   * Accepts a manifest as the next version of the agent's, one more than the last, also for the same content, and
   * seals that. When it breaks with the one before it, what people granted rests until they have reviewed it. Rejects
   * with a `ManifestError` that has all problems, `MANIFEST_AGENT` and `MANIFEST_KEY` for a name that is none,
   * `MANIFEST_KEY_REUSED` for a key that came with other content, `MANIFEST_STORED`, as `readBindings` does, and as
   * appending to a chain does. The stored version is untouched then.
   */
  push(agent: string, text: string | Uint8Array, options: PushOptions): Promise<Pushed>;
  /**
   * Says anew which tools of servers these tools are, null for none; the others stay what they were. Rejects with
   * `MANIFEST_NOT_FOUND`, as `createBindings` does, and as `push` does.
   */
  bind(agent: string, edits: ReadonlyMap<string, Bound | null>, options: BindOptions): Promise<Rebound>;
  /** The bindings of each version, and each change of them. */
  bindings(agent: string): Promise<readonly StoredBindings[]>;
  /** Null for an agent without a manifest. Rejects with `MANIFEST_STORED`, as `version` does. */
  current(agent: string): Promise<InForce | null>;
  version(agent: string, version: number): Promise<CurrentManifest | null>;
  /** All of them, the first one first. */
  versions(agent: string): Promise<readonly StoredVersion[]>;
  agents(): Promise<readonly string[]>;
}

const KEY = /^[\x21-\x7e]{1,255}$/;
const MAX_AGENT = 512;

/** `now` gives Unix time in milliseconds; default: the system's clock. */
export function createManifests(
  store: Store,
  { now = Date.now }: { readonly now?: () => number } = {},
): Manifests {
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
    const bindings = await readStoredBindings(reading, (await declaredRow(reading, agent))!);
    const first = { rebound: [], capsule: null };
    return { ...version, manifest, bindings, diff, warnings, ...first, repeated: true };
  };

  const push = async (
    agent: string,
    manifest: Manifest,
    warnings: readonly ManifestProblem[],
    { by, record, bindings: given, idempotencyKey = undefined }: PushOptions,
  ): Promise<Pushed> => {
    if (idempotencyKey !== undefined) {
      const known = await repeated(agent, idempotencyKey, manifest, warnings);
      if (known !== null) return known;
    }
    const names = manifest.tools.map(({ name }) => name);
    const before = await declaredRow(reading, agent);
    const bindings = given === undefined ? carriedOver(before, names) : readBindings(given, names);
    const diff = before === null ? null : diffManifests(await readContent(reading, before.hash), manifest);
    const at = now();
    const version = (before?.version ?? 0) + 1;
    const next = { agent, version, hash: manifest.hash, ...declaredOf(manifest, bindings) };
    const broke = diff !== null && diff.breaking.length > 0;
    const event = { type: 'manifest', at, manifest: next, breaking: broke } as const;
    const { declared, rebound, breaking } = declaring(agent, before, event);
    const capsuleId = randomUUID();
    const { hash, bytes } = manifest;
    const stored: StoredVersion = { agent, version, hash, bytes, breaking, by, at, capsuleId };
    const changes = diff && { breaking: diff.breaking.length, non_breaking: diff.non_breaking.length };
    const capsule = await seal(record, declared, by, `manifest push ${agent} ${version}`, {
      id: capsuleId,
      facts: { breaking, changes, rebound },
      effect: addVersion({
        ...{ declared, before: before?.rev ?? null, bindings, by, at, capsuleId },
        ...{ manifest, version: stored, idempotencyKey: idempotencyKey ?? null },
      }),
    });
    return { ...stored, manifest, bindings, rebound, diff, warnings, repeated: false, capsule };
  };

  const bind = async (
    agent: string,
    edits: ReadonlyMap<string, Bound | null>,
    { by, record }: BindOptions,
  ): Promise<Rebound> => {
    const before = await declaredRow(reading, agent);
    if (before === null)
      throw new BullaError('MANIFEST_NOT_FOUND', 'The agent has no manifest whose tools could be bound.');
    const names = before.tools.map(({ name }) => name);
    const merged = new Map<string, Bound | null>(before.tools.map(({ name, bound }) => [name, bound]));
    for (const [name, bound] of edits) merged.set(name, bound);
    const bindings = createBindings(
      [...merged].flatMap(([name, bound]) =>
        bound !== null ? [[name, bound] as const] : names.includes(name) ? [] : [[name, NOTHING] as const],
      ),
      names,
    );
    const at = now();
    const event = { type: 'bind', at, bound: bindings.tools, bindings: bindings.digest } as const;
    const { declared, rebound, breaking } = declaring(agent, before, event);
    const capsuleId = randomUUID();
    const capsule = await seal(record, declared, by, `manifest bind ${agent}`, {
      id: capsuleId,
      facts: { breaking, rebound, tools: [...edits.keys()] },
      effect: addBindings({ declared, before: before.rev, bindings, by, at, capsuleId }),
    });
    const { version, hash } = declared;
    return { agent, version, hash, bindings, rebound, breaking, capsule };
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
        untilSettled('MANIFEST_CONFLICT', () => push(agent, manifest, warnings, options)),
      );
    },
    bind: (agent, edits, options) =>
      inTurn(agent, () => untilSettled('MANIFEST_CONFLICT', () => bind(agent, edits, options))),
    bindings: (agent) => allBindings(reading, agent),
    async current(agent) {
      const declared = await declaredRow(reading, agent);
      if (declared === null) return null;
      const version = await withContent(await oneVersion(reading, agent, declared.version));
      return version && { ...version, bindings: await readStoredBindings(reading, declared) };
    },
    version: async (agent, version) => withContent(await oneVersion(reading, agent, version)),
    versions: (agent) => allVersions(reading, agent),
    agents: () => agentNames(reading),
  };
}

/** What an edit of a tool that is not declared is refused with, by `createBindings`. */
const NOTHING: Bound = { server: '', tool: '' };

/** What was bound before, of the tools that are still declared. */
function carriedOver(before: Declared | null, names: readonly string[]): Bindings {
  const still = new Set(names);
  return createBindings(
    (before?.tools ?? []).flatMap(({ name, bound }) =>
      bound === null || !still.has(name) ? [] : [[name, bound] as const],
    ),
    names,
  );
}

/** What the agent declares next, as the engine says; it is the same for all of its people. */
function declaring(
  agent: string,
  before: Declared | null,
  event: Extract<ConsentEvent, { type: 'manifest' | 'bind' }>,
) {
  const state = stateOf({ ...rowsOf(emptyState('', agent)), manifests: before === null ? [] : [before] });
  const { changes, refusal } = decide(state, event);
  if (refusal !== null) throw new BullaError(refusal.code, refusal.message);
  const declared = changes[0]!.row as Declared;
  const rebound = declared.tools.filter((tool) => isRebound(state, tool)).map(({ name }) => name);
  return { declared, rebound, breaking: declared.breaking === declared.rev };
}

function seal(
  record: Recorder,
  { agent, version, hash, bindings }: Declared,
  by: string,
  request: string,
  { facts, ...more }: { readonly id: string; readonly facts: DataObject; readonly effect: Effect },
): Promise<SealedCapsule> {
  return record.act({
    type: 'auth',
    door: 'admin',
    trigger: 'user_request',
    agentId: agent,
    source: by,
    request,
    evidence: { manifest: { agent_id: agent, version, hash, bindings }, facts },
    status: 'success',
    ...more,
  });
}
