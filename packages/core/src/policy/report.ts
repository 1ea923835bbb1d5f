import { counted, visible } from '../text/index.ts';
import type { PolicyVerdict } from './evaluate.ts';
import type { Policy } from './policy.ts';

/** A verdict in lines of text, a rule each, and the outcome last. Safe in a terminal. */
export function verdictText({ rules, outcome, errors, warnings }: PolicyVerdict): string {
  const width = rules.reduce((most, { name }) => Math.max(most, shown(name).length), 0);
  const lines = rules.map(({ name, passed, severity, message, code, tools }) => {
    if (passed) return `ok     ${shown(name)}`;
    const word = severity === 'error' ? 'ERROR' : 'WARN ';
    const why = code === 'POLICY_DENIED' ? '' : ` [${code}]`;
    const where = tools === undefined ? '' : ` (${some(tools)})`;
    return `${word}  ${shown(name).padEnd(width)}  ${shown(message)}${where}${why}`;
  });
  return [...lines, outcomeLine(outcome, rules.length, errors, warnings)].join('\n');
}

function outcomeLine(outcome: string, asked: number, errors: number, warnings: number): string {
  const word = outcome.toUpperCase();
  if (errors + warnings === 0) return `${word}: ${counted(asked, 'rule')} passed.`;
  const told = [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ];
  return `${word}: of ${counted(asked, 'rule')}, ${asked - errors - warnings} passed; ${told.join(' and ')}.`;
}

const MAX_TOOLS = 5;

function some(tools: readonly string[]): string {
  const first = tools.slice(0, MAX_TOOLS).map(shown).join(', ');
  const more = tools.length > MAX_TOOLS ? ` and ${tools.length - MAX_TOOLS} more` : '';
  return `tool${tools.length === 1 ? '' : 's'} ${first}${more}`;
}

function shown(text: string): string {
  return visible(text, { ordinary: true });
}

/** Where a policy came from. */
export interface PolicySource {
  readonly type: 'preset' | 'file';
  readonly name: string;
}

/**
 * A policy as the released program explains it: `schema_version`, `source`, `generated_at` and the rules. Ours are the
 * policy's `name`, `mode` and `digest`, and each rule's `phase` and `decision`.
 */
export function explainDocument(policy: Policy, source: PolicySource, now: Date): Record<string, unknown> {
  return {
    schema_version: '1.0',
    source,
    generated_at: now.toISOString(),
    name: policy.name,
    mode: policy.mode,
    digest: policy.digest,
    rules: policy.rules.map((rule) => ({
      name: rule.name,
      severity: rule.severity,
      phase: rule.phase,
      decision: rule.decision,
      expr: rule.expr,
      failure_msg: rule.failure_msg,
      control_refs: rule.control_refs,
      evidence: rule.evidence,
      evidence_commands: rule.evidence_commands,
    })),
  };
}

const MAX_EXPR = 120;

/** The same as a table in Markdown, with the released program's six columns. */
export function explainMarkdown({ name, mode, digest, rules }: Policy, source: PolicySource): string {
  const cell = (text: string) => (text === '' ? '-' : escaped(text.replace(/\s+/g, ' ').trim()));
  const list = (texts: readonly string[]) => cell(texts.join(', '));
  const rows = rules.map((rule) => {
    const expr = rule.expr.replace(/\s+/g, ' ').trim();
    const cut = expr.length > MAX_EXPR ? `${expr.slice(0, MAX_EXPR)}…` : expr;
    const about = [rule.phase, rule.decision].filter((word) => word !== 'list' && word !== 'deny');
    const when = about.length === 0 ? rule.severity : `${rule.severity} (${about.join(', ')})`;
    const columns = [
      ...[cell(rule.name), when, code(cut)],
      ...[
        cell(rule.failure_msg),
        list(rule.control_refs),
        list([...rule.evidence, ...rule.evidence_commands]),
      ],
    ];
    return `| ${columns.join(' | ')} |`;
  });
  return [
    `# Policy: ${cell(name)}`,
    '',
    `**Source**: ${source.type} (${code(source.name)})  `,
    `**Mode**: ${mode}  `,
    `**Digest**: ${code(digest)}`,
    '',
    '| Rule | Severity | Expression | Message | Controls | Evidence |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function escaped(text: string): string {
  return shown(text).replace(/[\\|`*_[\]<>]/g, '\\$&');
}

/** In backticks, with more of them than the text has, as Markdown asks; a bar would end the cell. */
function code(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0);
  const ticks = '`'.repeat(1 + longest);
  const inner = shown(text).replaceAll('|', '\\|');
  return ticks.length > 1 ? `${ticks} ${inner} ${ticks}` : `${ticks}${inner}${ticks}`;
}
