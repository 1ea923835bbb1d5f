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

/** What initiated the action. */
export interface Trigger {
  readonly type: TriggerType;
  readonly source: string;
  /** `YYYY-MM-DDTHH:MM:SS[.ffffff]+00:00`; `isoTimestamp` writes it. */
  readonly timestamp: string;
  readonly request: string;
  readonly correlation_id: string | null;
  readonly user_id: string | null;
}

/** The state of the system when the action occurred. */
export interface Context {
  readonly agent_id: string;
  readonly session_id: string | null;
  readonly environment: DataObject | JsonObject;
}

/** One option that was weighed. */
export interface ReasoningOption {
  readonly id: string;
  readonly description: string;
  readonly pros: readonly string[];
  readonly cons: readonly string[];
  readonly estimated_impact: DataObject | JsonObject;
  /** From 0 (impossible) to 1 (trivial); always written with a decimal. */
  readonly feasibility: number;
  readonly risks: readonly string[];
  readonly selected: boolean;
  /** Required of every option that was not selected. */
  readonly rejection_reason: string;
}

/** Why the decision was made. */
export interface Reasoning {
  readonly analysis: string;
  readonly options: readonly ReasoningOption[];
  /** The descriptions of `options`, in their order. */
  readonly options_considered: readonly string[];
  readonly selected_option: string;
  readonly reasoning: string;
  /** From 0 to 1; always written with a decimal. */
  readonly confidence: number;
  readonly model: string | null;
  readonly prompt_hash: string | null;
}

/** Who or what authorized the action. */
export interface Authority {
  readonly type: AuthorityType;
  readonly approver: string | null;
  readonly policy_reference: string | null;
  readonly chain: readonly (DataObject | JsonObject)[];
  readonly escalation_reason: string | null;
}

/** One external action. */
export interface ToolCall {
  readonly tool: string;
  readonly arguments: DataObject | JsonObject;
  readonly result: Data;
  readonly success: boolean;
  readonly duration_ms: number;
  readonly error: string | null;
}

/** What happened. */
export interface Execution {
  readonly tool_calls: readonly ToolCall[];
  readonly duration_ms: number;
  readonly resources_used: DataObject | JsonObject;
}

/** What came of it. */
export interface Outcome {
  readonly status: OutcomeStatus;
  readonly result: Data;
  readonly summary: string;
  readonly error: string | null;
  readonly side_effects: readonly string[];
  readonly metrics: DataObject | JsonObject;
}

/** The content of a capsule: what is hashed. With `spec_version` it has 13 keys, without it the seed's 12. */
export interface Capsule {
  readonly id: string;
  readonly type: CapsuleType;
  readonly domain: string;
  readonly parent_id: string | null;
  readonly sequence: number;
  readonly previous_hash: string | null;
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

/** Releases up to 1.5.2 and the seed hash 12 keys; 1.5.3 hashes `spec_version` too. */
export type Form = '12' | '13';

/** What a field must be. `text` is a string or null; `list` an array of strings; `records` an array of objects. */
export type Kind =
  | 'string'
  | 'text'
  | 'integer'
  | 'float'
  | 'boolean'
  | 'object'
  | 'any'
  | 'list'
  | 'records'
  | 'options'
  | 'calls';

export const HEAD = {
  id: 'string',
  type: 'string',
  domain: 'string',
  parent_id: 'text',
  sequence: 'integer',
  previous_hash: 'text',
} as const satisfies Record<string, Kind>;

export const OPTION: Readonly<Record<keyof ReasoningOption, Kind>> = {
  id: 'string',
  description: 'string',
  pros: 'list',
  cons: 'list',
  estimated_impact: 'object',
  feasibility: 'float',
  risks: 'list',
  selected: 'boolean',
  rejection_reason: 'string',
};

export const TOOL_CALL: Readonly<Record<keyof ToolCall, Kind>> = {
  tool: 'string',
  arguments: 'object',
  result: 'any',
  success: 'boolean',
  duration_ms: 'integer',
  error: 'text',
};

/** The six sections; their fields stand in the order in which the reference's validator reports a missing one. */
type SectionName = 'trigger' | 'context' | 'reasoning' | 'authority' | 'execution' | 'outcome';
export const SECTIONS: { readonly [Name in SectionName]: Readonly<Record<keyof Capsule[Name], Kind>> } = {
  trigger: {
    type: 'string',
    source: 'string',
    timestamp: 'string',
    request: 'string',
    correlation_id: 'text',
    user_id: 'text',
  },
  context: { agent_id: 'string', session_id: 'text', environment: 'object' },
  reasoning: {
    analysis: 'string',
    options: 'options',
    options_considered: 'list',
    selected_option: 'string',
    reasoning: 'string',
    confidence: 'float',
    model: 'text',
    prompt_hash: 'text',
  },
  authority: {
    type: 'string',
    approver: 'text',
    policy_reference: 'text',
    chain: 'records',
    escalation_reason: 'text',
  },
  execution: { tool_calls: 'calls', duration_ms: 'integer', resources_used: 'object' },
  outcome: {
    status: 'string',
    result: 'any',
    summary: 'string',
    error: 'text',
    side_effects: 'list',
    metrics: 'object',
  },
};

export const SECTION_NAMES = Object.keys(SECTIONS) as (keyof typeof SECTIONS)[];

/** The content keys of each form, in the order in which they are checked. */
export const CONTENT: Readonly<Record<Form, readonly (keyof Capsule)[]>> = {
  '12': [...(Object.keys(HEAD) as (keyof typeof HEAD)[]), ...SECTION_NAMES],
  '13': [...(Object.keys(HEAD) as (keyof typeof HEAD)[]), 'spec_version', ...SECTION_NAMES],
};

export const SEAL_FIELDS = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const;

/** The one value of `spec_version` that exists. */
export const SPEC_VERSION = '1.0';
