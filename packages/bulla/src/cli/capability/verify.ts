import { readSnapshot } from '@bulla/core/capability';
import { visible } from '@bulla/core/text';
import { checkCapability, type Finding } from '@bulla/core/verify';
import { Option } from 'commander';
import { readContext } from '../../app/index.ts';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import {
  colors,
  EXIT,
  type Exit,
  markOf,
  type ReportOptions,
  report,
  reportOptions,
} from '../terminal/io.ts';
import { allowOption } from './source.ts';

interface VerifyCapabilityOptions extends ReportOptions {
  profile?: 'khora' | 'khora-icu';
  context?: string;
  allow?: string[];
}

export function defineVerify(command: Command): void {
  command
    .subcommand('verify', 'Compute every hash of an envelope or a link again.')
    .argument('[file]', 'the envelope or link; - is standard input', '-')
    .addOption(
      new Option('-p, --profile <id>', 'how a link was hashed that does not say so').choices([
        'khora',
        'khora-icu',
      ]),
    )
    .option('-c, --context <file>', 'the context of the invocation, where the file does not hold it')
    .addOption(allowOption())
    .use(reportOptions)
    .helpText(`
Exits with 0 when every hash recomputes, 1 when one does not, 2 for what cannot be read, and 3 when what a hash is
made of is not in the file: of a link alone, nobody can compute the static hash again.

Example:
  $ bulla capability verify agent.envelope.json`)
    .run(verify);
}

async function verify(file: string, options: VerifyCapabilityOptions): Promise<Exit> {
  const snapshot = readSnapshot(readInput(file, 'document'), options.profile && { profile: options.profile });
  const verdict = checkCapability(snapshot, { context: readContext(options.context), allow: options.allow });
  const { result, code, message, details, notProven } = verdict;
  const document = { ok: result === 'good', file, result, code, message, ...details, not_proven: notProven };
  await report(options, document, () => text(file, verdict));
  return result === 'unreadable' ? EXIT.usage : EXIT[result];
}

function text(file: string, { result, message, details, notProven }: Finding): string {
  const failures = (details.failures as { path: string; message: string }[]).map(
    (failure) => `  ${colors.red('✗')} ${visible(failure.path)}: ${failure.message}`,
  );
  const rows = (title: string, list: unknown) =>
    (list as string[]).length === 0 ? [] : [`  ${title}: ${visible((list as string[]).join(', '))}`];
  return [
    `${markOf(result)}  ${file}: ${visible(message)}`,
    ...failures,
    ...(result === 'bad' ? [] : rows('recomputed', details.recomputed)),
    ...rows('not recomputed', details.unchecked),
    ...rows('opaque schemas', details.opaque),
    colors.dim(`  not proven: ${visible(notProven.join('; '))}`),
  ].join('\n');
}
