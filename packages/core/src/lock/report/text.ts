import { counted } from '../../text/index.ts';
import { type Drift, verdict } from '../drift/drift.ts';
import type { Severity } from '../drift/item.ts';
import {
  countWords,
  evidence,
  type Group,
  groupsOf,
  limitWords,
  MARKED,
  type Paint,
  type PolicyResult,
  type ReportOptions,
  sentenceOf,
  subjectWords,
} from './report.ts';

export interface TextOptions extends Pick<ReportOptions, 'failOn' | 'policy'> {
  /**
   * Gives a piece of text its colour. Without it the text is plain, and words that came and went are marked
   * `{+so+}` and `[-so-]`.
   */
  readonly color?: Paint;
}

/**
 * A drift for people at a terminal: what changed, word by word and in sentences, the worst first. With `failOn` the
 * verdict stands last. Every line ends with a newline. What servers wrote is shown with each character visible, and
 * each line of it begins with `|`, so that it cannot pass for ours.
 */
export function driftText(drift: Drift, { color, failOn, policy }: TextOptions = {}): string {
  const paint = color ?? MARKED;
  const limits = limitWords(drift).map((line) => paint('dim', line));
  const lines = [
    drift.counts.total === 0
      ? paint('good', 'No drift: what was compared is as it was locked.')
      : countWords(drift, paint),
    ...groupsOf(drift).flatMap((group) => ['', ...groupLines(group, paint)]),
    ...(limits.length === 0 ? [] : ['', ...limits]),
    ...(policy === undefined ? [] : ['', ...policyLines(policy)]),
    ...(failOn === undefined ? [] : ['', verdictLine(drift, failOn, paint, policy?.passed === false)]),
  ];
  return `${lines.join('\n')}\n`;
}

/** A heading, then each item with what lies under it. */
function groupLines(group: Group, paint: Paint): string[] {
  const { severity, items } = group;
  const lines = [`${paint(severity, severity.toUpperCase())}  ${paint('name', subjectWords(group))}`];
  for (const item of items) {
    const marks = [
      ...(item.severity === severity ? [] : [item.severity]),
      ...(item.prose === true ? ['only prose'] : []),
    ];
    const mark = marks.length === 0 ? '' : ` ${paint('dim', `[${marks.join(', ')}]`)}`;
    lines.push(`  ${sentenceOf(item)}${mark}`);
    for (const line of evidence(item, paint)) lines.push(`    ${line}`);
  }
  return lines;
}

/** In the released program's words. */
function policyLines({ passed, reasons }: PolicyResult): string[] {
  return [passed ? 'Policy: PASS' : 'Policy: DENY', ...reasons.map((reason) => `- ${reason}`)];
}

const THRESHOLDS = { critical: 'critical', moderate: 'moderate or worse', info: 'different' } as const;

function verdictLine(drift: Drift, failOn: Severity, paint: Paint, isDenied: boolean): string {
  const { failing } = verdict(drift, failOn);
  const threshold = THRESHOLDS[failOn];
  const found = `${counted(failing, 'difference')} ${failing === 1 ? 'is' : 'are'} ${threshold}`;
  const why = [...(failing === 0 ? [] : [found]), ...(isDenied ? ['the policy denies the server'] : [])];
  if (why.length === 0) return paint('good', `PASS: nothing is ${threshold}.`);
  return paint('critical', `FAIL: ${why.join(', and ')}.`);
}
