import type { CelRule } from '../cel/index.ts';
import { BullaError } from '../error.ts';
import {
  type Check,
  integer,
  type Limits,
  list,
  optional,
  orNull,
  type Path,
  parseStrictly,
  pointer,
  record,
  text,
  toPlain,
  word,
} from '../json/index.ts';
import { actionType, amount, bindingFields, decimals, identifier, type PolicyBinding } from './envelope.ts';
import { policyHash } from './hash.ts';
import { comparable, EVM } from './rails.ts';
import { compileRules, type RuleText } from './rules.ts';

// A policy is a versioned document that says what may be executed. The document is the very snapshot whose hash an
// envelope binds, so that anyone can recompute policy_hash from the file alone. What it does not name is refused.

/** An action that may be executed. */
interface ActionRule {
  readonly action_type: string;
  /** How many distinct people must have signed the authorization. */
  readonly people: number;
}

/** An asset that may be moved, and exactly where: on which rail it lives and what its amounts mean. */
interface AssetRule {
  readonly asset: string;
  readonly asset_class: number | null;
  readonly decimals: number;
  readonly rail_type: string;
  readonly network: string;
  readonly chain_id: number | null;
  readonly contract: string | null;
}

/** What of an envelope, besides the tenant, gets a sum of its own. */
export type Partition = 'caller' | 'to' | 'asset' | 'asset_class';

/** A limit on the sum of the amounts of one asset, in its smallest unit. */
interface CeilingRule {
  readonly id: string;
  readonly asset: string;
  readonly per: readonly Partition[];
  /** Seconds; `ever` for a sum that never becomes less; `call` for each execution by itself. */
  readonly window: number | 'ever' | 'call';
  readonly amount: string;
}

/** A limit on the number of executions. */
interface VelocityRule {
  readonly id: string;
  /** The action types that count; null for all. */
  readonly actions: readonly string[] | null;
  readonly per: readonly Partition[];
  readonly window: number | 'ever';
  readonly count: number;
}

interface Snapshot {
  readonly policy_version: number;
  readonly policy_effective_at: number;
  readonly policy_doc: {
    readonly policy_id: string;
    readonly actions: readonly ActionRule[];
    readonly assets: readonly AssetRule[];
    readonly destinations: { readonly allow: readonly string[] | null; readonly deny: readonly string[] };
    readonly ceilings: readonly CeilingRule[];
    readonly velocity: readonly VelocityRule[];
    readonly rules?: readonly RuleText[];
  };
}

declare const checked: unique symbol;

/** A policy that was read exactly, with its hash; only `parsePolicy` makes one. */
export interface Policy extends PolicyBinding {
  /** The second (Unix time) from which it is in effect. */
  readonly policy_effective_at: number;
  readonly actions: readonly ActionRule[];
  readonly assets: readonly AssetRule[];
  /** Null allows every destination that is not denied. */
  readonly allow: Destinations | null;
  readonly deny: Destinations;
  readonly ceilings: readonly CeilingRule[];
  readonly velocity: readonly VelocityRule[];
  /** In CEL; every one of them must hold. */
  readonly rules: readonly CelRule[];
  readonly [checked]: true;
}

/** A list of destinations, as they stand and as they are compared on an EVM rail. */
interface Destinations {
  has(railType: string, to: string): boolean;
}

const POLICY_NAMESPACE = 'cryptocardia.policy.v1';
const POLICY_FORMAT = 'bulla.policy.v1';

const MAX_RULES = 10_000;
const MAX_CUSTOM_RULES = 100;
const MAX_DESTINATIONS = 100_000;
/** A policy may hold long lists of destinations. */
const MAX_BYTES = 16 << 20;

const { rail, target } = bindingFields;
const ruleId = text(1, 64, { pattern: /^[a-z0-9_.-]+$/, what: 'small letters, digits, dots, dashes and _' });

/** Seconds up to a hundred years, or one of the words. */
function windowOf(...words: readonly string[]): Check {
  const seconds = integer(1, 100 * 366 * 86_400);
  return {
    what: `a number of seconds or ${words.join(' or ')}`,
    nullable: false,
    run(value, at, report) {
      if (typeof value !== 'string') seconds.run(value, at, report);
      else if (!words.includes(value)) report('invalid', at, `This must be ${this.what}.`);
    },
  };
}

function rulesOf(fields: Readonly<Record<string, Check>>): Check {
  return list(record(fields), 0, MAX_RULES);
}

