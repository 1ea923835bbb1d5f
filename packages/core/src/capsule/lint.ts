import { canonicalize, lint as lintCanon } from '../canon/index.ts';
import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import { JsonObject, parse } from '../json/index.ts';
import { type AnyObject, isObject, member, toNumber } from './access.ts';
import {
  AUTHORITY_TYPES,
  CAPSULE_TYPES,
  OUTCOME_STATUSES,
  type SECTIONS,
  SPEC_VERSION,
  TRIGGER_TYPES,
} from './model.ts';
import { checkShape, isCommonNumber, type LintFinding, surelyCommon } from './shape.ts';
import { isIsoTimestamp } from './time.ts';

export type { LintFinding } from './shape.ts';

/** Python's encoder gives up somewhere above this nesting, so that what is deeper could not be verified there. */
const MAX_DEPTH = 900;

/**
 * Tells everything that keeps a capsule, parsed or plain, from being sealed here, all at once. Codes:
 * `missing_field`, `unknown_key`, `wrong_type`, `invalid_value`, `chain_violation`, `missing_value`, `options_differ`;
 * `interop` where the capsule profiles would write something differently, `inexact_number` where all of them write
 * another number than the source has; and `VALUE_…` or `CANON_…` for what has no canonical form. Seal fields are
 * not looked at. Never throws a `BullaError`.
 */
export function lint(value: unknown): LintFinding[] {
  return lintForSeal(value, value instanceof JsonObject).findings;
}

/**
 * The same for the sealer, which also gets the canonical text. Its numbers are exported from that text, so it is
 * the text, not the source, on which the profiles must agree, unless `stored` says that the source stays.
 */
export function lintForSeal(
  value: unknown,
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
  checkEnum(member(section('outcome'), 'status'), OUTCOME_STATUSES, '/outcome/status', findings);

  let canonical: string | undefined;
  try {
    canonical = canonicalize(value, 'cps', { maxDepth: MAX_DEPTH });
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    findings.push({ path: error.path ?? '', code: error.code, message: error.message });
    return { findings, canonical };
  }
  if (stored || findings.length > 0 || !isCommon(section)) {
    checkInterop(stored ? value : parse(canonical, { maxBytes: Number.POSITIVE_INFINITY }), findings);
  }
  return { findings, canonical };
}

/** Stands for a section that is missing; its fields were reported with it. */
const NOTHING: AnyObject = {};

