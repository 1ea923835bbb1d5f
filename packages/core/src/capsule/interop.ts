import { lint as lintCanon } from '../canon/index.ts';
import { type AnyObject, isObject, member } from '../json/index.ts';
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
