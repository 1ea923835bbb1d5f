import { canonicalize, lint as lintCanon } from '../canon/index.ts';
import { BullaError } from '../error.ts';
import {
  type AnyObject,
  DEFAULT_MAX_DEPTH,
  isObject,
  JsonObject,
  member,
  parse,
  toNumber,
} from '../json/index.ts';
import {
  AUTHORITY_TYPES,
  CAPSULE_TYPES,
  OUTCOME_STATUSES,
  type SEAL_FIELDS,
  type SECTIONS,
  SPEC_VERSION,
  TRIGGER_TYPES,
} from './model.ts';
import { checkShape, type LintFinding, problem, warning } from './shape.ts';
import { oddNumbers } from './stored.ts';
import { isIsoTimestamp } from './time.ts';

export type { LintFinding } from './shape.ts';

/** Python's encoder gives up somewhere above this nesting: what is deeper cannot be verified there. */
const COMMON_DEPTH = 900;
/** What is sealed can still be read here inside an array or a document of capsules, with the parser's own limit. */
const MAX_DEPTH = DEFAULT_MAX_DEPTH - 10;

/**
 * Tells everything that is wrong with a capsule, parsed or plain, all at once.
 *
 * Errors, for which the sealer refuses it: `missing_field`, `unknown_key`, `wrong_type`, `invalid_value`,
 * `chain_violation`, `options_differ`; `missing_value` where a rejected option or the type of the authority demands a
 * text, and `unexpected_value` where that type, or success, forbids one; and `VALUE_…` or `CANON_…` for what has no
 * canonical form.
 *
 * Warnings, for what the specification allows: `interop` where another implementation would write something
 * differently and so compute another hash, `options_differ` and `deep_nesting` where Python would,
 * `inexact_number` where the hashed number has fewer digits than the source.
 *
 * In a record that has a seal everything is a warning: it cannot be changed any more, and whether it is genuine is for
 * the verifier to say. The seal fields themselves are not looked at. Never throws a `BullaError`.
 */
export function lint(value: unknown): LintFinding[] {
  const { findings } = lintForSeal(value, true, value instanceof JsonObject);
  const isSealed = isObject(value) && SEALS.some((key) => !isBlank(member(value, key)));
  return isSealed ? findings.map((finding) => ({ ...finding, severity: 'warning' })) : findings;
}

const SEALS = ['hash', 'signature'] as const satisfies readonly (typeof SEAL_FIELDS)[number][];

/**
 * The same for the sealer, which also gets the canonical text; the warnings only where it asks for `interop`. Its
 * numbers are exported from that text, so it is the text, not the source, on which the profiles must agree, unless
 * `stored` says that the source stays.
 */
export function lintForSeal(
  value: unknown,
  interop: boolean,
  stored = false,
): { findings: LintFinding[]; canonical: string | undefined } {
  const findings: LintFinding[] = [];
  checkShape(value, findings);
  if (!isObject(value)) return { findings, canonical: undefined };
  const section = (name: keyof typeof SECTIONS): AnyObject => {
    const found = member(value, name);
    return isObject(found) ? found : NOTHING;
  };
  checkHead(value, findings);
  checkTrigger(section('trigger'), findings);
  checkReasoning(section('reasoning'), findings);
  checkAuthority(section('authority'), findings);
  checkExecution(section('execution'), findings);
  checkOutcome(section('outcome'), findings);
  if (interop) checkConsidered(section('reasoning'), findings);

  let canonical: string | undefined;
  try {
    canonical = written(value, interop, findings);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    findings.push(problem(error.path ?? '', error.code, error.message));
    return { findings, canonical };
  }
  if (interop) {
    checkInterop(stored ? value : parse(canonical, { maxBytes: Number.POSITIVE_INFINITY }), findings);
    if (!stored) checkDigits(value, findings);
  }
  return { findings, canonical };
}

/** The canonical text. */
function written(value: AnyObject, interop: boolean, findings: LintFinding[]): string {
  if (!interop) return canonicalize(value, 'cps', { maxDepth: MAX_DEPTH });
  try {
    return canonicalize(value, 'cps', { maxDepth: COMMON_DEPTH });
  } catch (error) {
    if (!(error instanceof BullaError) || error.code !== 'VALUE_TOO_DEEP') throw error;
    const text = canonicalize(value, 'cps', { maxDepth: MAX_DEPTH });
    const message = `The nesting is deeper than ${COMMON_DEPTH}; other implementations cannot read it.`;
    findings.push(warning(error.path ?? '', 'deep_nesting', message));
    return text;
  }
}

