import { MAX_TOTAL_COST } from './cost.ts';
import { ask, type RuleResult } from './evaluate.ts';
import { compile, type Fault } from './expression.ts';
import type { PreparedInput } from './input.ts';
import type { LooseRule } from './policy.ts';
import type { Shape } from './shape.ts';

/**
 * Makes a rule that stands in a document of its own kind, for inputs of one shape; or tells why it cannot be evaluated,
 * with the codes that `parsePolicy` has for expressions.
 */
export function looseRule(
  rule: Pick<LooseRule, 'name' | 'expr' | 'failure_msg'>,
  shape: Shape,
): LooseRule | readonly Fault[] {
  const program = compile(rule.expr, shape);
  if (!('run' in program)) return program;
  return { ...rule, severity: 'error', programs: new Map([[shape, program]]) };
}

/** Asks such rules; what each of them said, in their order. Never throws. */
export function askRules(rules: readonly LooseRule[], input: PreparedInput): RuleResult[] {
  const budget = { left: MAX_TOTAL_COST };
  return rules.map((rule) => ask(rule, input, budget));
}
