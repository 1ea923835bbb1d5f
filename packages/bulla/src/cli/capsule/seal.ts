import { exportSealed, lint, type SealedCapsule } from '@bulla/core/capsule';
import { toUtf8 } from '@bulla/core/crypto';
import { readContent } from '../../app/index.ts';
import { asLine, readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, type StrictOptions, sealOptions, strictOption } from '../store.ts';
import { printExact, type ReportOptions, say } from '../terminal/io.ts';

export function defineSeal(command: Command): void {
  const described = command.description('Seal a capsule and append it to a chain of the store.');
  described
    .use(sealOptions, strictOption)
    .argument(
      '[file]',
      'the content: any of the six sections, all the rest takes its default; - is standard input',
      '-',
    )
    .helpText(
      '\nPrints the sealed capsule when it is durable; with --json as {"capsule", "warnings"}. What another implementation\nwould hash differently is sealed all the same, with a warning. Example:\n  $ echo \'{"outcome":{"status":"success","summary":"deployed"}}\' | bulla capsule seal',
    )
    .run(sealOne);
}

async function sealOne(file: string, options: StoreOptions & StrictOptions & ReportOptions): Promise<void> {
  const content = readContent(readInput(file, 'document'));
  await using at = await openFor(options, 'write');
  const { strictInterop = false } = options;
  const sealed = await at.chain.append(content, { strictInterop });
  if (!options.quiet) await printSealed(sealed, options);
}

async function printSealed(sealed: SealedCapsule, { json }: ReportOptions): Promise<void> {
  const warnings = lint(sealed).map(({ path, code, message }) => ({ path, code, message }));
  const text = exportSealed(sealed);
  // The capsule has digits that a parser of doubles would lose, so it is not written as a value.
  const document = json ? `{"capsule":${text},"warnings":${JSON.stringify(warnings)}}` : text;
  await printExact(asLine(toUtf8(document)));
  if (json) return;
  for (const { path, code, message } of warnings)
    say([`bulla: warning: ${path || '(root)'}: ${message} [${code}]`]);
}
