/**
 * Rules in CEL about what a server offers and what an agent calls: policies in YAML, presets, inputs from locks and
 * surfaces, verdicts and reports.
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
export {
  evaluateCall,
  evaluateList,
  evaluateSurface,
  evaluateTool,
  type NamedTool,
  type PolicyVerdict,
  verdictOf,
} from './evaluate.ts';
export {
  MAX_POLICY_BYTES,
  MAX_RULES,
  type ParsePolicyOptions,
  type Policy,
  type PolicyMode,
  parsePolicy,
  policyDigest,
  type Rule,
} from './policy.ts';
export { PRESET_NAMES, type PresetName, preset, presetText } from './presets.ts';
export { PolicyError, type PolicyProblem } from './problem.ts';
export { explainDocument, explainMarkdown, type PolicySource, verdictText } from './report.ts';
export { PHASE_NAMES, type Phase, prepareInput, SHAPE_NAMES, type Shape } from './shape.ts';