function checkHead(value: AnyObject, findings: LintFinding[]): void {
  checkEnum(member(value, 'type'), CAPSULE_TYPES, '/type', findings);
  checkForm(
    member(value, 'id'),
    UUID,
    '/id',
    'invalid_value',
    'A UUID has lower-case hex and hyphens.',
    findings,
  );
  checkForm(
    member(value, 'parent_id'),
    UUID,
    '/parent_id',
    'invalid_value',
    'A UUID has lower-case hex and hyphens.',
    findings,
  );
  const previous = member(value, 'previous_hash');
  checkForm(
    previous,
    HASH,
    '/previous_hash',
    'invalid_value',
    'A hash has 64 lower-case hex digits.',
    findings,
  );
  const version = member(value, 'spec_version');
  if (typeof version === 'string') checkEnum(version, [SPEC_VERSION], '/spec_version', findings);

  const sequence = toNumber(member(value, 'sequence'));
  if (isNegative(sequence)) findings.push(negative('/sequence'));
  if (sequence !== undefined && previous !== undefined && (sequence === 0) !== (previous === null)) {
    const message =
      sequence === 0
        ? 'The genesis capsule has no previous_hash.'
        : 'Only the genesis capsule has no previous_hash.';
    findings.push({ path: '/previous_hash', code: 'chain_violation', message });
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const HASH = /^[0-9a-f]{64}$/;

function checkTrigger(section: AnyObject, findings: LintFinding[]): void {
  checkEnum(member(section, 'type'), TRIGGER_TYPES, '/trigger/type', findings);
  const timestamp = member(section, 'timestamp');
  if (typeof timestamp === 'string' && !isIsoTimestamp(timestamp)) {
    const message =
      'A timestamp is YYYY-MM-DDTHH:MM:SS+00:00, with six fraction digits unless they are zero.';
    findings.push({ path: '/trigger/timestamp', code: 'invalid_value', message });
  }
}

function checkReasoning(section: AnyObject, findings: LintFinding[]): void {
  if (!isUnit(member(section, 'confidence'))) findings.push(outOfUnit('/reasoning/confidence'));
  const list = member(section, 'options');
  if (!Array.isArray(list)) return;
  const options = list.filter(isObject);

  let selected: number | undefined;
  let count = 0;
  for (let i = 0; i < options.length; i++) {
    const option = options[i]!;
    const path = () => `/reasoning/options/${list.indexOf(option)}`;
    if (!isUnit(member(option, 'feasibility'))) findings.push(outOfUnit(`${path()}/feasibility`));
    if (member(option, 'selected') === true) {
      selected = i;
      count++;
    } else if (isBlank(member(option, 'rejection_reason'))) {
      const message = 'An option that was not selected says why.';
      findings.push({ path: `${path()}/rejection_reason`, code: 'missing_value', message });
    }
  }
  if (options.length > 0 && count !== 1) {
    const message = `Exactly one option is selected, not ${count}.`;
    findings.push({ path: '/reasoning/options', code: 'options_differ', message });
  }
  // Where the count is wrong, any option may be the one that was meant.
  const meant = count === 1 ? [options[selected!]!] : options;
  const choice = member(section, 'selected_option');
  const named =
    !isBlank(choice) && meant.some((o) => member(o, 'description') === choice || member(o, 'id') === choice);
  if (options.length > 0 && !named) {
    const message = 'The selected_option is the description or the id of the selected option.';
    findings.push({ path: '/reasoning/selected_option', code: 'options_differ', message });
  }
  // Python makes options out of a list that stands alone, and the list out of the options, before it hashes.
  const considered = member(section, 'options_considered');
  if (
    Array.isArray(considered) &&
    (considered.length !== list.length || options.some((o, i) => member(o, 'description') !== considered[i]))
  ) {
    const message = 'The options_considered are the descriptions of the options, in their order.';
    findings.push({ path: '/reasoning/options_considered', code: 'options_differ', message });
  }
}

function checkAuthority(section: AnyObject, findings: LintFinding[]): void {
  const type = member(section, 'type');
  checkEnum(type, AUTHORITY_TYPES, '/authority/type', findings);
  const need = (key: string, code: Code, message: string) => {
    if (isBlank(member(section, key))) findings.push({ path: `/authority/${key}`, code, message });
  };
  if (type === 'human_approved' || type === 'escalated') {
    need('approver', 'missing_value', `Authority of the type ${type} names its approver.`);
  }
  if (type === 'policy') {
    need('policy_reference', 'missing_value', 'Authority of the type policy names its rule.');
  }
  if (type === 'escalated') {
    need('escalation_reason', 'missing_value', 'Escalated authority says why.');
  }
}

function checkExecution(section: AnyObject, findings: LintFinding[]): void {
  if (isNegative(member(section, 'duration_ms'))) findings.push(negative('/execution/duration_ms'));
  const calls = member(section, 'tool_calls');
  if (!Array.isArray(calls)) return;
  for (let i = 0; i < calls.length; i++) {
    if (isObject(calls[i]) && isNegative(member(calls[i], 'duration_ms')))
      findings.push(negative(`/execution/tool_calls/${i}/duration_ms`));
  }
}

function checkEnum(value: unknown, values: readonly string[], path: string, findings: LintFinding[]): void {
  if (typeof value !== 'string' || values.includes(value)) return;
  findings.push({ path, code: 'invalid_value', message: `This must be one of ${values.join(', ')}.` });
}

function checkForm(
  value: unknown,
  form: RegExp,
  path: string,
  code: Code,
  message: string,
  findings: LintFinding[],
): void {
  if (typeof value === 'string' && !form.test(value)) findings.push({ path, code, message });
}

/** What is not a number was reported as such. */
function isUnit(value: unknown): boolean {
  const number = toNumber(value);
  return number === undefined || (number >= 0 && number <= 1);
}

function outOfUnit(path: string): LintFinding {
  return { path, code: 'invalid_value', message: 'This must lie within 0 and 1.' };
}

function isNegative(value: unknown): boolean {
  const number = toNumber(value);
  return number !== undefined && number < 0;
}

function negative(path: string): LintFinding {
  return { path, code: 'invalid_value', message: 'This must not be negative.' };
}

function isBlank(value: unknown): boolean {
  return typeof value !== 'string' || value.trim() === '';
}

/** Whether the places where numbers or foreign keys can stand are surely written alike by every capsule profile. */
function isCommon(section: (name: keyof typeof SECTIONS) => AnyObject): boolean {
  const reasoning = section('reasoning');
  const execution = section('execution');
  const outcome = section('outcome');
  const options = member(reasoning, 'options') as readonly AnyObject[];
  const calls = member(execution, 'tool_calls') as readonly AnyObject[];
  return (
    isCommonFloat(member(reasoning, 'confidence')) &&
    options.every(
      (o) => isCommonFloat(member(o, 'feasibility')) && surelyCommon(member(o, 'estimated_impact')),
    ) &&
    calls.every((call) => surelyCommon(member(call, 'arguments')) && surelyCommon(member(call, 'result'))) &&
    surelyCommon(member(section('context'), 'environment')) &&
    surelyCommon(member(section('authority'), 'chain')) &&
    surelyCommon(member(execution, 'resources_used')) &&
    surelyCommon(member(outcome, 'result')) &&
    surelyCommon(member(outcome, 'metrics'))
  );
}

function isCommonFloat(value: unknown): boolean {
  return typeof value === 'number' && isCommonNumber(value);
}

function checkInterop(value: unknown, findings: LintFinding[]): void {
  for (const { rule, path, forms } of lintCanon(value, ['cps'])) {
    // The 12 keys of the seed are never the 13 of the TypeScript reference, and other keys were reported above.
    if (rule === 'members') continue;
    const written = Object.entries(forms).map(([profile, form]) => `${profile} ${form}`);
    findings.push({
      path,
      code: rule === 'inexact' ? 'inexact_number' : 'interop',
      message:
        rule === 'inexact'
          ? 'Every profile writes another number than this, because it has more digits than a double.'
          : `Other implementations would write this differently: ${written.join(', ')}.`,
    });
  }
}
