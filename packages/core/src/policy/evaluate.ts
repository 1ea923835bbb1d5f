import { MAX_COST, MAX_TOTAL_COST } from './cost.ts';
import { metered } from './environment.ts';
import { evaluationFault } from './expression.ts';
import type { PreparedInput } from './input.ts';
import type { LooseRule, Policy, PolicyMode, RuleSeverity } from './policy.ts';
import type { Phase, Shape } from './shape.ts';

/** What a rule said of an input. */
export interface RuleResult {
  readonly name: string;
  /** The rule's own; `error` whenever it could not be answered. */
  readonly severity: RuleSeverity;
  readonly passed: boolean;
  /** For people: why not. Empty when it passed. Nothing in it comes from the input. */
  readonly message: string;
  /** Null when it passed. */
  readonly code: RuleCode | null;
  /** Of a rule about each tool of a surface: those that failed it. The server chose their names. */
  readonly tools?: readonly string[];
}

/**
 * `POLICY_DENIED`: the rule is false. Otherwise it could not be answered: `POLICY_EVALUATION`, such as a field that is
 * absent; `POLICY_EVALUATION`, too much for this input; `POLICY_EVALUATION`, no rule for this kind of input.
 */
export type RuleCode = 'POLICY_DENIED' | 'POLICY_EVALUATION';

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

/** Asks the rules about a whole surface. */
export function evaluateList(policy: Policy, input: PreparedInput<'policy-check' | 'check'>): PolicyVerdict {
  return evaluate(policy, input, ['list']);
}

/** Asks the rules about one tool: whether it is shown at all. */
export function evaluateTool(policy: Policy, input: PreparedInput<'tool'>): PolicyVerdict {
  return evaluate(policy, input, ['tool']);
}

/** Asks the rules about one call, those about its tool among them. */
export function evaluateCall(policy: Policy, input: PreparedInput<'call'>): PolicyVerdict {
  return evaluate(policy, input, ['tool', 'call']);
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

/** A verdict of no rule passes: nothing forbids. Who must have asked something looks at `rules`. Never throws. */
function evaluate(policy: Policy, input: PreparedInput, phases: readonly Phase[]): PolicyVerdict {
  const budget = { left: MAX_TOTAL_COST };
  const asked = policy.rules.filter(({ phase }) => phases.includes(phase));
  return verdictOf(
    policy,
    asked.map((rule) => ask(rule, input, budget)),
  );
}

/** Judges results: an error fails, and in mode `strict` a warning does too. */
export function verdictOf({ mode, digest }: Policy, rules: readonly RuleResult[]): PolicyVerdict {
  const failed = rules.filter(({ passed }) => !passed);
  const errors = failed.filter(({ severity }) => severity === 'error').length;
  const warnings = failed.length - errors;
  const outcome = errors > 0 || (warnings > 0 && mode === 'strict') ? 'fail' : 'pass';
  return { outcome, mode, rules, errors, warnings, digest };
}

/** Asks one rule, out of a budget that all of them share. Never throws. */
export function ask(rule: LooseRule, input: PreparedInput, budget: { left: number }): RuleResult {
  const program = rule.programs.get(input.shape);
  if (program === undefined) return unanswered(rule, 'POLICY_EVALUATION', shapeMessage(input.shape));
  const cost = program.cost(input.size);
  if (cost > MAX_COST || cost > budget.left) return unanswered(rule, 'POLICY_EVALUATION', TOO_MUCH);
  budget.left -= cost;
  const meter = { left: MAX_COST };
  let result: unknown;
  let failure: unknown;
  try {
    result = metered(meter, () => program.run(input.value));
  } catch (error) {
    failure = error;
  }
  // The library lets another operand decide where one failed; it must not where time ran out.
  if (meter.left < 0) return unanswered(rule, 'POLICY_EVALUATION', TOO_MUCH);
  if (result === true) return passed(rule);
  if (result === false) {
    const message = rule.failure_msg === '' ? 'The rule does not hold.' : rule.failure_msg;
    return { name: rule.name, severity: rule.severity, passed: false, message, code: 'POLICY_DENIED' };
  }
  return unanswered(
    rule,
    'POLICY_EVALUATION',
    `The rule could not be evaluated: ${evaluationFault(failure)}.`,
  );
}

const TOO_MUCH = 'The rule costs too much for an input of this size.';

function passed({ name, severity }: LooseRule): RuleResult {
  return { name, severity, passed: true, message: '', code: null };
}

function shapeMessage(shape: Shape): string {
  return `The rule cannot be evaluated for an input of the shape ${shape}.`;
}

/** Whatever its own severity: a rule that was meant to warn and cannot must not pass for one that did. */
function unanswered({ name }: LooseRule, code: RuleCode, message: string): RuleResult {
  return { name, severity: 'error', passed: false, message, code };
}
