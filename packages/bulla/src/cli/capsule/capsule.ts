import {
  type CapsuleInput,
  exportSealed,
  parseCapsuleUri,
  readHashed,
  resolveFragment,
  SEAL_FIELDS,
  verifyCapsule,
} from '@bulla/core/capsule';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, parse, stringify, toPlain } from '@bulla/core/json';
import type { Command } from 'commander';
import { judged, openSource, type SourceRecord, verifyChain } from '../../chain/index.ts';
import { asLine, snapshot } from '../../os/index.ts';
import type { FoundRecord, Row } from '../../store/index.ts';
import type { Run } from '../commands.ts';
import { openToRead, openToVerify, openToWrite, type PlaceOptions, placeOptions } from '../place.ts';
import {
  colors,
  complain,
  EXIT,
  type Exit,
  print,
  printExact,
  type ReportOptions,
  readInput,
  report,
  say,
} from '../terminal/io.ts';
import { counted } from '../terminal/words.ts';
import { missingText, unsealedPaths } from '../verify/notices.ts';
import { type TrustOptions, trusted, trustOptions } from '../verify/trust.ts';
import { capsuleText } from './text.ts';

export function define(command: Command, run: Run): void {
  const reporting = (sub: Command) =>
    sub.option('--json', 'print one JSON document').option('--quiet', 'print nothing; the exit code tells');

  placeOptions(command.command('seal').description('Seal a capsule and append it to a chain of the store.'))
    .argument(
      '[file]',
      'the content: any of the six sections, all the rest takes its default; - is standard input',
      '-',
    )
    .option('--keys <folder>', 'the keyring to seal with (default: BULLA_HOME/keys)')
    .addHelpText(
      'after',
      '\nPrints the sealed capsule when it is durable. Example:\n  $ echo \'{"outcome":{"status":"success","summary":"deployed"}}\' | bulla capsule seal',
    )
    .action(run(sealOne));

  reporting(trustOptions(command.command('verify').description('Verify one sealed capsule as it is stored.')))
    .argument('[file]', 'the capsule; - is standard input', '-')
    .action(run(verifyOne));

  command
    .command('show')
    .description('Show a capsule for people. Its hash is recomputed; its signature is not verified.')
    .argument('[file]', 'the capsule; - is standard input', '-')
    .action(
      run(async (file: string) => {
        const value = parse(readInput(file), { allow: ['non-finite'] });
        if (!(value instanceof JsonObject))
          throw new BullaError('CAPSULE_INVALID', 'A capsule is an object.');
        await print(`${capsuleText(value)}\n`);
        // Shown all the same, so that one sees what is wrong; but never under a hash that it does not have.
        if (value.has('hash')) readHashed(value);
        return EXIT.good;
      }),
    );

  placeOptions(
    command
      .command('export')
      .description('Write a chain of the store, one sealed capsule a line, exactly as it is stored.'),
  )
    .option('--from <n>', 'begin at this sequence', (text) => nonNegative(text), 0)
    .action(run(exportChain));

  trustOptions(
    placeOptions(
      command
        .command('import')
        .description('Verify a chain from a file and store it as it is, under an empty or matching chain.'),
    ),
  )
    .argument('<file>', 'the chain, in any format that chain verify reads; - is standard input')
    .option('--keys <folder>', 'the local keyring (default: BULLA_HOME/keys)')
    .action(run(importChain));

  placeOptions(
    command
      .command('resolve')
      .description('Find what a capsule:// URI names in the local store, and print it.'),
  )
    .argument('<uri>', 'such as capsule://sha3_… or capsule://CHAIN/42#reasoning/confidence')
    .action(run(resolveUri));
}

export function nonNegative(text: string): number {
  if (!/^(?:0|[1-9][0-9]{0,14})$/.test(text))
    throw new BullaError('USAGE', `${JSON.stringify(text)} is not a whole number.`);
  return Number(text);
}

async function sealOne(file: string, options: PlaceOptions): Promise<Exit> {
  const value = parse(readInput(file));
  if (!(value instanceof JsonObject))
    throw new BullaError('CAPSULE_INVALID', 'The content of a capsule is an object.');
  const given = [...SEAL_FIELDS, 'id', 'sequence', 'previous_hash', 'spec_version'].filter((key) =>
    value.has(key),
  );
  if (given.length > 0)
    throw new BullaError('CAPSULE_INVALID', `The sealer gives ${given.join(', ')}; leave it out.`);
  const store = await openToWrite(options);
  try {
    const sealed = await store.chain(options.chain).append(inputOf(value));
    await printExact(asLine(toUtf8(exportSealed(sealed))));
  } finally {
    await store.close();
  }
  return EXIT.good;
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
  const input = oneCapsule(readInput(file), options.allowNan ?? false);
  const verdict = judged(
    verifyCapsule(input, {
      ...trust,
      requirePq: options.requirePq ?? false,
      allowNonFinite: options.allowNan ?? false,
    }),
    trust.revoked,
    () => false,
  );
  const unsealed = unsealedPaths(verdict.unauthenticated);
  const title = verdict.code === 'unknown_key' ? colors.yellow('undecided') : colors.red('BAD');
  await report(options, { ...verdict, not_sealed: unsealed }, () => {
    const warnings = verdict.warnings.map(
      ({ code, path, message }) =>
        `  ${colors.yellow('warning')} ${path || '(root)'}: ${message} ${colors.dim(`[${code}]`)}`,
    );
    if (!verdict.ok)
      return [`${title}  ${verdict.message} ${colors.dim(`[${verdict.code}]`)}`, ...warnings].join('\n');
    return [
      `${colors.green('good')}  ${verdict.form} keys, ${verdict.profile}, signed by ${verdict.key}`,
      ...warnings,
      ...(unsealed.length === 0 ? [] : [colors.dim(`  not sealed: ${unsealed.join(', ')}`)]),
      colors.dim(`  not proven: ${NOT_PROVEN.join('; ')}`),
    ].join('\n');
  });
  if (verdict.code === 'unknown_key') return EXIT.undecided;
  return verdict.ok ? EXIT.good : EXIT.bad;
}