/** Stands for a section that is missing; its fields were reported with it. */
const NOTHING: AnyObject = {};

function checkHead(value: AnyObject, findings: LintFinding[]): void {
  checkEnum(member(value, 'type'), CAPSULE_TYPES, '/type', findings);
  checkForm(member(value, 'id'), UUID, '/id', findings);
  checkForm(member(value, 'parent_id'), UUID, '/parent_id', findings);
  const previous = member(value, 'previous_hash');
  checkForm(previous, HASH, '/previous_hash', findings);
  const version = member(value, 'spec_version');
  if (typeof version === 'string') checkEnum(version, [SPEC_VERSION], '/spec_version', findings);

  const sequence = toNumber(member(value, 'sequence'));
  checkNotNegative(sequence, '/sequence', findings);
  if (sequence !== undefined && previous !== undefined && (sequence === 0) !== (previous === null)) {
    const message =
      sequence === 0
        ? 'The genesis capsule has no previous_hash.'
        : 'Only the genesis capsule has no previous_hash.';
    findings.push(problem('/previous_hash', 'chain_violation', message));
  }
}

/** What a text must look like, and the sentence that says so. */
interface TextForm {
  readonly pattern: RegExp;
  readonly says: string;
}
const UUID: TextForm = {
  pattern: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  says: 'A UUID has lower-case hex and hyphens.',
};
const HASH: TextForm = { pattern: /^[0-9a-f]{64}$/, says: 'A hash has 64 lower-case hex digits.' };

function checkTrigger(section: AnyObject, findings: LintFinding[]): void {
  checkEnum(member(section, 'type'), TRIGGER_TYPES, '/trigger/type', findings);
  const timestamp = member(section, 'timestamp');
  if (typeof timestamp === 'string' && !isIsoTimestamp(timestamp)) {
    const message =
      'A timestamp is YYYY-MM-DDTHH:MM:SS+00:00, with six fraction digits unless they are zero.';
    findings.push(problem('/trigger/timestamp', 'invalid_value', message));
  }
}

function checkReasoning(section: AnyObject, findings: LintFinding[]): void {
  checkForm(member(section, 'prompt_hash'), HASH, '/reasoning/prompt_hash', findings);
  checkUnit(member(section, 'confidence'), '/reasoning/confidence', findings);
  const list = member(section, 'options');
  if (!Array.isArray(list)) return;
  const options: AnyObject[] = [];
  const selected: AnyObject[] = [];
  for (const [i, option] of list.entries()) {
    if (!isObject(option)) continue;
    options.push(option);
    const path = `/reasoning/options/${i}`;
    checkUnit(member(option, 'feasibility'), `${path}/feasibility`, findings);
    if (member(option, 'selected') === true) {
      selected.push(option);
    } else if (isBlank(member(option, 'rejection_reason'))) {
      const message = 'An option that was not selected says why.';
      findings.push(problem(`${path}/rejection_reason`, 'missing_value', message));
    }
  }
  if (options.length === 0) return;
  if (selected.length !== 1) {
    const message = `Exactly one option is selected, not ${selected.length}.`;
    findings.push(problem('/reasoning/options', 'options_differ', message));
  }
  // Where the count is wrong, any option may be the one that was meant.
  const meant = selected.length === 1 ? selected : options;
  const choice = member(section, 'selected_option');
  const named =
    !isBlank(choice) && meant.some((o) => member(o, 'description') === choice || member(o, 'id') === choice);
  if (!named) {
    const message = 'The selected_option is the description or the id of the selected option.';
    findings.push(problem('/reasoning/selected_option', 'options_differ', message));
  }
}

/** The fields of an authority that belong to some of its types: named there, null everywhere else. */
const BELONGS: readonly { readonly key: string; readonly to: readonly string[]; readonly says: string }[] = [
  { key: 'approver', to: ['human_approved', 'escalated'], says: 'names its approver' },
  { key: 'policy_reference', to: ['policy'], says: 'names its rule' },
  { key: 'escalation_reason', to: ['escalated'], says: 'says why' },
];

