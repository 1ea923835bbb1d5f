import { canonicalize } from '../canon/index.ts';
import { sha256Hex } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import type { Envelope, Problem } from './envelope.ts';
import { assetRule, type Partition, type Policy } from './policy.ts';
import { comparable, type FieldProblem, railProblem, TOOL_CALL } from './rails.ts';
import { ruleProblems } from './rules.ts';

// Hard constraints. Amounts are integers of any size in the asset's smallest unit; nothing is ever rescaled.

/**
 * A part of a limit that an execution takes up. A ledger keeps for every `key` a sum for every bucket. To take a
 * reservation it adds up the key's buckets from `from` on, those of later times included, so that a clock that was
 * set back gains nothing; if that and `amount` exceed `ceiling`, it refuses (`limitExceeded`), else it adds `amount`
 * to `bucket`. All reservations of an envelope are taken in one transaction with its nonce, or none. To release
 * one, after an execution that surely did not happen, `amount` is subtracted from `bucket` again.
 */
export interface Reservation {
  /** 64 hex digits: the limit and whose sum it is. The version of the policy is no part of it. */
  readonly key: string;
  /** `ceilings` or `velocity`, and the id of the rule. */
  readonly limit: 'ceilings' | 'velocity';
  readonly rule: string;
  /** Seconds, or `ever`. */
  readonly window: number | 'ever';
  readonly bucket: number;
  readonly from: number;
  readonly amount: bigint;
  readonly ceiling: bigint;
}

/** What a policy says about an envelope. */
interface Evaluation {
  /** Empty when the policy permits it, as far as the figures tell. */
  readonly violations: readonly Problem[];
  /** What the ledger must take; empty when there are violations. */
  readonly reservations: readonly Reservation[];
}

interface Circumstances {
  /** Unix time in seconds. */
  readonly now: number;
  /** How many distinct people signed the authorization. */
  readonly people: number;
  /**
   * For the key of a reservation the sum of its buckets from `from` on; a key that is not there has not been used.
   * The figures may be left out or be old: the ledger decides anew when it takes the reservations.
   */
  readonly usage?: ReadonlyMap<string, bigint>;
}

const SLOTS = 60;

/**
 * The buckets of a window of this length in seconds. It slides: time is cut, from the epoch on, into slots of a sixtieth of
 * the window, rounded up to whole seconds, and the sum at `now` covers every slot that holds a second of the last
 * `seconds` seconds. So within any stretch of that length no more than the ceiling is ever spent, also across
 * midnight; a use counts up to one slot longer than it would have to. Sixty-odd sums a key are enough, however many
 * executions there are.
 */
export function buckets(window: number | 'ever', now: number): { bucket: number; from: number } {
  if (window === 'ever') return { bucket: 0, from: 0 };
  const slot = Math.ceil(window / SLOTS);
  return { bucket: Math.floor(now / slot), from: Math.floor((now - window + 1) / slot) };
}

/**
 * Checks an envelope against a policy, in this order: rail invariants, action, people, asset and decimals,
 * destination, ceilings on each execution, rules in CEL, ceilings on sums, velocity. Destinations and assets of a
 * `TOOL_CALL` belong to the lock and are not looked at here. Never throws.
 */
export function evaluateConstraints(
  policy: Policy,
  envelope: Envelope,
  { now, people, usage }: Circumstances,
): Evaluation {
  const violations: Problem[] = [];
  const violated = (problem: FieldProblem | undefined) => {
    if (problem !== undefined) violations.push({ code: 'EE_CONSTRAINT_VIOLATION', ...problem });
  };
  violated(railProblem(envelope));
  const action = policy.actions.find(({ action_type }) => action_type === envelope.action_type);
  if (action === undefined) {
    violated({ path: '/action_type', message: 'The policy does not permit this action.' });
  } else if (people < action.people) {
    const needed = action.people === 1 ? '1 person' : `${action.people} people`;
    const message = `This action needs ${needed} to sign, and ${people} did.`;
    violations.push({ code: 'EE_AO_THRESHOLD', path: '/action_type', message });
  }
  if (envelope.action_type !== TOOL_CALL) {
    violated(assetProblem(policy, envelope));
    violated(destinationProblem(policy, envelope));
  }
  violated(callProblem(policy, envelope));
  for (const problem of ruleProblems(policy.rules, envelope, people)) violated(problem);
  const reservations = reservationsOf(policy, envelope, now);
  for (const reservation of reservations) {
    const used = usage?.get(reservation.key) ?? 0n;
    if (used + reservation.amount > reservation.ceiling) violated(excess(reservation, used));
  }
  return { violations, reservations: violations.length === 0 ? reservations : [] };
}

