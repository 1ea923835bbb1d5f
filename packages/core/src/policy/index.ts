/**
 * Rules in CEL about what a server offers and what an agent calls. A rule that could not be evaluated is refused when
 * the policy is read; one that fails to evaluate then does not pass. Nothing that is evaluated can run for long.
 * Errors are `BullaError` with a code that starts with `POLICY_`.
 */
export {
  type CallOrigin,
  type CheckSubject,
  callInput,
  checkInput,
  type PolicyCheckSubject,
  policyCheckInput,
  type ToolOrigin,
  toolInput,
} from './build.ts';
export { MAX_COST, MAX_TOTAL_COST } from './cost.ts';
export {
  evaluateCall,
  evaluateList,
  evaluateSurface,
  evaluateTool,
  type NamedTool,
  type PolicyVerdict,
  type RuleCode,
  type RuleResult,
  verdictOf,
} from './evaluate.ts';
export { type PreparedInput, prepareInput } from './input.ts';
export { askRules, looseRule } from './loose.ts';
export {
  type LooseRule,
  MAX_POLICY_BYTES,
  MAX_RULES,
  type ParsePolicyOptions,
  type Policy,
  type PolicyMode,
  parsePolicy,
  policyDigest,
  type Rule,
  type RuleSeverity,
} from './policy.ts';
export { PRESET_NAMES, type PresetName, preset, presetText } from './presets.ts';
export { PolicyError, type PolicyProblem } from './problem.ts';
export { explainDocument, explainMarkdown, type PolicySource, verdictText } from './report.ts';
export { PHASE_NAMES, type Phase, SHAPE_NAMES, type Shape } from './shape.ts';