const schema = record({
  policy_namespace: word(POLICY_NAMESPACE),
  policy_version: integer(1),
  policy_effective_at: integer(0),
  policy_doc: record({
    format: word(POLICY_FORMAT),
    policy_id: identifier,
    actions: rulesOf({ action_type: actionType, people: integer(1, 100) }),
    assets: rulesOf({
      asset: target.asset,
      asset_class: target.asset_class,
      decimals,
      rail_type: rail.type,
      network: rail.network,
      chain_id: rail.chain_id,
      contract: rail.contract,
    }),
    destinations: record({
      allow: orNull(list(target.to, 0, MAX_DESTINATIONS)),
      deny: list(target.to, 0, MAX_DESTINATIONS),
    }),
    ceilings: rulesOf({
      id: ruleId,
      asset: target.asset,
      per: list(word('caller', 'to', 'asset_class'), 0, 3),
      window: windowOf('ever', 'call'),
      amount,
    }),
    velocity: rulesOf({
      id: ruleId,
      actions: orNull(list(actionType, 1, MAX_RULES)),
      per: list(word('caller', 'to', 'asset', 'asset_class'), 0, 4),
      window: windowOf('ever'),
      count: integer(0),
    }),
    rules: optional(
      list(record({ id: ruleId, expr: text(1, 8192), message: text(0, 512) }), 0, MAX_CUSTOM_RULES),
    ),
  }),
});

/**
 * Reads a policy document. Throws `EE_POLICY_INVALID` with the path for anything that is not exactly one: text that
 * is not strict JSON, unknown and missing fields, wrong values, an action, asset or rule id that stands there twice,
 * a ceiling on an asset that is not listed or whose entries differ in decimals, and a rule in CEL that cannot be
 * evaluated. Only the `rules` may be left out.
 */
export function parsePolicy(input: string | Uint8Array, limits: Limits = {}): Policy {
  const sentence = 'The policy is not strict JSON';
  const root = parseStrictly(input, { maxBytes: MAX_BYTES, ...limits }, 'EE_POLICY_INVALID', sentence);
  schema.run(root, [], (_, at, message) => {
    throw invalid(message, at);
  });
  const { policy_version, policy_effective_at, policy_doc } = frozen(toPlain(root)) as unknown as Snapshot;
  const { policy_id, actions, assets, destinations, ceilings, velocity, rules = [] } = policy_doc;
  refuseTwice('actions', actions, ({ action_type }) => action_type);
  refuseTwice('assets', assets, assetKey);
  refuseTwice('ceilings', ceilings, ({ id }) => id);
  refuseTwice('velocity', velocity, ({ id }) => id);
  refuseTwice('rules', rules, ({ id }) => id);
  checkDecimals(ceilings, assets);
  return Object.freeze({
    policy_id,
    policy_version,
    policy_hash: policyHash(root),
    policy_effective_at,
    actions,
    assets,
    allow: destinations.allow && destinationsOf(destinations.allow),
    deny: destinationsOf(destinations.deny),
    ceilings,
    velocity,
    rules: frozen(
      compileRules(rules, (i, message) => {
        throw invalid(message, ['policy_doc', 'rules', i, 'expr']);
      }),
    ),
  }) as unknown as Policy;
}

/** One policy decides about many envelopes, so that whoever holds a permit must not change it. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

function invalid(sentence: string, at: Path): BullaError {
  return new BullaError('EE_POLICY_INVALID', sentence, { path: pointer(at) });
}

function refuseTwice<Rule>(name: string, list: readonly Rule[], keyOf: (rule: Rule) => string): void {
  const seen = new Set<string>();
  for (const [i, rule] of list.entries()) {
    if (seen.size === seen.add(keyOf(rule)).size)
      throw invalid('This stands in the list twice.', ['policy_doc', name, i]);
  }
}

/** What tells one entry from another; their decimals do not, for amounts would then have two meanings. */
function assetKey(rule: AssetRule): string {
  const { asset, asset_class, rail_type, network, chain_id, contract } = rule;
  const place = contract === null ? null : comparable(rail_type, contract);
  return JSON.stringify([asset, asset_class, rail_type, network, chain_id, place]);
}

/** The amounts of a ceiling are in the smallest unit of its asset, which must be one. */
function checkDecimals(ceilings: readonly CeilingRule[], assets: readonly AssetRule[]): void {
  const byName = Map.groupBy(assets, ({ asset }) => asset);
  for (const [i, { asset }] of ceilings.entries()) {
    const entries = byName.get(asset);
    const at = ['policy_doc', 'ceilings', i, 'asset'];
    if (entries === undefined) throw invalid('The policy lists no such asset.', at);
    if (entries.some((entry) => entry.decimals !== entries[0]!.decimals))
      throw invalid('The entries of this asset differ in their decimals.', at);
  }
}

function destinationsOf(list: readonly string[]): Destinations {
  const exact = new Set(list);
  const evm = new Set(list.map((to) => comparable(EVM, to)));
  return Object.freeze<Destinations>({
    has: (railType, to) => (railType === EVM ? evm : exact).has(comparable(railType, to)),
  });
}

/** The entry of the policy for exactly this asset on this rail. */
export function assetRule(policy: Policy, of: Omit<AssetRule, 'decimals'>): AssetRule | undefined {
  const key = assetKey({ ...of, decimals: 0 });
  return policy.assets.find((rule) => rule.asset === of.asset && assetKey(rule) === key);
}
