import { ask, MAX_TOTAL_COST, type PreparedInput, passed, type RuleResult } from '../cel/index.ts';
import type { Policy, PolicyMode } from './policy.ts';
import { PHASES, type Shape } from './shape.ts';

export interface PolicyVerdict {
  readonly outcome: 'pass' | 'fail';
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
  );
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
    if (rule.phase === 'call') return [];
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

/** Judges results: an error fails, and in mode `strict` a warning does too. */
function verdictOf({ mode, digest }: Policy, rules: readonly RuleResult[]): PolicyVerdict {
  const failed = rules.filter(({ passed }) => !passed);
  const errors = failed.filter(({ severity }) => severity === 'error').length;
  const warnings = failed.length - errors;
  const outcome = errors > 0 || (warnings > 0 && mode === 'strict') ? 'fail' : 'pass';
  return { outcome, mode, rules, errors, warnings, digest };
}
