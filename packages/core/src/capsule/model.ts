import type { JsonNumber, JsonObject } from '../json/index.ts';

/**
 * What an open field may hold: plain JavaScript or parsed values. `float(1)` is how a caller writes `1.0` on
 * purpose, a BigInt or a `JsonNumber` how a number keeps digits that a double cannot hold.
 */
export type Data =
  | null
  | boolean
  | string
  | number
  | bigint
  | JsonNumber
  | JsonObject
  | DataArray
  | DataObject;
type DataArray = readonly Data[];
export interface DataObject {
  readonly [key: string]: Data;
}

export const CAPSULE_TYPES = [
  'agent',
  'tool',
  'system',
  'kill',
  'workflow',
  'chat',
  'vault',
  'auth',
] as const;
export const TRIGGER_TYPES = ['user_request', 'scheduled', 'system', 'agent'] as const;
export const AUTHORITY_TYPES = ['autonomous', 'human_approved', 'policy', 'escalated'] as const;
export const OUTCOME_STATUSES = ['pending', 'success', 'failure', 'partial', 'blocked'] as const;

export type CapsuleType = (typeof CAPSULE_TYPES)[number];
export type TriggerType = (typeof TRIGGER_TYPES)[number];
export type AuthorityType = (typeof AUTHORITY_TYPES)[number];
export type OutcomeStatus = (typeof OUTCOME_STATUSES)[number];

/** Releases up to 1.5.2 and the seed hash 12 keys; 1.5.3 hashes `spec_version` too. */
export type Form = '12' | '13';

/** What a field may hold, by its kind. */
interface Kinds {
  readonly string: string;
  /** A string or null. */
  readonly text: string | null;
  readonly integer: number;
  /** Always written with a decimal. */
  readonly float: number;
  readonly boolean: boolean;
  readonly object: DataObject | JsonObject;
  readonly any: Data;
  readonly list: readonly string[];
  readonly records: readonly (DataObject | JsonObject)[];
  readonly options: readonly ReasoningOption[];
  readonly calls: readonly ToolCall[];
}
export type Kind = keyof Kinds;
type Fields = Readonly<Record<string, Kind>>;
type Of<Table extends Fields> = { readonly [Key in keyof Table]: Kinds[Table[Key]] };

export const HEAD = {
  id: 'string',
  type: 'string',
  domain: 'string',
  parent_id: 'text',
  sequence: 'integer',
  previous_hash: 'text',
} as const satisfies Fields;

/** One option that was weighed. */
export const OPTION = {
  id: 'string',
  description: 'string',
  pros: 'list',
  cons: 'list',
  estimated_impact: 'object',
  /** From 0 (impossible) to 1 (trivial). */
  feasibility: 'float',
  risks: 'list',
  selected: 'boolean',
  /** Required of every option that was not selected. */
  rejection_reason: 'string',
} as const satisfies Fields;

/** One external action. */
export const TOOL_CALL = {
  tool: 'string',
  arguments: 'object',
  result: 'any',
  success: 'boolean',
  duration_ms: 'integer',
  error: 'text',
} as const satisfies Fields;

/** The six sections; their fields stand in the order in which the reference's validator reports a missing one. */
export const SECTIONS = {
  /** What initiated the action. */
  trigger: {
    type: 'string',
    source: 'string',
    /** `YYYY-MM-DDTHH:MM:SS[.ffffff]+00:00`; `isoTimestamp` writes it. */
    timestamp: 'string',
    request: 'string',
    correlation_id: 'text',
    user_id: 'text',
  },
  /** The state of the system when the action occurred. */
  context: { agent_id: 'string', session_id: 'text', environment: 'object' },
  /** Why the decision was made. */
  reasoning: {
    analysis: 'string',
    options: 'options',
    /** The descriptions of `options`, in their order. */
    options_considered: 'list',
    selected_option: 'string',
    reasoning: 'string',
    /** From 0 to 1. */
    confidence: 'float',
    model: 'text',
    prompt_hash: 'text',
  },
  /** Who or what authorized the action. */
  authority: {
    type: 'string',
    approver: 'text',
    policy_reference: 'text',
    chain: 'records',
    escalation_reason: 'text',
  },
  /** What happened. */
  execution: { tool_calls: 'calls', duration_ms: 'integer', resources_used: 'object' },
  /** What came of it. */
  outcome: {
    status: 'string',
    result: 'any',
    summary: 'string',
    error: 'text',
    side_effects: 'list',
    metrics: 'object',
  },
} as const satisfies Readonly<Record<string, Fields>>;

type Sections = typeof SECTIONS;
export interface ReasoningOption extends Of<typeof OPTION> {}
export interface ToolCall extends Of<typeof TOOL_CALL> {}
export interface Trigger extends Of<Sections['trigger']> {
  readonly type: TriggerType;
}
export interface Context extends Of<Sections['context']> {}
export interface Reasoning extends Of<Sections['reasoning']> {}
export interface Authority extends Of<Sections['authority']> {
  readonly type: AuthorityType;
}
export interface Execution extends Of<Sections['execution']> {}
export interface Outcome extends Of<Sections['outcome']> {
  readonly status: OutcomeStatus;
}

/** The content of a capsule: what is hashed. With `spec_version` it has 13 keys, without it the seed's 12. */
export interface Capsule extends Of<typeof HEAD> {
  readonly type: CapsuleType;
  readonly spec_version?: string;
  readonly trigger: Trigger;
  readonly context: Context;
  readonly reasoning: Reasoning;
  readonly authority: Authority;
  readonly execution: Execution;
  readonly outcome: Outcome;
}

/** The seal. None of it is part of the hashed content; `signed_at` and `signed_by` prove nothing. */
export interface Seal {
  readonly hash: string;
  readonly signature: string;
  /** Empty where there is no post-quantum signature. */
  readonly signature_pq: string;
  readonly signed_at: string | null;
  readonly signed_by: string;
}

export interface SealedCapsule extends Capsule, Seal {}

export const SECTION_NAMES = Object.keys(SECTIONS) as (keyof typeof SECTIONS)[];

/** The content keys of each form, in the order in which they are checked. */
export const CONTENT: Readonly<Record<Form, readonly (keyof Capsule)[]>> = {
  '12': [...(Object.keys(HEAD) as (keyof typeof HEAD)[]), ...SECTION_NAMES],
  '13': [...(Object.keys(HEAD) as (keyof typeof HEAD)[]), 'spec_version', ...SECTION_NAMES],
};

export const SEAL_FIELDS = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const;

/** The one value of `spec_version` that exists. */
export const SPEC_VERSION = '1.0';
