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

/**
 * What a rule may speak of. `policy-check` and `check` are the released program's two inputs for rules about a whole
 * surface; `tool` and `call` are ours. A field with a question mark may be absent: a rule asks `has()` first.
 * Types are written as CEL's; other words are records of this table. `dyn` is JSON that somebody else chose.
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
  },

  // Ours: what binds of an execution envelope, where null is absent, and how many people signed.
  EnvelopeInput: {
    intent_id: 'string',
    execution_id: 'string',
    tenant_id: 'string',
    action_type: 'string',
    rail: 'EnvelopeRail',
    actor: 'EnvelopeActor',
    target: 'EnvelopeTarget',
    constraints: 'EnvelopeConstraints',
    people: 'dyn',
  },
  EnvelopeRail: { type: 'string', network: 'string', 'chain_id?': 'dyn', 'contract?': 'string' },
  EnvelopeActor: { caller: 'string', 'role?': 'string' },
  EnvelopeTarget: {
    to: 'string',
    asset: 'string',
    'asset_class?': 'dyn',
    amount: 'string',
    decimals: 'dyn',
  },
  EnvelopeConstraints: { ttl: 'dyn', nonce: 'dyn', replay_scope: 'string' },

  Tool: {
    name: 'string',
    description: 'string',
    input_schema: 'map<string, dyn>',
    risk_level: 'string',
    risk_reasons: 'list<string>',
    'annotations?': 'map<string, dyn>',
  },
  CalledTool: {
    name: 'string',
    description: 'string',
    input_schema: 'map<string, dyn>',
    risk_level: 'string',
    risk_reasons: 'list<string>',
    digest: 'string',
    'annotations?': 'map<string, dyn>',
  },
  CallServer: { name: 'string' },
  CallAgent: { id: 'string' },
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
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type RecordName = keyof typeof RECORDS;

/** The record that `input` is, by shape. */
export const SHAPES = {
  'policy-check': 'PolicyCheckInput',
  check: 'CheckInput',
  tool: 'ToolInput',
  call: 'CallInput',
  envelope: 'EnvelopeInput',
} as const satisfies Readonly<Record<string, RecordName>>;

export type Shape = keyof typeof SHAPES;

/** When a rule is asked: about a whole surface, about each tool of it, or about each call. */
export const PHASES = {
  list: ['policy-check', 'check'],
  // A tool that is not shown must not be called either.
  tool: ['tool', 'call'],
  call: ['call'],
} as const satisfies Readonly<Record<string, readonly Shape[]>>;

export type Phase = keyof typeof PHASES;
export const PHASE_NAMES = Object.keys(PHASES) as readonly Phase[];
/** The shapes about which a policy file can have rules. */
export const SHAPE_NAMES: readonly Shape[] = [...new Set(Object.values(PHASES).flat())];

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly isOptional: boolean;
}

export type FieldType =
  | { readonly kind: 'string' | 'bool' | 'dyn' }
  | { readonly kind: 'record'; readonly record: RecordName }
  | { readonly kind: 'list' | 'map'; readonly of: FieldType };

/** The fields of each record, by name. */
export const FIELDS: Readonly<Record<RecordName, ReadonlyMap<string, Field>>> = Object.fromEntries(
  Object.entries(RECORDS).map(([record, fields]) => [
    record,
    new Map(
      Object.entries(fields).map(([key, type]) => {
        const name = key.replace(/\?$/, '');
        return [name, { name, type: typeOf(type), isOptional: name !== key }];
      }),
    ),
  ]),
) as Record<RecordName, Map<string, Field>>;

export function isRecord(name: string): name is RecordName {
  return Object.hasOwn(RECORDS, name);
}

function typeOf(text: string): FieldType {
  const [, list, value] = /^list<(.+)>$|^map<string, (.+)>$/.exec(text) ?? [];
  if (list !== undefined) return { kind: 'list', of: typeOf(list) };
  if (value !== undefined) return { kind: 'map', of: typeOf(value) };
  if (isRecord(text)) return { kind: 'record', record: text };
  return { kind: text as 'string' | 'bool' | 'dyn' };
}
