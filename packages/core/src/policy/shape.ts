import { type PreparedInput, prepareInput as prepare, vocabularyOf } from '../cel/index.ts';
import type { JsonValue } from '../json/index.ts';

/** Who built an artifact, and from what. */
const PROVENANCE = {
  method: 'string',
  predicate_type: 'string',
  builder_id: 'string',
  source_repo: 'string',
  source_ref: 'string',
  workflow_uri: 'string',
  issuer: 'string',
  identity: 'string',
  verified: 'bool',
  verified_at: 'string',
} as const;

const TOOL = {
  name: 'string',
  description: 'string',
  input_schema: 'map<string, dyn>',
  risk_level: 'string',
  risk_reasons: 'list<string>',
  'annotations?': 'map<string, dyn>',
} as const;

/**
 * What a rule may speak of. `policy-check` and `check` are the released program's two inputs for rules about a whole
 * surface; `tool`, `call` and `result` are ours. A field with a question mark may be absent: a rule asks `has()` first.
 */
export const RECORDS = {
  PolicyCheckInput: {
    command: 'string',
    tools: 'list<Tool>',
    resources: 'list<Resource>',
    error: 'string',
    server_info: 'ServerInfo',
    'artifact?': 'Artifact',
    'provenance?': 'SourceProvenance',
    // Ours: as in the other shape, when a lock is given.
    'drift?': 'Drift',
    resource_schemes: 'list<string>',
  },
  CheckInput: {
    lockfileVersion: 'string',
    server: 'LockedServer',
    prompts: 'LockedPrompts',
    resources: 'LockedResources',
    drift: 'Drift',
    tools: 'list<Tool>',
    'artifact?': 'Artifact',
    // Ours: as in the other shape.
    resource_schemes: 'list<string>',
  },
  ToolInput: { tool: 'CalledTool', server: 'CallServer' },
  CallInput: {
    tool: 'CalledTool',
    server: 'CallServer',
    'agent?': 'CallAgent',
    arguments: 'map<string, dyn>',
    // Each is worked out only where a rule names it.
    'call?': 'CallFacts',
    'session?': 'CallSession',
    'used?': 'CallUsed',
  },
  ResultInput: {
    tool: 'CalledTool',
    server: 'CallServer',
    'agent?': 'CallAgent',
    arguments: 'map<string, dyn>',
    result: 'CallResult',
  },

  Tool: TOOL,
  CalledTool: { ...TOOL, digest: 'string' },
  CallServer: { name: 'string' },
  CallAgent: { id: 'string' },
  CallFacts: { secrets: 'list<CallSecret>' },
  CallSecret: { pointer: 'string', kind: 'string' },
  CallSession: { id: 'string', calls: 'int', denials: 'int', tools: 'list<string>' },
  CallUsed: { agent: 'Uses', tool: 'Uses', session: 'Uses' },
  Uses: { minute: 'Use', hour: 'Use', day: 'Use' },
  Use: { calls: 'int', bytes: 'int' },
  CallResult: { is_error: 'bool', text: 'string', 'structured?': 'dyn', bytes: 'int' },
  Resource: { uri: 'string', name: 'string', description: 'string', mime_type: 'string' },
  ServerInfo: { name: 'string', version: 'string', protocol_version: 'string' },
  Artifact: {
    type: 'string',
    name: 'string',
    version: 'string',
    registry: 'string',
    integrity: 'string',
    image: 'string',
    digest: 'string',
    'provenance?': 'Provenance',
  },
  Provenance: PROVENANCE,
  SourceProvenance: {
    ...PROVENANCE,
    config_source_uri: 'string',
    config_source_entrypoint: 'string',
  },
  LockedServer: { name: 'string', 'artifact?': 'Artifact' },
  LockedPrompts: { names: 'list<string>', definitions: 'map<string, LockedPrompt>' },
  LockedPrompt: { argumentsHash: 'string' },
  LockedResources: { templates: 'list<LockedTemplate>', schemes: 'list<string>' },
  LockedTemplate: { uriTemplate: 'string', mimeType: 'string', templateHash: 'string' },
  Drift: { hasDrift: 'bool', items: 'list<DriftItem>' },
  DriftItem: {
    type: 'string',
    severity: 'string',
    id: 'string',
    oldHash: 'string',
    newHash: 'string',
    message: 'string',
  },
};

/** What a rule about servers, tools and calls may speak of, by the shape of its input. */
export const VOCABULARY = vocabularyOf(RECORDS, {
  'policy-check': 'PolicyCheckInput',
  check: 'CheckInput',
  tool: 'ToolInput',
  call: 'CallInput',
  result: 'ResultInput',
});

export type Shape = keyof typeof VOCABULARY.shapes;

/** Reads an input of a shape. Throws as the `prepareInput` of `cel` does. */
export function prepareInput<S extends Shape>(shape: S, input: JsonValue): PreparedInput<S> {
  return prepare(VOCABULARY, shape, input);
}

/** When a rule is asked: about a whole surface, about each tool of it, about each call, or about what a call gave. */
export const PHASES = {
  list: ['policy-check', 'check'],
  // A tool that is not shown must not be called either.
  tool: ['tool', 'call'],
  call: ['call'],
  result: ['result'],
} as const satisfies Readonly<Record<string, readonly Shape[]>>;

export type Phase = keyof typeof PHASES;
export const PHASE_NAMES = Object.keys(PHASES) as readonly Phase[];
export const SHAPE_NAMES = Object.keys(VOCABULARY.shapes) as readonly Shape[];
