import { ask, MAX_TOTAL_COST, type PreparedInput, passed, type RuleResult } from '../cel/index.ts';
import type { Policy, PolicyMode, Rule } from './policy.ts';
import { PHASES, type Shape } from './shape.ts';

/** What a call needs before it may be made. */
export type Demand = 'person' | 'envelope';

const DEMANDS = { deny: null, escalate: 'person', envelope: 'envelope' } as const satisfies Record<
  Rule['decision'],
  Demand | null
>;

export interface PolicyVerdict {
  /** `demand`: nothing forbids the call, and `demands` says what it needs. */
  readonly outcome: 'pass' | 'demand' | 'fail';
  readonly demands: readonly Demand[];
  readonly mode: PolicyMode;
  /** Of the rules that were asked, in the order of the policy. */
  readonly rules: readonly RuleResult[];
  /** How many rules failed, by severity. */
  readonly errors: number;
  readonly warnings: number;
  /** Of the policy. */
  readonly digest: string;
}

/**
 * Asks the rules that are about an input of this shape; for a call, those about its tool too. A verdict of no rule
 * passes: nothing forbids. Who must have asked something looks at `rules`. Never throws.
 */
export function evaluate(policy: Policy, input: PreparedInput<Shape>): PolicyVerdict {
  const budget = { left: MAX_TOTAL_COST };
  const asked = policy.rules.filter(({ phase }) => (PHASES[phase] as readonly Shape[]).includes(input.shape));
  return verdictOf(
    policy,
    asked.map((rule) => ask(rule, input, budget)),
    asked,
  );
}

/** Whether a rule about calls, or about results, may look at this member of the input: else it need not be there. */
export function reads({ rules }: Policy, shape: 'call' | 'result', path: readonly string[]): boolean {
  return rules.some(({ programs }) => programs.get(shape)?.reads(path));
}

/** One tool of a surface, with its name. */
export interface NamedTool {
  readonly name: string;
  readonly input: PreparedInput<'tool'>;
}

/** Asks the rules about a whole surface, and those about a tool for each of its tools. */
export function evaluateSurface(
  policy: Policy,
  input: PreparedInput<'policy-check' | 'check'>,
  tools: readonly NamedTool[],
): PolicyVerdict {
  const budget = { left: MAX_TOTAL_COST };
  const rules = policy.rules.flatMap((rule) => {
    if (rule.phase === 'list') return [ask(rule, input, budget)];
    if (rule.phase !== 'tool') return [];
    const failed = tools
      .map(({ name, input: tool }) => ({ name, result: ask(rule, tool, budget) }))
      .filter(({ result }) => !result.passed);
    const [first] = failed.toSorted((a, b) => rank(a.result) - rank(b.result));
    return [first === undefined ? passed(rule) : { ...first.result, tools: failed.map(({ name }) => name) }];
  });
  return verdictOf(policy, rules);
}

/** An error before a warning. */
function rank({ severity }: RuleResult): number {
  return severity === 'error' ? 0 : 1;
}

/**
 * Judges results: an error fails, and in mode `strict` a warning does too. Where every rule that fails only demands
 * something, so does the verdict; one that could not be answered demands nothing and fails. `asked` are the rules, where
 * they may demand.
 */
function verdictOf(
  { mode, digest }: Policy,
  rules: readonly RuleResult[],
  asked: readonly Rule[] = [],
): PolicyVerdict {
  const demands = new Set<Demand>();
  let [errors, warnings, isDenied] = [0, 0, false];
  for (const [i, { passed, severity, code }] of rules.entries()) {
    if (passed) continue;
    if (severity === 'error') errors++;
    else warnings++;
    if (severity === 'warn' && mode === 'warn') continue;
    const demand = code === 'POLICY_DENIED' ? DEMANDS[asked[i]?.decision ?? 'deny'] : null;
    if (demand === null) isDenied = true;
    else demands.add(demand);
  }
  const outcome = isDenied ? 'fail' : demands.size > 0 ? 'demand' : 'pass';
  return { outcome, demands: isDenied ? [] : [...demands], mode, rules, errors, warnings, digest };
}