function checkAuthority(section: AnyObject, findings: LintFinding[]): void {
  const type = member(section, 'type');
  checkEnum(type, AUTHORITY_TYPES, '/authority/type', findings);
  if (!(AUTHORITY_TYPES as readonly unknown[]).includes(type)) return;
  for (const { key, to, says } of BELONGS) {
    const value = member(section, key);
    const path = `/authority/${key}`;
    if (to.includes(type as string)) {
      if (isBlank(value))
        findings.push(problem(path, 'missing_value', `Authority of the type ${type} ${says}.`));
    } else if (isGiven(value)) {
      findings.push(problem(path, 'unexpected_value', `This is null unless the type is ${to.join(' or ')}.`));
    }
  }
}

function checkExecution(section: AnyObject, findings: LintFinding[]): void {
  checkNotNegative(member(section, 'duration_ms'), '/execution/duration_ms', findings);
  const calls = member(section, 'tool_calls');
  if (!Array.isArray(calls)) return;
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i];
    if (!isObject(call)) continue;
    const at = `/execution/tool_calls/${i}`;
    checkNotNegative(member(call, 'duration_ms'), `${at}/duration_ms`, findings);
    checkNoError(member(call, 'success') === true, call, at, findings);
  }
}

function checkOutcome(section: AnyObject, findings: LintFinding[]): void {
  const status = member(section, 'status');
  checkEnum(status, OUTCOME_STATUSES, '/outcome/status', findings);
  checkNoError(status === 'success', section, '/outcome', findings);
}

function checkNoError(succeeded: boolean, record: AnyObject, at: string, findings: LintFinding[]): void {
  if (!succeeded || !isGiven(member(record, 'error'))) return;
  findings.push(problem(`${at}/error`, 'unexpected_value', 'The error is null on success.'));
}

function checkEnum(value: unknown, values: readonly string[], path: string, findings: LintFinding[]): void {
  if (typeof value !== 'string' || values.includes(value)) return;
  findings.push(problem(path, 'invalid_value', `This must be one of ${values.join(', ')}.`));
}

function checkForm(value: unknown, { pattern, says }: TextForm, path: string, findings: LintFinding[]): void {
  if (typeof value === 'string' && !pattern.test(value)) findings.push(problem(path, 'invalid_value', says));
}

/** What is not a number was reported as such. */
function checkUnit(value: unknown, path: string, findings: LintFinding[]): void {
  const number = toNumber(value) ?? 0;
  // Not a number is not within either.
  if (!(number >= 0 && number <= 1))
    findings.push(problem(path, 'invalid_value', 'This must lie within 0 and 1.'));
}

function checkNotNegative(value: unknown, path: string, findings: LintFinding[]): void {
  if ((toNumber(value) ?? 0) < 0) findings.push(problem(path, 'invalid_value', 'This must not be negative.'));
}

/** What is missing or of another type was reported as such. */
function isGiven(value: unknown): boolean {
  return typeof value === 'string';
}

function isBlank(value: unknown): boolean {
  return typeof value !== 'string' || value.trim() === '';
}

// What the specification allows and another implementation would hash differently.

/** Python makes options out of a list that stands alone, and the list out of the options, before it hashes. */
function checkConsidered(section: AnyObject, findings: LintFinding[]): void {
  const [list, considered] = [member(section, 'options'), member(section, 'options_considered')];
  if (!Array.isArray(list) || !Array.isArray(considered)) return;
  const same = (option: unknown, i: number) =>
    !isObject(option) || member(option, 'description') === considered[i];
  if (considered.length === list.length && list.every(same)) return;
  const message = 'The options_considered are not the descriptions of the options: Python hashes those.';
  findings.push(warning('/reasoning/options_considered', 'options_differ', message));
}

function checkInterop(value: unknown, findings: LintFinding[]): void {
  for (const { rule, path, forms } of lintCanon(value, ['cps'])) {
    // The 12 keys of the seed are never the 13 of the TypeScript reference, and other keys were reported above.
    if (rule === 'members') continue;
    if (rule === 'inexact') {
      findings.push(inexact(path));
      continue;
    }
    const forEach = Object.entries(forms).map(([profile, form]) => `${profile} ${form}`);
    const message = `Other implementations would write this differently: ${forEach.join(', ')}.`;
    findings.push(warning(path, 'interop', message));
  }
}

/** Numbers of the source that the canonical text does not have to the last digit. */
function checkDigits(value: AnyObject, findings: LintFinding[]): void {
  for (const { path, kind } of oddNumbers(value)) if (kind === 'inexact_number') findings.push(inexact(path));
}

function inexact(path: string): LintFinding {
  const message = 'The hashed number is not exactly this one, which has more digits than a double.';
  return warning(path, 'inexact_number', message);
}
