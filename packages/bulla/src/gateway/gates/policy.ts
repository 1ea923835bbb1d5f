import { BullaError } from '@bulla/core/error';
import type { Lock } from '@bulla/core/lock';
import {
  type CallFacts,
  callInput,
  type Demand,
  evaluate,
  type Policy,
  prepareInput,
  reads,
} from '@bulla/core/policy';
import type { Part } from '../../record/index.ts';
import { type CountedCall, countedCall, type Store, type Used } from '../../store/index.ts';
import { Denial } from '../denial.ts';
import { findSecrets } from '../secrets/index.ts';
import { type AskedCall, askedCall, foundText, readable, why } from './asked.ts';
import { unmet } from './demands.ts';
import type { Gate, GatedCall } from './gate.ts';

export interface PolicyGateOptions {
  /** Where calls are counted; needed where a rule names `input.used`. */
  readonly store?: Pick<Store, 'reading' | 'time'> | undefined;
  /** Whether the gate only watches: then a limit refuses nothing while the call is sealed. Default false. */
  readonly watches?: boolean | undefined;
}

/** What was found out about a call when it was ruled on. */
interface Asked {
  readonly about: AskedCall;
  readonly facts: CallFacts;
  readonly counted: CountedCall | null;
  readonly demands: ReadonlySet<Demand>;
}

/**
 * Evaluates the operator's rules for each call of a tool, with its locked definition; what no rule looks at is not worked
 * out. With a lock that holds no definitions, every call of a tool is denied. Rules about what was used, or was done in
 * the session, are asked again while the intent is written and after it: of calls that race, no more pass than may. Throws
 * `USAGE` where calls must be counted and no store is given.
 */
export function policyGate(
  given: Policy | readonly Policy[],
  lock: Lock,
  { store, watches = false }: PolicyGateOptions = {},
): Gate {
  const policies: readonly Policy[] = 'rules' in given ? [given] : given;
  const named = (path: readonly string[]) => policies.some((policy) => reads(policy, 'call', path));
  const looks = {
    secrets: named(['call', 'secrets']),
    session: named(['session']),
    used: named(['used']),
  };
  if (looks.used && store === undefined)
    throw new BullaError('USAGE', 'A rule names input.used, and there is no store to count in.');
  const asked = new WeakMap<GatedCall, Asked>();

  const usedNow = async (counted: CountedCall): Promise<Used> => {
    try {
      return await counted.others(store!.reading, await store!.time());
    } catch (cause) {
      const message = 'What was used cannot be read now, so nothing is called.';
      throw new Denial('policy', 'RECORD_FAILED', message, { cause });
    }
  };
  /** The rules whose answers can change until the call is made: the store is locked while they are asked again. */
  const changing = policies.flatMap((policy) => {
    const rules = policy.rules.filter(({ programs }) => {
      const program = programs.get('call');
      return program?.reads(['used']) || program?.reads(['session']);
    });
    return rules.length === 0 ? [] : [{ ...policy, rules }];
  });
  /** Throws a denial where a call that passed may not pass now. */
  const judgeAgain = ({ about, demands, facts }: Asked, now: CallFacts): void => {
    const { denial, demands: more } = judged(changing, about, { ...facts, ...now });
    if (denial !== null) throw denial;
    for (const demand of more) if (!demands.has(demand)) throw unmet(demand);
  };

  return {
    name: 'policy',
    async rule(call) {
      if (call.frame.method !== 'tools/call') return { pass: {} };
      const about = askedCall(call, lock);
      if (about === null) {
        const message = 'The policy cannot decide about this tool: the lock does not hold its definition.';
        return { deny: new Denial('policy', 'POLICY_INPUT', message) };
      }
      const counted = looks.used ? countedCall(userOf(call), call.frame.bytes.length) : null;
      const facts: CallFacts = {
        ...(looks.secrets && { secrets: await findSecrets(about.args) }),
        ...(looks.session && { session: call.session }),
        ...(counted && { used: await usedNow(counted) }),
      };
      const { denial, demands, part } = judged(policies, about, facts);
      if (denial !== null) return { deny: denial, part };
      const now: Asked = { about, facts, counted, demands };
      asked.set(call, now);
      for (const demand of demands) call.demands.add(demand);
      if (counted === null) return { pass: part };
      const check = (used: Used) => (watches ? undefined : judgeAgain(now, { used }));
      return {
        pass: {
          ...part,
          onIntent: () => counted.count(check),
          onOutcome: ({ status }) => (status === 'blocked' ? counted.giveBack : null),
        },
      };
    },
    async again(call) {
      const before = asked.get(call);
      if (before === undefined || changing.length === 0) return;
      const { counted } = before;
      judgeAgain(before, {
        ...(looks.session && { session: call.session }),
        ...(counted && { used: await usedNow(counted) }),
      });
    },
  };
}

function userOf({ call }: GatedCall) {
  const { server, name } = call.tool!;
  return { agent: call.agentId, tool: { server: server!, name }, session: call.sessionId! };
}

interface Judgement {
  readonly denial: Denial | null;
  readonly demands: ReadonlySet<Demand>;
  readonly part: Part;
}

/** What all policies say; the first that forbids is the last that is asked. */
function judged(policies: readonly Policy[], about: AskedCall, facts: CallFacts): Judgement {
  const { definition, args, origin } = about;
  const input = readable(
    () => prepareInput('call', callInput(definition, args, origin, facts)),
    (cause) =>
      new Denial('policy', cause.code, `The rules cannot read this call. ${cause.message}`, { cause }),
  );
  const demands = new Set<Demand>();
  const authority: NonNullable<Part['authority']>[number][] = [];
  const [first] = policies;
  // A record names one policy as its evidence; the others stand in the steps of its authority.
  const evidence = first && { policy: { id: first.name, hash: first.digest } };
  let denial: Denial | null = null;
  for (const policy of policies) {
    const { outcome, rules, digest, demands: more } = evaluate(policy, input);
    const decision = outcome === 'pass' ? 'allow' : outcome === 'fail' ? 'deny' : `demand ${more.join(' ')}`;
    const which = policies.length === 1 ? {} : { policy: digest };
    const step = { step: 'policy', rule: policy.name, ...which, decision };
    authority.push({ type: 'policy', reference: `policy:${digest}`, step });
    for (const demand of more) demands.add(demand);
    if (outcome !== 'fail') continue;
    const failed = rules.filter(({ passed }) => !passed);
    const code = failed.find(({ severity }) => severity === 'error')?.code ?? 'POLICY_DENIED';
    const isAboutSecrets = policy.rules.some(
      ({ name, programs }) =>
        programs.get('call')?.reads(['call', 'secrets']) && failed.some((rule) => rule.name === name),
    );
    const found = foundText(isAboutSecrets ? (facts.secrets ?? []) : []);
    const sentence = `A rule forbids this call. ${why(failed)}`;
    // The names of arguments may be values that somebody made up; a record is for ever.
    const failure = { stage: 'policy', code, sentence: `${sentence}${found.kinds}` } as const;
    denial = new Denial('policy', code, `${sentence}${found.places}`, { failure });
    break;
  }
  return { denial, demands, part: { evidence, authority } };
}
