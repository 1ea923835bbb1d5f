import { existsSync, writeFileSync } from 'node:fs';
import type { ChainReport, ChainState } from '@bulla/core/capsule';
import { type JsonObject, parse, toPlain } from '@bulla/core/json';
import type { Command } from 'commander';
import { type ChainSource, openSource, storeSource, verifyChain } from '../chain/index.ts';
import { nonNegative } from './capsule.ts';
import type { Run } from './cli.ts';
import { colors, EXIT, type Exit, type ReportOptions, readInput, report } from './io.ts';
import { openToRead, type PlaceOptions, placeOptions } from './place.ts';
import { progressBar } from './progress.ts';
import { type TrustOptions, trusted, trustOptions } from './trust.ts';

interface VerifyOptions extends TrustOptions, PlaceOptions, ReportOptions {
  structural?: boolean;
  expectLength?: number;
  expectHead?: string;
  threads?: number;
  resume?: string;
}

export function define(command: Command, run: Run): void {
  const reporting = (sub: Command) =>
    sub.option('--json', 'print one JSON document').option('--quiet', 'print nothing; the exit code tells');

  reporting(
    trustOptions(
      placeOptions(
        command.command('verify').description('Verify a chain: order, links, hashes and signatures.'),
      ),
    ),
  )
    .argument(
      '[file]',
      'a JSON array, lines, list response, explorer bundle or SQLite file; without it the chain of the store',
    )
    .option('--structural', 'look at order and links alone, and trust the stored hashes')
    .option('--expect-length <n>', 'how many records there must be', nonNegative)
    .option('--expect-head <hash>', 'the hash that the last record must have')
    .option('--resume <file>', 'go on from what this file says was verified, and write there how far it got')
    .option('--threads <n>', 'threads to verify on (default: one for each core)', nonNegative)
    .addHelpText(
      'after',
      '\nExits with 0 if all is good, 1 if anything is bad, 2 for what cannot be read, 3 if there is nothing to verify or no key.',
    )
    .action(run(verify));

  reporting(
    placeOptions(
      command.command('head').description('Tell how long a chain of the store is and what its last hash is.'),
    ),
  ).action(run(head));

  reporting(
    placeOptions(
      command
        .command('stats')
        .description('Count the records of a chain of the store by type, status and tool.'),
    ),
  ).action(run(stats));
}

async function verify(file: string | undefined, options: VerifyOptions): Promise<Exit> {
  const trust = trusted(options);
  if (trust.keys.length === 0 && !options.structural) {
    const message = 'No key is known to verify with; name one with --public-key or --keyring.';
    await report(
      options,
      { ok: false, code: 'VERIFY_NO_KEY', message },
      () => `${colors.yellow('undecided')}  ${message}`,
    );
    return EXIT.undecided;
  }
  const store = file === undefined ? await openToRead(options) : undefined;
  try {
    const source =
      store === undefined
        ? openSource(file!, options.tenant === undefined ? {} : { tenant: options.tenant })
        : await storeSource(store.chain(options.chain));
    const bar = progressBar(source.size, options);
    const started = performance.now();
    const result = await verifyChain(source, {
      mode: options.structural ? 'structural' : 'cryptographic',
      ...trust,
      requirePq: options.requirePq ?? false,
      allowNonFinite: options.allowNan ?? false,
      ...(options.expectLength === undefined ? {} : { expectLength: options.expectLength }),
      ...(options.expectHead === undefined ? {} : { expectHead: options.expectHead }),
      ...(options.threads === undefined ? {} : { threads: options.threads }),
      ...(options.resume === undefined ? {} : savedState(options.resume)),
      progress: bar.update,
    });
    bar.done();
    const seconds = (performance.now() - started) / 1000;
    const { state, ...document } = result;
    if (options.resume !== undefined) writeFileSync(options.resume, `${JSON.stringify(state)}\n`);
    await report(options, { ...document, format: source.format, not_proven: notProven(options) }, () =>
      verdictText(result, source, seconds, trust.origin, options),
    );
    return { ok: EXIT.good, failed: EXIT.bad, empty: EXIT.undecided }[result.outcome];
  } finally {
    await store?.close();
  }
}

/** What an earlier run has seen; nothing if there was none. The file is trusted as much as the program is. */
function savedState(file: string): { from?: ChainState } {
  if (!existsSync(file)) return {};
  return { from: toPlain(parse(readInput(file)) as JsonObject) as unknown as ChainState };
}