function assetProblem(policy: Policy, { rail, target }: Envelope): FieldProblem | undefined {
  const { asset, asset_class } = target;
  const { type: rail_type, network, chain_id, contract } = rail;
  const rule = assetRule(policy, { asset, asset_class, rail_type, network, chain_id, contract });
  if (rule === undefined) {
    const known = policy.assets.some((each) => each.asset === asset);
    if (known) return { path: '/rail', message: 'The policy does not list the asset on this rail.' };
    return { path: '/target/asset', message: 'The policy does not list this asset.' };
  }
  if (rule.decimals === target.decimals) return undefined;
  const message = `The policy knows this asset with ${rule.decimals} decimals.`;
  return { path: '/target/decimals', message };
}

function destinationProblem({ allow, deny }: Policy, { rail, target }: Envelope): FieldProblem | undefined {
  const path = '/target/to';
  if (deny.has(rail.type, target.to)) return { path, message: 'The policy denies this destination.' };
  if (allow === null || allow.has(rail.type, target.to)) return undefined;
  return { path, message: 'The policy does not list this destination.' };
}

/** A ceiling on each call by itself needs no sum. */
function callProblem(policy: Policy, { target }: Envelope): FieldProblem | undefined {
  for (const { id, asset, window, amount } of policy.ceilings) {
    if (window !== 'call' || asset !== target.asset || BigInt(target.amount) <= BigInt(amount)) continue;
    return { path: '/target/amount', message: `The limit ${id} is ${BigInt(amount)} for each execution.` };
  }
  return undefined;
}

/**
 * What an execution at this time would take up of the policy's limits, in the order of the rules. An amount of 0
 * takes up nothing of a ceiling.
 */
export function reservationsOf(policy: Policy, envelope: Envelope, now: number): Reservation[] {
  return limitsOf(policy, envelope).map((limit) => ({ ...limit, ...buckets(limit.window, now) }));
}

type Taken = Omit<Reservation, keyof ReturnType<typeof buckets>>;

/** The ledger asks again when it consumes; neither a policy nor an envelope ever changes. */
const known = new WeakMap<Envelope, { readonly policy: Policy; readonly taken: readonly Taken[] }>();

/** The same whenever it is. */
function limitsOf(policy: Policy, envelope: Envelope): readonly Taken[] {
  const before = known.get(envelope);
  if (before?.policy === policy) return before.taken;
  const { target, action_type } = envelope;
  const taken: Taken[] = [];
  const amount = BigInt(target.amount);
  for (const { id, asset, per, window, amount: ceiling } of policy.ceilings) {
    if (window === 'call' || asset !== target.asset || amount === 0n) continue;
    const key = keyOf(policy, envelope, ['ceilings', id, window, asset, target.decimals], per);
    taken.push({ key, limit: 'ceilings', rule: id, window, ceiling: BigInt(ceiling), amount });
  }
  for (const { id, actions, per, window, count } of policy.velocity) {
    if (actions !== null && !actions.includes(action_type)) continue;
    const key = keyOf(policy, envelope, ['velocity', id, window], per);
    taken.push({ key, limit: 'velocity', rule: id, window, ceiling: BigInt(count), amount: 1n });
  }
  known.set(envelope, { policy, taken });
  return taken;
}

const PARTITIONS: Readonly<Record<Partition, (envelope: Envelope) => string | number | null>> = {
  caller: ({ actor }) => actor.caller,
  to: ({ rail, target }) => comparable(rail.type, target.to),
  asset: ({ target }) => target.asset,
  asset_class: ({ target }) => target.asset_class,
};

/**
 * The tenant is no part of it: a ledger keeps the sums of one tenant, and no envelope chooses another sum by naming
 * another tenant. Sums go on when a policy gets a new version; they begin anew when a rule changes its id, its window or the parts
 * by which it sums. The parts count as a set.
 */
function keyOf(
  policy: Policy,
  envelope: Envelope,
  limit: readonly (string | number)[],
  per: readonly Partition[],
): string {
  const parts = Object.fromEntries(per.map((part) => [part, PARTITIONS[part](envelope)]));
  const whole = [policy.policy_id, ...limit, parts];
  return sha256Hex(`bulla:reservation:v2\u0000${canonicalize(whole, 'jcs')}`);
}

function excess({ limit, rule, ceiling, window, amount }: Reservation, used: bigint): FieldProblem {
  const left = ceiling > used ? ceiling - used : 0n;
  const time = window === 'ever' ? 'in all' : `in ${window} seconds`;
  if (limit === 'velocity')
    return { path: '/action_type', message: `The limit ${rule} is ${ceiling} executions ${time}.` };
  const message = `The limit ${rule} is ${ceiling} ${time}; ${left} is left, and this is ${amount}.`;
  return { path: '/target/amount', message };
}

/** The refusal of a reservation by a ledger that found this much used already. */
export function limitExceeded(reservation: Reservation, used: bigint): BullaError {
  const { path, message } = excess(reservation, used);
  return new BullaError('EE_CONSTRAINT_VIOLATION', message, { path });
}
