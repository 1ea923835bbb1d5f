import { BullaError } from '../error.ts';
import { type AnyObject, DEFAULT_MAX_DEPTH, isObject, JsonNumber, keysOf, member } from '../json/index.ts';
import {
  type Authority,
  type Capsule,
  type Context,
  type Execution,
  type Outcome,
  type Reasoning,
  type ReasoningOption,
  SEAL_FIELDS,
  type Seal,
  type SealedCapsule,
  SPEC_VERSION,
  type ToolCall,
  type Trigger,
} from './model.ts';
import { checkShape, type LintFinding } from './shape.ts';
import { isoTimestamp } from './time.ts';
import { validate } from './validate.ts';

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

const UNSEALED: Seal = { hash: '', signature: '', signature_pq: '', signed_at: null, signed_by: '' };

/** The content and the five seal fields; of a capsule that is not sealed they are empty. Copies one level. */
export function toSealedDict(capsule: Capsule | SealedCapsule, seal: Given<Seal> = {}): SealedCapsule {
  const own = Object.fromEntries(
    SEAL_FIELDS.filter((key) => key in capsule).map((key) => [key, (capsule as SealedCapsule)[key]]),
  );
  return { ...toDict(capsule), ...filled(UNSEALED, { ...own, ...seal }) };
}

/**
 * Reads the content of a capsule from a parsed or plain dictionary, into plain data. Numbers become JavaScript
 * numbers where these have the same canonical form, and stay `JsonNumber` otherwise, so that the hash is kept.
 * Throws `CAPSULE_SEALED` when a seal field is there (`fromSealedDict` reads those), `CAPSULE_INVALID` for a
 * key that the protocol does not have, at every typed level, and `CAPSULE_INVALID` for everything else that
 * `validate` or the types refuse. Nothing is dropped, coerced or filled in.
 */
export function fromDict(dict: unknown): Capsule {
  if (isObject(dict)) {
    const sealed = SEAL_FIELDS.find((key) => member(dict, key) !== undefined);
    if (sealed !== undefined) {
      throw new BullaError('CAPSULE_SEALED', 'This has a seal; read it as a sealed capsule.', {
        path: `/${sealed}`,
      });
    }
  }
  const form = isObject(dict) && member(dict, 'spec_version') !== undefined ? '13' : '12';
  const findings: LintFinding[] = [];
  checkShape(dict, findings);
  const unknown = findings.find((finding) => finding.code === 'unknown_key');
  if (unknown !== undefined) throw new BullaError('CAPSULE_INVALID', unknown.message, { path: unknown.path });
  const { ok, field, message } = validate(dict, { form });
  if (!ok)
    throw new BullaError('CAPSULE_INVALID', message, { path: field ? `/${field.replace('.', '/')}` : '' });
  const [first] = findings;
  if (first !== undefined) throw new BullaError('CAPSULE_INVALID', first.message, { path: first.path });

  const content = plain(dict) as Capsule & { reasoning: { confidence: number | JsonNumber } };
  // At these two places an integer and a float have one canonical form, so the double says it all.
  const { reasoning } = content;
  const options = reasoning.options.map((o) => ({ ...o, feasibility: Number(double(o.feasibility)) }));
  return { ...content, reasoning: { ...reasoning, options, confidence: double(reasoning.confidence) } };
}

/** Reads a sealed dictionary as `fromDict` does. Throws `CAPSULE_INVALID` also when a seal field is not a string. */
export function fromSealedDict(dict: unknown): SealedCapsule {
  if (!isObject(dict)) return toSealedDict(fromDict(dict));
  const seal: Record<string, unknown> = {};
  const content: [string, unknown][] = [];
  for (const key of keysOf(dict)) {
    const value = member(dict, key);
    if (!(SEAL_FIELDS as readonly string[]).includes(key)) {
      content.push([key, value]);
    } else if (typeof value === 'string' || (key === 'signed_at' && value === null)) {
      seal[key] = value;
    } else {
      throw new BullaError('CAPSULE_INVALID', 'A seal field must be a string.', { path: `/${key}` });
    }
  }
  return toSealedDict(fromDict(Object.fromEntries(content)), seal as Partial<Seal>);
}

function double(value: unknown): number {
  return value instanceof JsonNumber ? value.toNumber() : (value as number);
}

/** A copy in plain objects and arrays. Throws `VALUE_TOO_DEEP`, also for a value that contains itself. Never recurses. */
function plain(root: unknown): unknown {
  const holder: Record<string, unknown> = {};
  const open: Step[] = [{ source: root, target: holder, key: 'root', depth: 0 }];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { source, target, key } = item;
    const depth = item.depth + 1;
    if (depth > DEFAULT_MAX_DEPTH + 1)
      throw new BullaError('VALUE_TOO_DEEP', `The nesting is deeper than ${DEFAULT_MAX_DEPTH}.`);
    let value = source;
    if (source instanceof JsonNumber) {
      value = plainNumber(source);
    } else if (Array.isArray(source)) {
      const list: unknown[] = new Array(source.length);
      value = list;
      source.forEach(
        (element, i) => void open.push({ source: element, target: list as never, key: i, depth }),
      );
    } else if (isObject(source)) {
      const object: Record<string, unknown> = {};
      value = object;
      for (const name of keysOf(source as AnyObject)) {
        define(object, name, null);
        open.push({ source: member(source as AnyObject, name), target: object, key: name, depth });
      }
    }
    define(target, key, value);
  }
  return holder.root;
}

interface Step {
  source: unknown;
  target: Record<string | number, unknown>;
  key: string | number;
  depth: number;
}

function plainNumber(number: JsonNumber): number | JsonNumber {
  const value = number.toNumber();
  const float = /[.eE]/.test(number.lexeme);
  const same = float ? Number.isFinite(value) && !Number.isInteger(value) : Number.isSafeInteger(value);
  return same ? (value === 0 ? 0 : value) : number;
}

/** Plain assignment, except that `__proto__` becomes an ordinary property. */
function define(target: Record<string | number, unknown>, key: string | number, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}