function notProven(options: VerifyOptions): string[] {
  return [
    ...(options.structural ? ['that the content has the stored hashes, or that anyone signed it'] : []),
    ...(options.expectLength === undefined && options.expectHead === undefined
      ? ['that no records are missing at the end']
      : []),
    'that the content is true',
    'when the records were sealed',
  ];
}

function verdictText(
  result: ChainReport,
  source: ChainSource,
  seconds: number,
  from: string,
  options: VerifyOptions,
): string {
  const rate = seconds > 0.5 ? `, ${Math.round(result.count / seconds).toLocaleString('en')} a second` : '';
  const counts = (record: Readonly<Record<string, number>>) =>
    Object.entries(record)
      .map(([name, n]) => `${name.length === 64 ? `${name.slice(0, 16)}…` : name} ${n.toLocaleString('en')}`)
      .join(', ');
  const title = { ok: colors.green('good'), failed: colors.red('BAD'), empty: colors.yellow('undecided') }[
    result.outcome
  ];
  const facts: [string, string][] = [
    [
      'read',
      `${source.format}, ${result.count.toLocaleString('en')} records in ${seconds.toFixed(1)} s${rate}`,
    ],
    ['checked', options.structural ? 'order and links' : `order, links, hashes and signatures, with ${from}`],
    ['head', result.head === null ? '' : `${result.head.sequence}  ${result.head.hash}`],
    ['keys', counts(result.keys)],
    ['forms', counts(result.profiles)],
    ['warnings', counts(result.warnings)],
  ];
  const failures = result.failures.slice(0, 20).map(({ index, sequence, id, code, error }) => {
    const place =
      index === null ? 'chain' : `record ${index}${sequence === null ? '' : ` (sequence ${sequence})`}`;
    return `  ${colors.red('✗')} ${place}: ${error} ${colors.dim(`[${code}]${id === null ? '' : ` ${id}`}`)}`;
  });
  if (result.failureCount > failures.length)
    failures.push(`  … and ${result.failureCount - failures.length} more; --json lists up to 1,000`);
  const summary = {
    ok: `${result.count.toLocaleString('en')} records, unbroken from the first to the last`,
    failed: `${result.failureCount} of the checks failed`,
    empty: 'there is nothing to verify',
  }[result.outcome];
  return [
    `${title}  ${summary}`,
    ...facts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `  ${colors.dim(name.padEnd(10))}${value}`),
    ...failures,
    ...(result.outcome === 'ok' ? [colors.dim(`  not proven: ${notProven(options).join('; ')}`)] : []),
  ].join('\n');
}

async function head(options: PlaceOptions & ReportOptions): Promise<Exit> {
  const store = await openToRead(options);
  try {
    const { length, hash } = await store.chain(options.chain).head();
    await report(options, { chain: options.chain, length, hash }, () =>
      hash === null ? 'empty' : `${length} records, head ${hash}`,
    );
    return length === 0 ? EXIT.undecided : EXIT.good;
  } finally {
    await store.close();
  }
}

async function stats(options: PlaceOptions & ReportOptions): Promise<Exit> {
  const store = await openToRead(options);
  try {
    const counts: Record<'type' | 'status' | 'tool' | 'agent', Record<string, number>> = {
      type: {},
      status: {},
      tool: {},
      agent: {},
    };
    const add = (kind: keyof typeof counts, name: string) => {
      if (name !== '') counts[kind][name] = (counts[kind][name] ?? 0) + 1;
    };
    let records = 0;
    for await (const row of store.chain(options.chain).records()) {
      const capsule = toPlain(parse(row.data) as JsonObject) as {
        type: string;
        outcome: { status: string };
        context: { agent_id: string };
        execution: { tool_calls: { tool: string }[] };
      };
      records++;
      add('type', capsule.type);
      add('status', capsule.outcome.status);
      add('agent', capsule.context.agent_id);
      for (const { tool } of capsule.execution.tool_calls) add('tool', tool);
    }
    await report(options, { chain: options.chain, records, ...counts }, () =>
      [
        `${records} records`,
        ...Object.entries(counts).map(
          ([kind, names]) =>
            `  ${colors.dim(kind.padEnd(8))}${Object.entries(names)
              .sort((a, b) => b[1] - a[1])
              .map(([name, n]) => `${name} ${n}`)
              .join(', ')}`,
        ),
      ].join('\n'),
    );
    return records === 0 ? EXIT.undecided : EXIT.good;
  } finally {
    await store.close();
  }
}
