import { type CapsuleInput, exportSealed, lint, SEAL_FIELDS, type SealedCapsule } from '@bulla/core/capsule';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, parse } from '@bulla/core/json';
import type { Command } from 'commander';
import { asLine } from '../../os/index.ts';
import type { Run } from '../commands.ts';
import { openToWrite, type PlaceOptions, placeOptions, type StrictOptions, strictOption } from '../place.ts';
import { EXIT, type Exit, printExact, type ReportOptions, readInput, say } from '../terminal/io.ts';

export function defineSeal(command: Command, run: Run): void {
  const described = command.description('Seal a capsule and append it to a chain of the store.');
  strictOption(placeOptions(described))
    .argument(
      '[file]',
      'the content: any of the six sections, all the rest takes its default; - is standard input',
      '-',
    )
    .option('--keys <folder>', 'the keyring to seal with (default: BULLA_HOME/keys)')
    .addHelpText(
      'after',
      '\nPrints the sealed capsule when it is durable; with --json as {"capsule", "warnings"}. What another implementation\nwould hash differently is sealed all the same, with a warning. Example:\n  $ echo \'{"outcome":{"status":"success","summary":"deployed"}}\' | bulla capsule seal',
    )
    .action(run(sealOne));
}

async function sealOne(file: string, options: PlaceOptions & StrictOptions & ReportOptions): Promise<Exit> {
  const value = parse(readInput(file));
  if (!(value instanceof JsonObject))
    throw new BullaError('CAPSULE_NOT_AN_OBJECT', 'The content of a capsule is an object.');
  const given = [...SEAL_FIELDS, 'id', 'sequence', 'previous_hash', 'spec_version'].filter((key) =>
    value.has(key),
  );
  if (given.length > 0)
    throw new BullaError('CAPSULE_GIVEN', `The sealer gives ${given.join(', ')}; leave it out.`);
  const store = await openToWrite(options);
  try {
    const { strictInterop = false } = options;
    const sealed = await store.chain(options.chain).append(inputOf(value), { strictInterop });
    if (!options.quiet) await printSealed(sealed, options);
  } finally {
    await store.close();
  }
  return EXIT.good;
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

/**
 * The content as the sealer takes it: sections, options and tool calls become plain, and everything inside them keeps
 * the digits that were written.
 */
function inputOf(content: JsonObject): CapsuleInput {
  const plain = (value: JsonValue | undefined) =>
    value instanceof JsonObject ? Object.fromEntries(value) : value;
  const list = (value: unknown) => (Array.isArray(value) ? value.map(plain) : value);
  const sections = Object.fromEntries([...content].map(([key, value]) => [key, plain(value)])) as Record<
    string,
    Record<string, unknown>
  >;
  if (sections.reasoning?.options !== undefined)
    sections.reasoning.options = list(sections.reasoning.options);
  if (sections.execution?.tool_calls !== undefined)
    sections.execution.tool_calls = list(sections.execution.tool_calls);
  return sections as CapsuleInput;
}
