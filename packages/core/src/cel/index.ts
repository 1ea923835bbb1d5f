/**
 * Rules in CEL: which expressions can be evaluated for inputs of a shape, what they cost, and what they say. What an
 * input may hold is the caller's table. An expression that could not be evaluated is refused when it is read; one that
 * fails to evaluate then does not pass. Nothing that is evaluated can run for long.
 */
export { MAX_COST, MAX_TOTAL_COST } from './cost.ts';
export { compile, type Fault, type Program } from './expression.ts';
export { type PreparedInput, prepareInput } from './input.ts';
export { type Vocabulary, vocabularyOf } from './records.ts';
export {
  ask,
  askRules,
  type CelRule,
  celRule,
  passed,
  type RuleCode,
  type RuleResult,
  type RuleSeverity,
} from './rule.ts';
