import { BullaError, pointer } from '../error.ts';
import { JsonObject, type JsonValue, parse, stringify } from '../json/index.ts';
import {
  optional,
  type Path,
  readArray,
  readBoolean,
  readHash,
  readName,
  readObject,
  readRecord,
  readText,
  readTexts,
  readTime,
  readWord,
  wrongValue,
} from './fields.ts';
import { fold } from './fold.ts';
import { type HashOptions, hashingOf } from './hashing.ts';
import type { CapabilityLink } from './link.ts';
import type { PolicyBinding } from './payloads.ts';
import { dictionary } from './plain.ts';
import { EXECUTE_BINDINGS, type PolicyEvaluationSnapshot } from './policy.ts';
import {
  type AffordancesWire,
  AGENT_SNAPSHOT_ENVELOPE_VERSION,
  type AgentRuntimeSnapshot,
  type AgentSnapshotEnvelope,
  type RegisteredAgentWire,
  type ToolkitContextWire,
} from './snapshot.ts';
import { SCHEMA_SOURCES } from './standard-schema.ts';
import type { StaticWire, ToolSpecWire } from './wire.ts';

/** JSON as text, as bytes, parsed, or as plain values; all are read by the same strict rules. */
function json(input: unknown): JsonValue {
  if (typeof input === 'string' || input instanceof Uint8Array) return parse(input);
  return input instanceof JsonObject ? input : parse(stringify(input));
}

/**
 * Reads an envelope, strictly; its hashes are not checked (`verifyEnvelope` does). What may be any JSON, such as a
 * schema or a context, stays as it was parsed. Throws `JSON_…` and `VALUE_…` for what is not JSON,
 * `CAPABILITY_FIELD` for another version, and `CAPABILITY_FIELD_…` with the path.
 */
export function readEnvelope(input: unknown): AgentSnapshotEnvelope {
  const value = readObject(json(input), []);
  const version = value.get('schemaVersion');
  if (version !== AGENT_SNAPSHOT_ENVELOPE_VERSION) {
    const why = `Envelopes of version ${AGENT_SNAPSHOT_ENVELOPE_VERSION} are read here, and no others.`;
    throw new BullaError('CAPABILITY_FIELD', why, { path: '/schemaVersion' });
  }
  const record = readRecord(value, [], ['schemaVersion', 'runtime'], ['static', 'context']);
  return {
    schemaVersion: version,
    ...optional(record, 'static', (key) => readStatic(record.get(key), [key])),
    runtime: readRuntime(record.get('runtime'), ['runtime']),
    ...optional(record, 'context', (key) => readObject(record.get(key), [key])),
  };
}

/**
 * Reads a link, strictly. The released package's links do not say how they were hashed; such a one is read only when
 * `assumed` says it. Throws as `readEnvelope` does.
 */
export function readCapabilityLink(input: unknown, assumed?: HashOptions): CapabilityLink {
  return readLink(json(input), [], assumed);
}

function readLink(value: JsonValue | undefined, at: Path, assumed?: HashOptions): CapabilityLink {
  const [hashed, required] = [
    ['profile', 'schemaSource'],
    ['agentId', 'agentName', 'staticHash', 'runtimeHash', 'toolRefs'],
  ];
  const more = ['invocationHash', 'instructionsHash'];
  const silent = assumed !== undefined && !hashed.some((key) => readObject(value, at).has(key));
  const record = readRecord(value, at, silent ? required : [...required, ...hashed], more);
  const { profile, schemaSource } = silent ? hashingOf(assumed) : readHashing(record, at);
  return {
    agentId: readName(record, 'agentId', at),
    agentName: readName(record, 'agentName', at),
    profile,
    schemaSource,
    staticHash: readHash(record, 'staticHash', at),
    runtimeHash: readHash(record, 'runtimeHash', at),
    ...optional(record, 'invocationHash', (key) => readHash(record, key, at)),
    ...optional(record, 'instructionsHash', (key) => readHash(record, key, at)),
    toolRefs: readArray(record.get('toolRefs'), [...at, 'toolRefs']).map((ref, place) => {
      const where = [...at, 'toolRefs', place];
      const row = readRecord(ref, where, ['toolKey', 'toolHash']);
      return { toolKey: readName(row, 'toolKey', where), toolHash: readHash(row, 'toolHash', where) };
    }),
  };
}

function readHashing(record: JsonObject, at: Path) {
  return {
    profile: readWord(record, 'profile', at, ['khora', 'khora-icu']),
    schemaSource: readWord(record, 'schemaSource', at, SCHEMA_SOURCES),
  };
}

function readStatic(value: JsonValue | undefined, at: Path): RegisteredAgentWire {
  const keys = ['agentId', 'name', 'staticHash', 'staticInstructions', 'staticContext', 'root'];
  const record = readRecord(value, at, keys);
  return {
    agentId: readName(record, 'agentId', at),
    name: readName(record, 'name', at),
    staticHash: readHash(record, 'staticHash', at),
    staticInstructions: readTexts(record.get('staticInstructions'), [...at, 'staticInstructions']),
    staticContext: readObject(record.get('staticContext'), [...at, 'staticContext']),
    root: readStaticWire(record.get('root'), [...at, 'root']),
  };
}

interface Located {
  readonly value: JsonValue | undefined;
  readonly at: Path;
}

