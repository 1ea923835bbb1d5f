import { exportSealed, lint, readHashed, type SealedCapsule } from '@bulla/core/capsule';
import { shownKeyId, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { counted } from '@bulla/core/text';
import { missingText, unsealedPaths, verifyRecord } from '@bulla/core/verify';
import {
  erasePayloads,
  exportRecords,
  keptPayloads,
  readContent,
  resolveUri,
  verifyImport,
} from '../../app/index.ts';
import { asLine, readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions, storeOptions, strictOption } from '../store.ts';
import { nonNegative, readDocument } from '../terminal/input.ts';
import {
  capsuleNames,
  colors,
  complain,
  EXIT,
  type Exit,
  markOf,
  print,
  printExact,
  type ReportOptions,
  report,
  reportOptions,
  say,
} from '../terminal/io.ts';
import { NAME_RECORD_KEYS } from '../verify/hints.ts';
import { type TrustOptions, trusted, trustOptions } from '../verify/trust.ts';
import { payloadsDocument, payloadsText } from './payloads.ts';
import { capsuleText } from './text.ts';

export function define(command: Command): void {
  command
    .subcommand('seal', 'Seal a capsule and append it to a chain of the store.')
    .use(reportOptions, sealOptions, strictOption)
    .argument(
      '[file]',
      'the content: any of the six sections, all the rest takes its default; - is standard input',
      '-',
    )
    .helpText(`
Prints the sealed capsule when it is durable; with --json as {"capsule", "warnings"}. What another implementation
would hash differently is sealed all the same, with a warning. Example:
  $ echo '{"outcome":{"status":"success","summary":"deployed"}}' | bulla capsule seal`)
    .run(seal);

  command
    .subcommand('verify', 'Verify one sealed capsule as it is stored.')
    .use(trustOptions, reportOptions)
    .argument('[file]', 'the capsule; - is standard input', '-')
    .run(verifyOne);

  command
    .subcommand('show', 'Show a capsule for people. Its hash is recomputed; its signature is not verified.')
    .argument('[file]', 'the capsule; - is standard input', '-')
    .run(async (file: string) => {
      const value = parse(readInput(file, 'document'), { allow: ['non-finite'] });
      if (!(value instanceof JsonObject)) throw new BullaError('CAPSULE_INVALID', 'A capsule is an object.');
      await print(`${capsuleText(value)}\n`);
      // Shown all the same, so that one sees what is wrong; but never under a hash that it does not have.
      if (value.has('hash')) readHashed(value);
    });

  command
    .subcommand('export', 'Write a chain of the store, one sealed capsule a line, exactly as it is stored.')
    .use(storeOptions)
    .option('--from <n>', 'begin at this sequence', nonNegative, 0)
    .run(exportChain);

  command
    .subcommand(
      'import',
      'Verify a chain from a file and store it as it is, under an empty or matching chain.',
    )
    .use(sealOptions, trustOptions)
    .argument('<file>', 'the chain, in any format that chain verify reads; - is standard input')
    .run(importChain);

  command
    .subcommand('resolve', 'Find what a capsule:// URI names in the local store, and print it.')
    .use(storeOptions)
    .argument('<uri>', 'such as capsule://sha3_… or capsule://CHAIN/42#reasoning/confidence')
    .run(resolve);

  command
    .subcommand('payloads', 'Show what is kept beside the chain of the arguments and the result of a call.')
    .use(storeOptions, reportOptions)
    .argument('<id>', 'the capsule of its intent, outcome or denial')
    .helpText(`
What is kept is held against the commitment in the record. A redacted copy says what was removed from it; it has a
commitment of its own, and does not open the one to the whole value. Exit code 1: what lies there was changed.`)
    .run(payloads);

  command
    .subcommand('erase', 'Erase what is kept of the arguments and the result of a call, and their salts.')
    .use(sealOptions, reportOptions)
    .argument('<id>', 'the capsule of its intent, outcome or denial')
    .helpText(`
The chain stays as it is and verifies; nobody can open its commitments any more. That it was asked for is recorded.
Copies of the store, such as backups, are not reached.`)
    .run(erase);
}

async function payloads(id: string, options: StoreOptions & ReportOptions): Promise<Exit> {
  await using at = await openFor(options, 'read');
  const kept = await keptPayloads(at.store, id);
  const isChanged = kept.some(({ state }) => state === 'changed');
  // Values have digits that a parser of doubles would lose.
  if (options.json) await printExact(asLine(toUtf8(payloadsDocument(id, kept))));
  else if (!options.quiet) await print(payloadsText(kept));
  return isChanged ? EXIT.bad : EXIT.good;
}

async function erase(id: string, options: StoreOptions & ReportOptions): Promise<void> {
  await using at = await openFor(options, 'extend');
  const { erased, capsule } = await erasePayloads(at, id);
  const what = erased === 0 ? 'There was nothing to erase' : `Erased ${counted(erased, 'opening')}`;
  await report(options, { ok: true, erased, ...capsuleNames(capsule) }, () => [
    `${what}, sealed as ${capsule.hash}`,
  ]);
}

/** The capsule in the input; the references export a single one as an array, too. */
function oneCapsule(input: Uint8Array, allowNonFinite: boolean): JsonObject | Uint8Array {
  try {
    const value = parse(input, allowNonFinite ? { allow: ['non-finite'] } : {});
    const [only, ...more] = Array.isArray(value) ? value : [value];
    if (more.length > 0)
      throw new BullaError(
        'CAPSULE_SEVERAL',
        "These are several capsules; 'bulla chain verify' is for them.",
      );
    if (only instanceof JsonObject) return only;
  } catch (error) {
    if (error instanceof BullaError && error.code === 'CAPSULE_SEVERAL') throw error;
    // What cannot be read gets its verdict from the verifier.
  }
  return input;
}

async function verifyOne(file: string, options: TrustOptions & ReportOptions): Promise<Exit> {
  const trust = trusted(options);
  const verdict = verifyRecord(oneCapsule(readInput(file, 'document'), trust.allowNonFinite), trust);
  const unsealed = unsealedPaths(verdict.unauthenticated);
  const isUndecided = verdict.code === 'unknown_key';
  const title = markOf(isUndecided ? 'undecided' : 'bad');
  const message = isUndecided ? `${verdict.message} ${NAME_RECORD_KEYS}` : verdict.message;
  const { key, pqKey, signedBy, ...rest } = verdict;
  const names = { key_id: key, pq_key_id: pqKey, signed_by: signedBy };
  await report(options, { ...rest, ...names, not_sealed: unsealed }, () => {
    const warnings = verdict.warnings.map(
      ({ code, path, message }) =>
        `  ${colors.yellow('warning')} ${path || '(root)'}: ${message} ${colors.dim(`[${code}]`)}`,
    );
    if (!verdict.ok)
      return [`${title}  ${message} ${colors.dim(`[${verdict.code}]`)}`, ...warnings].join('\n');
    return [
      `${markOf('good')}  ${verdict.form} keys, ${verdict.profile}, signed by ${shownKeyId(verdict.key!)}`,
      ...warnings,
      ...(unsealed.length === 0 ? [] : [colors.dim(`  not sealed: ${unsealed.join(', ')}`)]),
      colors.dim(`  not proven: ${NOT_PROVEN.join('; ')}`),
    ].join('\n');
  });
  if (isUndecided) return EXIT.undecided;
  return verdict.ok ? EXIT.good : EXIT.bad;
}

/** What a good capsule does not prove. */
const NOT_PROVEN: readonly string[] = [
  'that the content is true',
  'when it was sealed',
  'that no record before or after it is missing',
];

const MAX_COMPLAINTS = 20;

async function exportChain(options: StoreOptions & { from: number }): Promise<void> {
  await using at = await openFor(options, 'verify');
  let changed = 0;
  for await (const { line, sequence, error } of exportRecords(at.chain, options.from)) {
    await printExact(line);
    if (error !== null && changed++ < MAX_COMPLAINTS) complain(error, `record ${sequence}`);
  }
}

async function importChain(file: string, options: StoreOptions & TrustOptions): Promise<void> {
  using verified = await verifyImport(file, trusted(options), missingText);
  await using at = await openFor(options, 'write');
  const imported = await verified.into(at.chain);
  say(`bulla: imported ${counted(imported, 'record')} into ${options.chain}`);
}

async function resolve(uri: string, options: StoreOptions): Promise<void> {
  await using at = await openFor(options, 'read');
  await printExact(asLine(toUtf8(await resolveUri(at.store, uri))));
}

async function seal(file: string, options: StoreOptions & ReportOptions): Promise<void> {
  const content = readContent(readDocument(file, 'document'));
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
