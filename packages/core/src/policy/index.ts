/**
 * Rules in CEL about what a server offers and what an agent calls: policies in YAML, presets, inputs from locks and
 * surfaces, verdicts and reports.
 * Errors are `BullaError` with a code that starts with `POLICY_`.
 */
export {
  type CallFacts,
  callInput,
  checkInput,
  policyCheckInput,
  resultInput,
  type SessionFacts,
  toolInput,
  type Uses,
} from './build.ts';
export {
  type Demand,
  evaluate,
  evaluateSurface,
  type NamedTool,
  reads,
} from './evaluate.ts';
export { MAX_POLICY_BYTES, MAX_RULES, type ParsePolicyOptions, type Policy, parsePolicy } from './policy.ts';
export { PRESET_NAMES, presetText } from './presets.ts';
export { PolicyError } from './problem.ts';
export { explainDocument, explainMarkdown, type PolicySource, verdictText } from './report.ts';
export { prepareInput, SHAPE_NAMES, type Shape } from './shape.ts';