function readStaticWire(root: JsonValue | undefined, at: Path): StaticWire {
  return fold<Located, StaticWire>({ value: root, at }, membersOf, ({ value, at }, members) => {
    const kind = kindOf({ value, at });
    if (kind === 'tool') return { kind, ...readTool(value, at, ['kind']) };
    if (kind === 'dynamicToolkit') {
      const record = readRecord(value, at, ['kind', 'name', 'instructions', 'policies']);
      const lines = record.get('instructions');
      return {
        kind,
        name: readName(record, 'name', at),
        instructions: lines === null ? null : readTexts(lines, [...at, 'instructions']),
        policies: readTexts(record.get('policies'), [...at, 'policies']),
      };
    }
    const record = readRecord(value, at, ['kind', 'name', 'instructions', 'members']);
    const lines = record.get('instructions');
    return {
      kind,
      name: readName(record, 'name', at),
      instructions:
        lines === null || typeof lines === 'string' ? lines : readTexts(lines, [...at, 'instructions']),
      members,
    };
  });
}

function kindOf({ value, at }: Located) {
  return readWord(readObject(value, at), 'kind', at, ['tool', 'toolkit', 'dynamicToolkit']);
}

function membersOf({ value, at }: Located): readonly Located[] {
  if (kindOf({ value, at }) !== 'toolkit') return [];
  const where = [...at, 'members'];
  return readArray((value as JsonObject).get('members'), where).map((member, place) => ({
    value: member,
    at: [...where, place],
  }));
}

function readTool(value: JsonValue | undefined, at: Path, extra: readonly string[] = []): ToolSpecWire {
  const keys = ['name', 'description', 'instructions', 'inputSchema', 'opaque', 'policyBindings'];
  const record = readRecord(value, at, [...keys, ...extra], extra.length > 0 ? [] : ['runtimeBinding']);
  const description = record.get('description');
  return {
    name: readName(record, 'name', at),
    description: description === null ? null : readText(record, 'description', at),
    instructions: readTexts(record.get('instructions'), [...at, 'instructions']),
    inputSchema: record.get('inputSchema'),
    opaque: readBoolean(record, 'opaque', at),
    policyBindings: readArray(record.get('policyBindings'), [...at, 'policyBindings']).map((row, place) =>
      readBinding(row, [...at, 'policyBindings', place]),
    ),
    ...optional(record, 'runtimeBinding', (key) => readText(record, key, at)),
  };
}

function readBinding(value: JsonValue, at: Path): PolicyBinding {
  const record = readRecord(value, at, ['id', 'executeBinding']);
  return {
    id: readName(record, 'id', at),
    executeBinding: readWord(record, 'executeBinding', at, EXECUTE_BINDINGS),
  };
}

function readRuntime(value: JsonValue | undefined, at: Path): AgentRuntimeSnapshot {
  const keys = ['link', 'affordances', 'policy', 'toolkitContext'];
  const record = readRecord(value, at, keys, ['invocationContext']);
  return {
    link: readLink(record.get('link'), [...at, 'link']),
    affordances: readAffordances(record.get('affordances'), [...at, 'affordances']),
    policy: readPolicy(record.get('policy'), [...at, 'policy']),
    toolkitContext: readContext(record.get('toolkitContext'), [...at, 'toolkitContext']),
    ...optional(record, 'invocationContext', (key) => readObject(record.get(key), [...at, key])),
  };
}

function readAffordances(value: JsonValue | undefined, at: Path): AffordancesWire {
  const record = readRecord(value, at, ['instructions', 'tools']);
  const tools = readObject(record.get('tools'), [...at, 'tools']);
  return {
    instructions: readText(record, 'instructions', at),
    tools: dictionary(
      Array.from(tools, ([key, wire]) => {
        const where = [...at, 'tools', key];
        const tool = readTool(wire, where);
        if (tool.name !== key) wrongValue([...where, 'name'], 'A tool stands under its own name.');
        return [key, tool];
      }),
    ),
  };
}

function readPolicy(value: JsonValue | undefined, at: Path): PolicyEvaluationSnapshot {
  const audit = ['capturedAt', 'policyBundleId', 'policyEngineVersion'] as const;
  const record = readRecord(value, at, ['mode', 'results'], audit);
  const results = readObject(record.get('results'), [...at, 'results']);
  return {
    mode: readWord(record, 'mode', at, ['authoritative', 'hint']),
    results: dictionary(results.keys.map((id) => [id, readBoolean(results, id, [...at, 'results'])])),
    ...optional(record, audit[0], (key) => readTime(record.get(key)!, [...at, key])),
    ...optional(record, audit[1], (key) => readText(record, key, at)),
    ...optional(record, audit[2], (key) => readText(record, key, at)),
  };
}

function readContext(value: JsonValue | undefined, at: Path): ToolkitContextWire {
  const record = readRecord(value, at, [], ['namespace', 'agentId', 'agentName', 'env']);
  return {
    ...optional(record, 'namespace', (key) => readText(record, key, at)),
    ...optional(record, 'agentId', (key) => readText(record, key, at)),
    ...optional(record, 'agentName', (key) => readText(record, key, at)),
    ...optional(record, 'env', (key) => readObject(record.get(key), [...at, key])),
  };
}

/** An envelope, or a link alone. */
export type Snapshot =
  | { readonly kind: 'envelope'; readonly envelope: AgentSnapshotEnvelope }
  | { readonly kind: 'link'; readonly link: CapabilityLink };

/** Reads whichever of the two it is: an envelope has a `schemaVersion`. Throws as the two readers do. */
export function readSnapshot(input: unknown, assumed?: HashOptions): Snapshot {
  const value = readObject(json(input), []);
  if (value.has('schemaVersion')) return { kind: 'envelope', envelope: readEnvelope(value) };
  if (value.has('staticHash')) return { kind: 'link', link: readLink(value, [], assumed) };
  const why = 'This is neither a capability envelope nor a capability link.';
  throw new BullaError('CAPABILITY_FIELD', why, { path: pointer([]) });
}
