import { type Fields, JsonObject, type JsonValue, Member, oneCode, parse, stringify } from '../json/index.ts';
import { fold } from './fold.ts';
import { type HashOptions, hashingOf, isHash } from './hashing.ts';
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

const READING = oneCode('CAPABILITY_FIELD');

/** JSON as text, as bytes, parsed, or as plain values; all are read by the same strict rules. */
function root(input: unknown): Member {
  return new Member(json(input), READING);
}

function json(input: unknown): JsonValue {
  if (typeof input === 'string' || input instanceof Uint8Array) return parse(input);
  return input instanceof JsonObject ? input : parse(stringify(input));
}

const text = (member: Member) => member.text();
const texts = (member: Member) => member.texts();
const object = (member: Member) => member.object();
const name = (member: Member) => member.fitting((text) => text !== '', 'A name is not empty.');
const hash = (member: Member) => member.fitting(isHash, 'A hash is 64 lower-case hex digits.');

/**
 * Reads an envelope, strictly; its hashes are not checked (`verifyEnvelope` does). What may be any JSON, such as a
 * schema or a context, stays as it was parsed. Throws `JSON_…` and `VALUE_…` for what is not JSON,
 * `CAPABILITY_FIELD` for another version, and `CAPABILITY_FIELD_…` with the path.
 */
export function readEnvelope(input: unknown): AgentSnapshotEnvelope {
  return envelopeOf(root(input));
}

function envelopeOf(record: Member): AgentSnapshotEnvelope {
  const version = record.get('schemaVersion');
  if (version.value !== AGENT_SNAPSHOT_ENVELOPE_VERSION) {
    const why = `Envelopes of version ${AGENT_SNAPSHOT_ENVELOPE_VERSION} are read here, and no others.`;
    throw version.error('CAPABILITY_FIELD', why);
  }
  record.record({ required: ['schemaVersion', 'runtime'], optional: ['static', 'context'] });
  return {
    schemaVersion: version.value,
    ...record.maybe('static', readStatic),
    runtime: readRuntime(record.get('runtime')),
    ...record.maybe('context', object),
  };
}

/**
 * Reads a link, strictly. The released package's links do not say how they were hashed; such a one is read only when
 * `assumed` says it. Throws as `readEnvelope` does.
 */
export function readCapabilityLink(input: unknown, assumed?: HashOptions): CapabilityLink {
  return readLink(root(input), assumed);
}

const HASHED = ['profile', 'schemaSource'];
const LINK = ['agentId', 'agentName', 'staticHash', 'runtimeHash', 'toolRefs'];

function readLink(record: Member, assumed?: HashOptions): CapabilityLink {
  const silent = assumed !== undefined && !HASHED.some((key) => record.has(key));
  const required = silent ? LINK : [...LINK, ...HASHED];
  record.record({ required, optional: ['invocationHash', 'instructionsHash'] });
  const { profile, schemaSource } = silent ? hashingOf(assumed) : readHashing(record);
  return {
    agentId: name(record.get('agentId')),
    agentName: name(record.get('agentName')),
    profile,
    schemaSource,
    staticHash: hash(record.get('staticHash')),
    runtimeHash: hash(record.get('runtimeHash')),
    ...record.maybe('invocationHash', hash),
    ...record.maybe('instructionsHash', hash),
    toolRefs: record
      .get('toolRefs')
      .list()
      .map((ref) => {
        ref.record({ required: ['toolKey', 'toolHash'] });
        return { toolKey: name(ref.get('toolKey')), toolHash: hash(ref.get('toolHash')) };
      }),
  };
}

function readHashing(record: Member) {
  return {
    profile: record.get('profile').word(['khora', 'khora-icu']),
    schemaSource: record.get('schemaSource').word(SCHEMA_SOURCES),
  };
}

function readStatic(record: Member): RegisteredAgentWire {
  const required = ['agentId', 'name', 'staticHash', 'staticInstructions', 'staticContext', 'root'];
  record.record({ required });
  return {
    agentId: name(record.get('agentId')),
    name: name(record.get('name')),
    staticHash: hash(record.get('staticHash')),
    staticInstructions: record.get('staticInstructions').texts(),
    staticContext: record.get('staticContext').object(),
    root: fold<Member, StaticWire>(record.get('root'), membersOf, readNode),
  };
}

const kindOf = (node: Member) => node.get('kind').word(['tool', 'toolkit', 'dynamicToolkit']);

