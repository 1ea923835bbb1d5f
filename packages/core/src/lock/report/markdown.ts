import { counted, markdownBlock, markdownCell, markdownCode, markdownReferences } from '../../text/index.ts';
import { DRIFT_CODES } from '../drift/codes.ts';
import { type Drift, verdict } from '../drift/drift.ts';
import type { DriftItem, Severity } from '../drift/item.ts';
import {
  countWords,
  DEFAULT_LOCKFILE,
  evidence,
  type Group,
  groupsOf,
  limitWords,
  MARKED,
  type PolicyResult,
  type ReportOptions,
  sentenceOf,
  subjectWords,
} from './report.ts';

interface MarkdownOptions extends ReportOptions {
  /**
   * How long the text may be, in UTF-16 units: a comment on a pull request has a limit. What does not fit is counted,
   * never dropped in silence. Default 60,000.
   */
  readonly maxLength?: number;
}

const MARKS: Readonly<Record<Severity, string>> = { critical: '🔴', moderate: '🟡', info: '⚪' };

/**
 * A drift for a pull request: a verdict, a table of what changed, and the differences behind headings that open. What
 * servers wrote stands only in code, between fences that are longer than any in it, or as character references, with
 * invisible characters made visible: it can be no markup, link, image, mention or row.
 */
export function driftMarkdown(drift: Drift, options: MarkdownOptions = {}): string {
  const { lockfile = DEFAULT_LOCKFILE, failOn = 'critical', maxLength = 60_000, policy } = options;
  const { counts } = drift;
  const { outcome } = verdict(drift, failOn);
  const isGood = outcome === 'PASS' && policy?.passed !== false;
  const groups = groupsOf(drift);
  const top = [
    `### ${isGood ? '✅' : '❌'} Drift of ${markdownCode(lockfile)}`,
    '',
    counts.total === 0 ? 'What was compared is as it was locked.' : countWords(drift),
    ...(policy === undefined ? [] : policyLines(policy)),
  ];
  const end = limitWords(drift, markdownCell).flatMap((line) => ['', line]);
  const room = () => maxLength - [...top, ...end].join('\n').length - 200;
  if (counts.total > 0) top.push('', '| | What | Changed |', '|---|---|---|');
  const rows = fit(groups.map(row), room());
  for (const text of rows.fitting) top.push(text);
  if (rows.left > 0) top.push('', `And ${counted(rows.left, 'row')} more, for which there is no room here.`);
  const details = fit(groups.map(section), room());
  for (const text of details.fitting) top.push(text);
  if (details.left > 0 && rows.left === 0)
    top.push('', `The details of ${details.left} more are left out, for which there is no room here.`);
  return `${[...top, ...end].join('\n')}\n`;
}

function policyLines({ preset, passed, reasons }: PolicyResult): string[] {
  const name = markdownCode(preset);
  if (passed) return ['', `The policy ${name} passes.`];
  return [
    '',
    `❌ The policy ${name} denies the server:`,
    '',
    ...reasons.map((one) => `- ${markdownCell(one)}`),
  ];
}

/** As many of the texts as there is room for. */
function fit(texts: readonly string[], room: number): { fitting: string[]; left: number } {
  const fitting: string[] = [];
  let used = 0;
  for (const text of texts) {
    used += text.length + 1;
    if (used > room) break;
    fitting.push(text);
  }
  return { fitting, left: texts.length - fitting.length };
}

function row({ kind, name, from, severity, items }: Group): string {
  const old = from === undefined ? '' : `${markdownCell(from)} → `;
  const what = name === '' ? kind : `${kind} ${old}${markdownCell(name)}`;
  const labels = [...new Set(items.map(labelOf))].join(', ');
  return `| ${MARKS[severity]} ${severity} | ${what} | ${labels} |`;
}

function labelOf({ code: id, prose }: DriftItem): string {
  return prose === true ? `${DRIFT_CODES[id].label} (only prose)` : DRIFT_CODES[id].label;
}

/** The differences of one group, behind a heading that opens. */
function section(group: Group): string {
  const lines = group.items.flatMap((item) => [
    item.severity === group.severity ? sentenceOf(item) : `${sentenceOf(item)} [${item.severity}]`,
    ...evidence(item, MARKED).map((line) => `  ${line}`),
  ]);
  const text = lines.join('\n');
  const heading = `${MARKS[group.severity]} <code>${markdownReferences(subjectWords(group))}</code>`;
  return ['', `<details><summary>${heading}</summary>`, '', markdownBlock(text), '', '</details>'].join('\n');
}
