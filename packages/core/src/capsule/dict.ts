import {
  type Authority,
  type Capsule,
  type Context,
  type Execution,
  type Outcome,
  type Reasoning,
  type ReasoningOption,
  SPEC_VERSION,
  type ToolCall,
  type Trigger,
} from './model.ts';
import { isoTimestamp } from './time.ts';

type Given<T> = { readonly [K in keyof T]?: T[K] | undefined };

type Head = Pick<Capsule, 'id' | 'type' | 'domain' | 'parent_id' | 'sequence' | 'previous_hash'>;

/** What a caller says of a new capsule; all the rest takes its default. */
export interface CapsuleInput extends Given<Omit<Head, 'id'>> {
  readonly trigger?: Given<Trigger> | undefined;
  readonly context?: Given<Context> | undefined;
  readonly reasoning?:
    | (Given<Omit<Reasoning, 'options'>> & {
        readonly options?: readonly Given<ReasoningOption>[] | undefined;
      })
    | undefined;
  readonly authority?: Given<Authority> | undefined;
  readonly execution?:
    | (Given<Omit<Execution, 'tool_calls'>> & {
        readonly tool_calls?: readonly (Given<ToolCall> & { readonly tool: string })[] | undefined;
      })
    | undefined;
  readonly outcome?: Given<Outcome> | undefined;
}

interface CreateOptions {
  /** A fresh UUID v4 in lower case. */
  readonly id: string;
  /** Becomes `trigger.timestamp` where that is not given. */
  readonly now: Date;
  /** Write `spec_version` "1.0", the 13-key form of release 1.5.3. Default false: the seed's 12 keys. */
  readonly specVersion?: boolean;
}

/**
 * Makes a capsule with every field of the protocol. Options and tool calls become full records, and
 * `options_considered` is derived from the options unless it is given. Values inside open fields are not copied.
 * Nothing is checked here but `now` (`CAPSULE_TIMESTAMP`): `lint` does, and the sealer asks it.
 */
export function createCapsule(input: CapsuleInput, { id, now, specVersion = false }: CreateOptions): Capsule {
  const { trigger, context, reasoning, authority, execution, outcome, ...head } = input;
  const options = (reasoning?.options ?? []).map((option) => filled(emptyOption(), option));
  const tool_calls = (execution?.tool_calls ?? []).map((call) => filled(emptyCall(), call));
  return {
    ...filled<Head>(
      { id, type: 'agent', domain: 'agents', parent_id: null, sequence: 0, previous_hash: null },
      head,
    ),
    ...(specVersion ? { spec_version: SPEC_VERSION } : {}),
    trigger: filled<Trigger>(
      {
        type: 'user_request',
        source: '',
        timestamp: trigger?.timestamp ?? isoTimestamp(now),
        request: '',
        correlation_id: null,
        user_id: null,
      },
      trigger,
    ),
    context: filled<Context>({ agent_id: '', session_id: null, environment: {} }, context),
    reasoning: filled<Reasoning>(
      {
        analysis: '',
        options,
        options_considered: options.map((option) => option.description),
        selected_option: '',
        reasoning: '',
        confidence: 0,
        model: null,
        prompt_hash: null,
      },
      reasoning && { ...reasoning, options },
    ),
    authority: filled<Authority>(
      { type: 'autonomous', approver: null, policy_reference: null, chain: [], escalation_reason: null },
      authority,
    ),
    execution: filled<Execution>(
      { tool_calls, duration_ms: 0, resources_used: {} },
      execution && { ...execution, tool_calls },
    ),
    outcome: filled<Outcome>(
      { status: 'pending', result: null, summary: '', error: null, side_effects: [], metrics: {} },
      outcome,
    ),
  };
}

function emptyOption(): ReasoningOption {
  return {
    id: '',
    description: '',
    pros: [],
    cons: [],
    estimated_impact: {},
    feasibility: 0,
    risks: [],
    selected: false,
    rejection_reason: '',
  };
}

function emptyCall(): ToolCall {
  return { tool: '', arguments: {}, result: null, success: false, duration_ms: 0, error: null };
}

/** The defaults, overlaid with what is given; a property that is there but `undefined` is not given. */
function filled<T extends object>(defaults: T, given: Given<T> | undefined): T {
  const out = { ...defaults, ...given } as Record<string, unknown>;
  for (const key in given) {
    if (given[key] === undefined) out[key] = defaults[key];
  }
  return out as T;
}

/** The content alone, 12 or 13 keys as the capsule has `spec_version` or not; a seal is left out. Copies one level. */
export function toDict(capsule: Capsule): Capsule {
  const { id, type, domain, parent_id, sequence, previous_hash, spec_version } = capsule;
  const { trigger, context, reasoning, authority, execution, outcome } = capsule;
  const head = { id, type, domain, parent_id, sequence, previous_hash };
  const sections = { trigger, context, reasoning, authority, execution, outcome };
  return spec_version === undefined ? { ...head, ...sections } : { ...head, spec_version, ...sections };
}