function membersOf(node: Member): readonly Member[] {
  return kindOf(node) === 'toolkit' ? node.get('members').list() : [];
}

function readNode(record: Member, members: readonly StaticWire[]): StaticWire {
  const kind = kindOf(record);
  if (kind === 'tool') return { kind, ...readTool(record, { required: [...TOOL, 'kind'] }) };
  const last = kind === 'toolkit' ? 'members' : 'policies';
  record.record({ required: ['kind', 'name', 'instructions', last] });
  const instructions = record.get('instructions');
  if (kind === 'dynamicToolkit')
    return {
      kind,
      name: name(record.get('name')),
      instructions: instructions.orNull(texts),
      policies: record.get('policies').texts(),
    };
  return {
    kind,
    name: name(record.get('name')),
    instructions: typeof instructions.value === 'string' ? instructions.value : instructions.orNull(texts),
    members,
  };
}

const TOOL = ['name', 'description', 'instructions', 'inputSchema', 'opaque', 'policyBindings'];

function readTool(record: Member, fields: Fields): ToolSpecWire {
  record.record(fields);
  return {
    name: name(record.get('name')),
    description: record.get('description').orNull(text),
    instructions: record.get('instructions').texts(),
    inputSchema: record.get('inputSchema').value,
    opaque: record.get('opaque').boolean(),
    policyBindings: record.get('policyBindings').list().map(readBinding),
    ...record.maybe('runtimeBinding', text),
  };
}

function readBinding(record: Member): PolicyBinding {
  record.record({ required: ['id', 'executeBinding'] });
  return {
    id: name(record.get('id')),
    executeBinding: record.get('executeBinding').word(EXECUTE_BINDINGS),
  };
}

function readRuntime(record: Member): AgentRuntimeSnapshot {
  const required = ['link', 'affordances', 'policy', 'toolkitContext'];
  record.record({ required, optional: ['invocationContext'] });
  return {
    link: readLink(record.get('link')),
    affordances: readAffordances(record.get('affordances')),
    policy: readPolicy(record.get('policy')),
    toolkitContext: readContext(record.get('toolkitContext')),
    ...record.maybe('invocationContext', object),
  };
}

function readAffordances(record: Member): AffordancesWire {
  record.record({ required: ['instructions', 'tools'] });
  return {
    instructions: record.get('instructions').text(),
    tools: dictionary(
      record
        .get('tools')
        .entries()
        .map(([key, wire]) => {
          const tool = readTool(wire, { required: TOOL, optional: ['runtimeBinding'] });
          if (tool.name !== key) throw wire.get('name').wrongValue('A tool stands under its own name.');
          return [key, tool];
        }),
    ),
  };
}

function readPolicy(record: Member): PolicyEvaluationSnapshot {
  record.record({
    required: ['mode', 'results'],
    optional: ['capturedAt', 'policyBundleId', 'policyEngineVersion'],
  });
  const results = record.get('results').entries();
  return {
    mode: record.get('mode').word(['authoritative', 'hint']),
    results: dictionary(results.map(([id, result]) => [id, result.boolean()])),
    ...record.maybe('capturedAt', (time) => time.natural('milliseconds')),
    ...record.maybe('policyBundleId', text),
    ...record.maybe('policyEngineVersion', text),
  };
}

function readContext(record: Member): ToolkitContextWire {
  record.record({ required: [], optional: ['namespace', 'agentId', 'agentName', 'env'] });
  return {
    ...record.maybe('namespace', text),
    ...record.maybe('agentId', text),
    ...record.maybe('agentName', text),
    ...record.maybe('env', object),
  };
}

/** An envelope, or a link alone. */
export type Snapshot =
  | { readonly kind: 'envelope'; readonly envelope: AgentSnapshotEnvelope }
  | { readonly kind: 'link'; readonly link: CapabilityLink };

/** Reads whichever of the two it is: an envelope has a `schemaVersion`. Throws as the two readers do. */
export function readSnapshot(input: unknown, assumed?: HashOptions): Snapshot {
  const value = root(input);
  if (value.has('schemaVersion')) return { kind: 'envelope', envelope: envelopeOf(value) };
  if (value.has('staticHash')) return { kind: 'link', link: readLink(value, assumed) };
  throw value.error('CAPABILITY_FIELD', 'This is neither a capability envelope nor a capability link.');
}
