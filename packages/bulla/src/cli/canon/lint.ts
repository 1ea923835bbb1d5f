import { type Finding, families, lint } from '@bulla/core/canon';
import { parse } from '@bulla/core/json';
import { Option } from 'commander';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { type DocumentOptions, parsingOptions } from '../terminal/input.ts';
import { colors, EXIT, type ReportOptions, report, reportOptions } from '../terminal/io.ts';

interface LintOptions extends DocumentOptions, ReportOptions {
  family?: string[];
}

const MEANING: Record<Finding['rule'], string> = {
  number: 'the number is written differently',
  string: 'the string is escaped differently',
  'key-order': 'the keys are ordered differently; the first that differs:',
  members: 'not the same members are hashed; those that only some hash:',
  refused: 'it is refused',
  inexact: 'the number is no longer the one in the source',
};

export function define(command: Command): void {
  command
    .argument('[file]', 'the document; - is standard input', '-')
    .addOption(
      new Option('--family <name...>', 'compare only the profiles of these families').choices([...families]),
    )
    .use(reportOptions, parsingOptions)
    .helpText('\nExits with 1 when there are findings.')
    .run(async (file: string, options: LintOptions) => {
      const findings = lint(parse(readInput(file, 'chain'), options), options.family);
      const document = { ok: findings.length === 0, families: options.family ?? families, findings };
      await report(options, document, () =>
        findings.length === 0 ? ['Every family agrees on this document.'] : findings.flatMap(text),
      );
      return findings.length === 0 ? EXIT.good : EXIT.bad;
    });
}

function text({ family, rule, path, forms }: Finding): string[] {
  const rows = Object.entries(forms).map(([id, form]) => `    ${id.padEnd(16)}${form}`);
  return [`${colors.bold(family)} ${path === '' ? '(root)' : path}: ${MEANING[rule]}`, ...rows];
}
