import { visible } from '../../text/index.ts';
import { type Drift, verdict } from '../drift/drift.ts';
import { type DriftItem, SEVERITIES, shown } from '../drift/item.ts';
import {
  DEFAULT_LOCKFILE,
  evidence,
  limitWords,
  MARKED,
  nameWords,
  type PolicyResult,
  type ReportOptions,
  sentenceOf,
} from './report.ts';

/**
 * A drift as JUnit XML, for what reads test results: a test case for each difference, which fails when it is as bad
 * as `failOn`, and is else told as output; one case that passes when there is no difference; and one for a policy.
 * Everything is escaped, and characters that XML 1.0 cannot hold are shown as `visible` shows them.
 */
export function driftJunit(drift: Drift, options: ReportOptions = {}): string {
  const { lockfile = DEFAULT_LOCKFILE, failOn = 'critical', policy } = options;
  const { failing } = verdict(drift, failOn);
  const compared =
    drift.items.length === 0
      ? ['<testcase classname="drift" name="no drift" time="0"/>']
      : drift.items.map((item) =>
          testcase(item, SEVERITIES.indexOf(item.severity) <= SEVERITIES.indexOf(failOn)),
        );
  const cases = policy === undefined ? compared : [...compared, policyCase(policy)];
  const tests = cases.length;
  const failures = failing + (policy?.passed === false ? 1 : 0);
  const limits = limitWords(drift);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="bulla drift" tests="${tests}" failures="${failures}" errors="0" time="0">`,
    `  <testsuite name="${xml(visible(lockfile))}" tests="${tests}" failures="${failures}" errors="0" skipped="0" time="0">`,
    ...cases.map((text) => `    ${text}`),
    ...(limits.length === 0 ? [] : [`    <system-out>${xml(limits.join('\n'))}</system-out>`]),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testcase(item: DriftItem, fails: boolean): string {
  const { kind, name, code, path, severity } = item;
  const sentence = sentenceOf(item);
  const title = `${name === '' ? kind : nameWords(name)}: ${code} ${shown(path, MAX_PATH)}`;
  const body = xml([sentence, ...evidence(item, MARKED)].join('\n'));
  const inner = fails
    ? `<failure type="${code}" message="${xml(`${severity}: ${sentence}`)}">${body}</failure>`
    : `<system-out>${severity}: ${body}</system-out>`;
  return `<testcase classname="drift.${kind}" name="${xml(title)}" time="0">${inner}</testcase>`;
}

function policyCase({ preset, passed, reasons }: PolicyResult): string {
  const start = `<testcase classname="policy" name="${xml(visible(preset))}" time="0"`;
  if (passed) return `${start}/>`;
  const [first = '', ...more] = reasons.map((reason) => xml(visible(reason)));
  return `${start}><failure type="policy-denied" message="${first}">${[first, ...more].join('\n')}</failure></testcase>`;
}

/** A path holds names that are as long as a server likes. */
const MAX_PATH = 1_000;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function xml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
