import { lint as lintCanon } from '../canon/index.ts';
import { type AnyObject, isObject, JsonNumber, keysOf, member, valuesOf } from '../json/index.ts';
import type { SECTIONS } from './model.ts';
import { type LintFinding, warning } from './shape.ts';
import { oddNumbers } from './stored.ts';

// What the specification allows and another implementation would hash differently.

/** Python makes options out of a list that stands alone, and the list out of the options, before it hashes. */
export function checkConsidered(section: AnyObject, findings: LintFinding[]): void {
  const [list, considered] = [member(section, 'options'), member(section, 'options_considered')];
  if (!Array.isArray(list) || !Array.isArray(considered)) return;
  const same = (option: unknown, i: number) =>
    !isObject(option) || member(option, 'description') === considered[i];
  if (considered.length === list.length && list.every(same)) return;
  const message = 'The options_considered are not the descriptions of the options: Python hashes those.';
  findings.push(warning('/reasoning/options_considered', 'options_differ', message));
}

/** Whether the places where numbers or foreign keys can stand are surely written alike by every capsule profile. */
export function isCommon(section: (name: keyof typeof SECTIONS) => AnyObject): boolean {
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

export function checkInterop(value: unknown, findings: LintFinding[]): void {
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
export function checkDigits(value: AnyObject, findings: LintFinding[]): void {
  for (const { path, kind } of oddNumbers(value)) if (kind === 'inexact_number') findings.push(inexact(path));
}

function inexact(path: string): LintFinding {
  const message = 'The hashed number is not exactly this one, which has more digits than a double.';
  return warning(path, 'inexact_number', message);
}

/** A short integer, or a fraction that JavaScript and Python print alike; `1.0` is neither. */
const COMMON_LEXEME = /^(?:0|-?[1-9][0-9]{0,14})$/;

/**
 * Whether all three capsule profiles surely write an open value alike. False means only that somebody must look
 * closer. The value has been written once already, so its depth is bounded.
 */
function surelyCommon(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return isCommonNumber(value);
    case 'object':
      if (value === null) return true;
      if (Array.isArray(value)) return value.every(surelyCommon);
      if (value instanceof JsonNumber) {
        const double = value.toNumber();
        return COMMON_LEXEME.test(value.lexeme) || (`${double}` === value.lexeme && isCommonNumber(double));
      }
      // Code point order and UTF-16 order part only where a key has a surrogate.
      return (
        !keysOf(value as AnyObject).some(hasSurrogate) && valuesOf(value as AnyObject).every(surelyCommon)
      );
    default:
      return false;
  }
}

function hasSurrogate(text: string): boolean {
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xf800) === 0xd800) return true;
  return false;
}

/** Outside this range the exponent forms differ; minus zero is written `-0.0`, `0` or `0.0`. */
function isCommonNumber(value: number): boolean {
  if (Number.isSafeInteger(value)) return !Object.is(value, -0);
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e15;
}
