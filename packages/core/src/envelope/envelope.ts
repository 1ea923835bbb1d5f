import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import {
  type Check,
  type Fault,
  integer,
  JsonObject,
  type JsonValue,
  type Limits,
  orNull,
  parseStrictly,
  pointer,
  type Report,
  record,
  stringify,
  text,
  toPlain,
  word,
} from '../json/index.ts';

// Execution Envelope v1. Every field but `metadata` is binding: it is part of exec_hash.

/** Where the action takes effect. */
export interface Rail {
  readonly type: string;
  readonly network: string;
  readonly chain_id: number | null;
  readonly contract: string | null;
}

/** Who acts. */
export interface Actor {
  readonly caller: string;
  readonly role: string | null;
}

/** What is done to whom. */
export interface Target {
  readonly to: string;
  readonly asset: string;
  readonly asset_class: number | null;
  /** Digits, in the asset's smallest unit. */
  readonly amount: string;
  /** How many of the digits stand behind the point when the amount is shown. */
  readonly decimals: number;
}

/** The boundary within which a nonce is used once. */
export type ReplayScope = 'caller' | 'tenant' | 'global';

export interface Constraints {
  /** The last second (Unix time) at which the action may be executed. */
  readonly ttl: number;
  readonly nonce: number;
  readonly replay_scope: ReplayScope;
}

/** The policy under which the action was authorized. */
export interface PolicyBinding {
  readonly policy_id: string;
  readonly policy_version: number;
  readonly policy_hash: string;
}

/** The binding fields. */
export interface BindingPayload {
  readonly version: 1;
  readonly intent_id: string;
  readonly execution_id: string;
  readonly tenant_id: string;
  readonly action_type: string;
  readonly rail: Rail;
  readonly actor: Actor;
  readonly target: Target;
  readonly constraints: Constraints;
  readonly policy_binding: PolicyBinding;
}

/** What an envelope is made from: the binding fields, and metadata that binds nothing. */
export interface EnvelopeFields extends BindingPayload {
  readonly metadata: JsonObject | { readonly created_at: number; readonly [name: string]: unknown };
}

declare const checked: unique symbol;

/** An envelope that passed every check of the schema; only `parseEnvelope` and `createEnvelope` make one. */
export interface Envelope extends BindingPayload {
  /** Informational, and no part of exec_hash: never decide by it. */
  readonly metadata: JsonObject;
  readonly [checked]: true;
}

/** One thing that is wrong with a document. */
export interface Problem {
  readonly code: Code;
  /** JSON Pointer of the place; null where the text could not be read that far. */
  readonly path: string | null;
  readonly message: string;
}

const CAPITALS = { pattern: /^[A-Z0-9_]+$/, what: 'capital letters, digits and underscores' };
/** §3.5: no leading zeros, so that one amount has one exec_hash. The published schema's pattern is laxer. */
const DIGITS = { pattern: /^(?:0|[1-9][0-9]*)$/, what: 'digits without a leading zero' };

export const actionType: Check = text(2, 64, CAPITALS);
export const amount: Check = text(1, 80, DIGITS);
export const decimals: Check = integer(0, 36);
export const identifier: Check = text(1, 256);

/** The fields that exec_hash covers, by which also an argument of a tool can be bound. */
export const bindingFields = {
  version: integer(1, 1),
  intent_id: identifier,
  execution_id: identifier,
  tenant_id: identifier,
  action_type: actionType,
  rail: {
    type: text(2, 64, CAPITALS),
    network: text(1, 128),
    chain_id: orNull(integer(1)),
    contract: orNull(text(1, 128)),
  },
  actor: { caller: identifier, role: orNull(text(1, 128)) },
  target: {
    to: text(1, 512),
    asset: text(1, 128),
    asset_class: orNull(integer(0)),
    amount,
    decimals,
  },
  constraints: { ttl: integer(0), nonce: integer(0), replay_scope: word('caller', 'tenant', 'global') },
  policy_binding: { policy_id: identifier, policy_version: integer(1), policy_hash: text(6, 256) },
} as const;

const schema = record({
  ...bindingFields,
  rail: record(bindingFields.rail),
  actor: record(bindingFields.actor),
  target: record(bindingFields.target),
  constraints: record(bindingFields.constraints),
  policy_binding: record(bindingFields.policy_binding),
  metadata: record({ created_at: integer(0) }, 'open'),
});

const CODES: Readonly<Record<Fault, Code>> = {
  invalid: 'EE_SCHEMA_INVALID',
  unknown: 'EE_UNKNOWN_FIELD',
  missing: 'EE_MISSING_FIELD',
};

/**
 * Reads an envelope from its text. Throws with the path at the first failure, in this order: `EE_INVALID_JSON` for
 * what is not strict JSON (also a duplicate key or a leading zero; with the byte offset), then object by object,
 * outermost first, in the order of the fields above: `EE_UNKNOWN_FIELD`, `EE_MISSING_FIELD`, and
 * `EE_SCHEMA_INVALID` for the values. The result does not change.
 */
export function parseEnvelope(input: string | Uint8Array, limits: Limits = {}): Envelope {
  const root = parseJson(input, limits);
  schema.run(root, [], (fault, at, sentence) => {
    throw new BullaError(CODES[fault], sentence, { path: pointer(at) });
  });
  return envelopeOf(root as JsonObject);
}

/** Everything that is wrong with an envelope, in the order in which `parseEnvelope` looks; empty if it is right. */
export function explainEnvelope(input: string | Uint8Array, limits: Limits = {}): Problem[] {
  const problems: Problem[] = [];
  const report: Report = (fault, at, message) =>
    problems.push({ code: CODES[fault], path: pointer(at), message });
  try {
    schema.run(parseJson(input, limits), [], report);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    problems.push({ code: error.code, path: error.path ?? null, message: error.message });
  }
  return problems;
}

function parseJson(input: string | Uint8Array, limits: Limits): JsonValue {
  return parseStrictly(input, limits, 'EE_INVALID_JSON', 'The envelope is not strict JSON');
}

function envelopeOf(root: JsonObject): Envelope {
  const binding = root.keys.filter((key) => key !== 'metadata');
  const fields = new JsonObject(
    binding,
    binding.map((key) => root.get(key)!),
  );
  const envelope = toPlain(fields) as unknown as BindingPayload;
  for (const part of Object.values(envelope)) Object.freeze(part);
  return Object.freeze({ ...envelope, metadata: root.get('metadata') as JsonObject }) as Envelope;
}

/**
 * Makes an envelope from plain values, held to the same rules as a text. Throws as `parseEnvelope` does, and
 * `VALUE_…` for what JSON cannot hold.
 */
export function createEnvelope(fields: EnvelopeFields): Envelope {
  return parseEnvelope(stringify(fields));
}

/** The envelope as compact JSON with its metadata; `parseEnvelope` reads the same back. */
export function writeEnvelope(envelope: Envelope): string {
  return stringify(envelope);
}