/** What a good capsule does not prove. */
export const NOT_PROVEN: readonly string[] = [
  'that the content is true',
  'when it was sealed',
  'that no record before or after it is missing',
];

async function exportChain(options: PlaceOptions & { from: number }): Promise<Exit> {
  const store = await openToVerify(options);
  let count = 0;
  let changed = 0;
  try {
    for await (const row of store.chain(options.chain).records(options.from)) {
      // One line for every reader, also where somebody wrote line breaks into the database.
      await printExact(asLine(toUtf8(row.data)));
      count++;
      try {
        readHashed(row.data, row.hash);
      } catch (error) {
        // Evidence is written whole, also where it was changed.
        if (changed++ < 20) complain(error, `record ${row.sequence}`);
      }
    }
  } finally {
    await store.close();
  }
  if (changed > 0)
    throw new BullaError(
      'CAPSULE_HASH',
      `The content of ${changed} of ${count} records was changed in the store.`,
    );
  if (count > 0) return EXIT.good;
  throw new BullaError('CHAIN_EMPTY', `The chain ${options.chain} has no records from ${options.from} on.`);
}

async function importChain(file: string, options: PlaceOptions & TrustOptions): Promise<Exit> {
  // Read once: what is stored is what was verified, whatever becomes of the file meanwhile.
  const { path, remove } = snapshot(file);
  try {
    return await importVerified(path, options);
  } finally {
    remove();
  }
}

async function importVerified(file: string, options: PlaceOptions & TrustOptions): Promise<Exit> {
  const trust = trusted(options);
  const verified = await verifyChain(openSource(file), {
    ...trust,
    requirePq: options.requirePq ?? false,
    allowNonFinite: options.allowNan ?? false,
  });
  if (verified.outcome === 'undecided')
    throw new BullaError(
      'IMPORT_NOT_VERIFIED',
      `The chain is not imported. ${missingText(verified.missingKeys)}`,
      { kind: 'unavailable' },
    );
  if (!verified.ok) {
    const first = verified.failures[0];
    throw new BullaError(
      'IMPORT_NOT_VERIFIED',
      `The chain is not imported: ${first?.error ?? 'it is empty'}`,
    );
  }
  // The next checkpoint would make it our word that the key signed which they name.
  const misnamed = verified.warnings.signed_by_mismatch ?? 0;
  if (misnamed > 0)
    throw new BullaError(
      'IMPORT_NOT_VERIFIED',
      `The chain is not imported: the signed_by of ${counted(misnamed, 'record')} names another key than the one that signed.`,
    );
  const store = await openToWrite(options);
  try {
    const chain = store.chain(options.chain);
    const { length } = await chain.head();
    // Every link was verified, so one equal hash means that everything before it is equal too.
    const common = Math.min(length, verified.count) - 1;
    const stored = common < 0 ? undefined : (await chain.records(common).next()).value;
    let imported = 0;
    let rows: Row[] = [];
    for await (const record of openSource(file).records()) {
      const row = rowOf(record, options.allowNan ?? false);
      if (row.sequence === common && row.hash !== stored?.hash) {
        throw new BullaError(
          'IMPORT_DIFFERS',
          `The chain ${options.chain} is another one than that in the file.`,
        );
      }
      if (row.sequence < length) continue;
      rows.push(row);
      imported++;
      if (rows.length === 500) {
        await chain.adopt(rows);
        rows = [];
      }
    }
    await chain.adopt(rows);
    say(`bulla: imported ${counted(imported, 'record')} into ${options.chain}`);
  } finally {
    await store.close();
  }
  return EXIT.good;
}

function rowOf(record: SourceRecord, allowNonFinite: boolean): Row {
  if (typeof record === 'object' && 'canonical' in record) {
    throw new BullaError(
      'CHAIN_SOURCE',
      'Records that store a canonical text are verified, but not imported.',
    );
  }
  const capsule = parse(record, allowNonFinite ? { allow: ['non-finite'] } : {}) as JsonObject;
  return {
    sequence: toPlain(capsule.get('sequence')!) as number,
    hash: capsule.get('hash') as string,
    data: stringify(capsule),
  };
}

/** A record that the store found. Throws `CAPSULE_HASH` for one that is not what was asked for. */
export function readFound({ data, hash, intact, chain, sequence }: FoundRecord): JsonObject {
  const record = readHashed(data, hash);
  if (intact) return record;
  throw new BullaError(
    'CAPSULE_HASH',
    `What the store finds by this name, record ${sequence} of the chain ${chain}, does not say so itself.`,
  );
}

async function resolveUri(uri: string, options: PlaceOptions): Promise<Exit> {
  const { chain, hash_value, id, sequence, fragment } = parseCapsuleUri(uri);
  const store = await openToRead(options);
  try {
    const [found] = await store.find({
      ...(chain === null ? {} : { chain }),
      ...(hash_value === null ? {} : { hash: hash_value }),
      ...(id === null ? {} : { id }),
      ...(sequence === null ? {} : { sequence }),
    });
    if (found === undefined)
      throw new BullaError('CAPSULE_NOT_FOUND', `The store has nothing that ${uri} names.`);
    const capsule = readFound(found);
    const text = fragment === null ? found.data : stringify(resolveFragment(capsule, fragment));
    await printExact(asLine(toUtf8(text)));
  } finally {
    await store.close();
  }
  return EXIT.good;
}
