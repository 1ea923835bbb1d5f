import { MAX_COST, MAX_TOTAL_COST } from './cost.ts';
import { metered } from './environment.ts';
import { compile, evaluationFault, type Fault, type Program } from './expression.ts';
import type { PreparedInput } from './input.ts';
import type { Vocabulary } from './records.ts';

export type RuleSeverity = 'warn' | 'error';

/** What is needed of a rule to ask it. */
export interface CelRule<Shape extends string = string> {
  readonly name: string;
  readonly expr: string;
  /** Empty where the document does not say. */
  readonly failure_msg: string;
  readonly severity: RuleSeverity;
  /** Shapes of input for which the rule can be evaluated. */
  readonly programs: ReadonlyMap<Shape, Program>;
}

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
 * `POLICY_DENIED`: the rule is false. `POLICY_EVALUATION`: it could not be answered, because a field is absent, because
 * it costs too much for this input, or because it is no rule for this kind of input.
 */
export type RuleCode = 'POLICY_DENIED' | 'POLICY_EVALUATION';

/** Makes a rule for inputs of one shape, or tells why it cannot be evaluated. */
export function celRule<Shape extends string>(
  rule: Pick<CelRule, 'name' | 'expr' | 'failure_msg'>,
  vocabulary: Vocabulary<Shape>,
  shape: Shape,
): CelRule<Shape> | readonly Fault[] {
  const program = compile(rule.expr, vocabulary, shape);
  if (!('run' in program)) return program;
  return { ...rule, severity: 'error', programs: new Map([[shape, program]]) };
}

/** Asks rules; what each of them said, in their order. Never throws. */
export function askRules<Shape extends string>(
  rules: readonly CelRule<Shape>[],
  input: PreparedInput<Shape>,
): RuleResult[] {
  const budget = { left: MAX_TOTAL_COST };
  return rules.map((rule) => ask(rule, input, budget));
}

/** Asks one rule, out of a budget that all of them share. Never throws. */
export function ask<Shape extends string>(
  rule: CelRule<Shape>,
  input: PreparedInput<Shape>,
  budget: { left: number },
): RuleResult {
  const program = rule.programs.get(input.shape);
  if (program === undefined) {
    const message = `The rule cannot be evaluated for an input of the shape ${input.shape}.`;
    return unanswered(rule, message);
  }
  const cost = program.cost(input.size);
  if (cost > MAX_COST || cost > budget.left) return unanswered(rule, TOO_MUCH);
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
  if (meter.left < 0) return unanswered(rule, TOO_MUCH);
  if (result === true) return passed(rule);
  if (result === false) {
    const message = rule.failure_msg === '' ? 'The rule does not hold.' : rule.failure_msg;
    return { name: rule.name, severity: rule.severity, passed: false, message, code: 'POLICY_DENIED' };
  }
  return unanswered(rule, `The rule could not be evaluated: ${evaluationFault(failure)}.`);
}

const TOO_MUCH = 'The rule costs too much for an input of this size.';

export function passed({ name, severity }: CelRule): RuleResult {
  return { name, severity, passed: true, message: '', code: null };
}

/** Whatever its own severity: a rule that was meant to warn and cannot must not pass for one that did. */
function unanswered({ name }: CelRule, message: string): RuleResult {
  return { name, severity: 'error', passed: false, message, code: 'POLICY_EVALUATION' };
}
