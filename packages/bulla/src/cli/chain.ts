import { existsSync, writeFileSync } from 'node:fs';
import type { ChainState } from '@bulla/core/capsule';
import { toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse, toPlain } from '@bulla/core/json';
import type { AnchoredRange, AnchorReport } from '@bulla/core/log';
import type { Command } from 'commander';
import {
  type ChainSource,
  createHistory,
  openSource,
  storeSource,
  storyOf,
  type VerifiedChain,
  verifyChain,
} from '../chain/index.ts';
import { type AnchorOptions, anchorOptions, type FoundAnchors, findAnchors } from './anchors.ts';
import { nonNegative } from './capsule.ts';
import type { Run } from './commands.ts';
import { colors, EXIT, type Exit, type ReportOptions, readInput, report } from './io.ts';
import { historyLines, missingText, noticeLines } from './notices.ts';
import { openToVerify, openToWrite, type PlaceOptions, placeOptions } from './place.ts';
import { progressBar } from './progress.ts';
import { type TrustOptions, trusted, trustOptions } from './trust.ts';
import { counted } from './words.ts';

interface VerifyOptions extends TrustOptions, PlaceOptions, ReportOptions, AnchorOptions {
  structural?: boolean;
  byCheckpoint?: boolean;
  expectLength?: number;
  expectHead?: string;
  threads?: number;
  resume?: string;
}

export function define(command: Command, run: Run): void {
  const reporting = (sub: Command) =>
    sub.option('--json', 'print one JSON document').option('--quiet', 'print nothing; the exit code tells');

  reporting(
    anchorOptions(
      trustOptions(
        placeOptions(
          command
            .command('verify')
            .description(
              'Verify a chain: order, links, hashes and signatures, and that it continues its checkpoints.',
            ),
        ),
      ),
    ),
  )
    .argument(
      '[file]',
      'a JSON array, lines, list response, explorer bundle or SQLite file, - for standard input; without it the chain of the store',
    )
    .option('--structural', 'look at order and links alone, and trust the stored hashes')
    .option(
      '--by-checkpoint',
      'let the signature under a checkpoint stand for those of the records it covers',
    )
    .option('--expect-length <n>', 'how many records there must be', nonNegative)
    .option('--expect-head <hash>', 'the hash that the last record must have')
    .option(
      '--resume <file>',
      'go on from what this file says was verified, and write there how far it got; the file is believed',
    )
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

  placeOptions(
    command
      .command('recover')
      .description('Let a chain go on that was set back behind its checkpoints, and record that.'),
  )
    .requiredOption('--reason <text>', 'why; it becomes part of the chain')
    .option('--keys <folder>', 'the keyring (default: BULLA_HOME/keys)')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      '\nFor after a backup was restored on purpose. What was lost stays lost, and whoever has an old checkpoint can see it: the chain goes on under another origin, and its next record says which checkpoint it does not continue.',
    )
    .action(run(recover));

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
  const isAnchored = options.checkpoint.length > 0 || options.byCheckpoint;
  if (
    options.resume !== undefined &&
    (isAnchored || options.policy !== undefined || options.tiles !== undefined)
  )
    throw new BullaError(
      'CHAIN_RESUME_ANCHORS',
      'A chain is compared with checkpoints from its beginning on.',
    );
  const store = file === undefined ? await openToVerify(options) : undefined;
  try {
    const source =
      store === undefined
        ? openSource(file!, options.tenant === undefined ? {} : { tenant: options.tenant })
        : await storeSource(store.chain(options.chain));
    if (trust.keys.length === 0 && !options.structural) {
      const message = 'No key is known to verify with; name one with --public-key or --keyring.';
      await report(
        options,
        { ok: false, code: 'VERIFY_NO_KEY', message },
        () => `${colors.yellow('undecided')}  ${message}`,
      );
      return EXIT.undecided;
    }
    // A run that goes on from an earlier one has not seen the tree from its beginning.
    const found =
      options.resume === undefined
        ? await findAnchors(options, trust, store?.chain(options.chain))
        : undefined;
    const from = options.resume === undefined ? undefined : savedState(options.resume);
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
      ...(from === undefined ? {} : { from }),
      anchors: found?.sources,
      byCheckpoint: options.byCheckpoint ?? false,
      progress: bar.update,
    });
    bar.done();
    const seconds = (performance.now() - started) / 1000;
    const { state, anchors, ...document } = result;
    if (options.resume !== undefined)
      writeFileSync(options.resume, `${JSON.stringify(state)}\n`, { mode: 0o600 });
    const anchored = anchors && {
      ...anchors,
      root: toHex(anchors.root),
      unverified: found?.unverified ?? 0,
      revoked: found?.revoked ?? 0,
    };
    const resumed = from === undefined ? null : { file: options.resume!, count: from.count };
    const limits = notProven(options, anchors?.ranges ?? [], resumed);
    await report(
      options,
      {
        ...document,
        anchors: anchored,
        format: source.format,
        table: source.table ?? null,
        not_read: source.unread ?? [],
        copied: store?.copied ?? source.copied ?? null,
        resumed,
        not_proven: limits,
      },
      () =>
        verdictText(
          result,
          source,
          seconds,
          {
            keysFrom: trust.origin,
            limits,
            leftOut: found ?? NONE_LEFT_OUT,
            copied: store?.copied ?? source.copied ?? null,
            resumed,
          },
          options,
        ),
    );
    return { ok: EXIT.good, failed: EXIT.bad, empty: EXIT.undecided, undecided: EXIT.undecided }[
      result.outcome
    ];
  } finally {
    await store?.close();
  }
}

/** What an earlier run has seen; nothing if there was none. The file is trusted as much as the program is. */
function savedState(file: string): ChainState | undefined {
  if (!existsSync(file)) return undefined;
  const state = parse(readInput(file));
  if (state instanceof JsonObject) return toPlain(state) as unknown as ChainState;
  throw new BullaError('CAPSULE_CHAIN_STATE', `${file} holds no saved state.`);
}

/** Records that were not read again, and the file whose word is taken for them. */
interface Resumed {
  readonly file: string;
  readonly count: number;
}

function notProven(
  options: VerifyOptions,
  ranges: readonly AnchoredRange[],
  resumed: Resumed | null,
): string[] {
  const expected = options.expectLength !== undefined || options.expectHead !== undefined;
  const last = ranges.at(-1);
  return [
    ...(resumed === null
      ? []
      : [`the first ${counted(resumed.count, 'record')}, but for the word of ${resumed.file}`]),
    ...(options.structural ? ['that the content has the stored hashes, or that anyone signed it'] : []),
    ...(expected
      ? []
      : last === undefined || last.kind === 'unanchored'
        ? ['that no records are missing at the end']
        : ['that no records followed the last checkpoint']),
    ...(ranges.some(({ kind }) => kind === 'local')
      ? ['that the holder of the key did not replace the records that no witness saw']
      : []),
    ...(options.byCheckpoint
      ? ['the signatures of the records that the checkpoint covers, but for the word of who signed it']
      : []),
    'that the content is true',
    ranges.some(({ kind }) => kind === 'anchored')
      ? 'when the records were sealed, but that it was before the witnesses saw them'
      : 'when the records were sealed',
  ];
}

type LeftOut = Pick<FoundAnchors, 'unverified' | 'revoked'>;
const NONE_LEFT_OUT: LeftOut = { unverified: 0, revoked: 0 };

/** Which records are covered by what, a line for each range. */
function rangeLines(anchors: AnchorReport | null, { unverified, revoked }: LeftOut): [string, string][] {
  const lines = (anchors?.ranges ?? []).map(({ from, to, kind, witnesses }): [string, string] => {
    const records = to - from === 1 ? `record ${from}` : `records ${from} to ${to - 1}`;
    const who = witnesses
      .map(({ name, time }) => `${name} at ${new Date(time * 1000).toISOString()}`)
      .join(', ');
    if (kind === 'anchored') return ['anchored', `${records}, by ${who}`];
    if (kind === 'local') return ['anchored', `${records}, locally only: no witness saw them`];
    return ['unanchored', records];
  });
  const tell = (count: number, why: string) => {
    if (count === 0) return;
    const verb = count === 1 ? 'was' : 'were';
    lines.push(['', `${counted(count, 'checkpoint')} of the store ${verb} left out: ${why}`]);
  };
  tell(unverified - revoked, 'not signed by a known key');
  tell(revoked, 'signed by a key that is revoked, and not witnessed before that');
  return lines;
}

function verdictText(
  result: VerifiedChain,
  source: ChainSource,
  seconds: number,
  {
    keysFrom,
    limits,
    leftOut,
    copied,
    resumed,
  }: {
    keysFrom: string;
    limits: readonly string[];
    leftOut: LeftOut;
    copied: string | null;
    resumed: Resumed | null;
  },
  options: VerifyOptions,
): string[] {
  const rate = seconds > 0.5 ? `, ${Math.round(result.count / seconds).toLocaleString('en')} a second` : '';
  const counts = (record: Readonly<Record<string, number>>) =>
    Object.entries(record)
      .map(([name, n]) => `${name.length === 64 ? `${name.slice(0, 16)}…` : name} ${n.toLocaleString('en')}`)
      .join(', ');
  const undecided = colors.yellow('undecided');
  const title = { ok: colors.green('good'), failed: colors.red('BAD'), empty: undecided, undecided }[
    result.outcome
  ];
  const facts: [string, string][] = [
    ['read', `${source.format}, ${counted(result.count, 'record')} in ${seconds.toFixed(1)} s${rate}`],
    ['from', copied ?? ''],
    [
      'resumed',
      resumed === null
        ? ''
        : `the first ${counted(resumed.count, 'record')} were not verified again: ${resumed.file} says what they are`,
    ],
    ['checked', checkedText(options, keysFrom)],
    ['head', result.head === null ? '' : `${result.head.sequence}  ${result.head.hash}`],
    ['keys', counts(result.keys)],
    ['forms', counts(result.profiles)],
    ['warnings', counts(result.warnings)],
    ...noticeLines(result, source),
    ...historyLines(result.history),
    ...rangeLines(result.anchors, leftOut),
  ];
  const failures = result.failures.slice(0, 20).map(({ index, sequence, id, code, error }) => {
    const place =
      index === null ? 'chain' : `record ${index}${sequence === null ? '' : ` (sequence ${sequence})`}`;
    return `  ${colors.red('✗')} ${place}: ${error} ${colors.dim(`[${code}]${id === null ? '' : ` ${id}`}`)}`;
  });
  if (result.failureCount > failures.length)
    failures.push(`  … and ${result.failureCount - failures.length} more; --json lists up to 1,000`);
  const summary = {
    ok: `${counted(result.count, 'record')}, unbroken from the first to the last`,
    failed: `${result.failureCount} of the checks failed`,
    empty: 'there is nothing to verify',
    undecided: missingText(result.missingKeys),
  }[result.outcome];
  return [
    `${title}  ${summary}`,
    ...facts
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `  ${colors.dim(name.padEnd(12))}${value}`),
    ...failures,
    ...(result.outcome === 'ok' ? [colors.dim(`  not proven: ${limits.join('; ')}`)] : []),
  ];
}

function checkedText({ structural, byCheckpoint }: VerifyOptions, keysFrom: string): string {
  if (structural) return 'order and links';
  const signatures = byCheckpoint ? 'signers, the signature of the checkpoint' : 'signatures';
  return `order, links, hashes and ${signatures}, with ${keysFrom}`;
}

async function recover(options: PlaceOptions & ReportOptions & { reason: string }): Promise<Exit> {
  const store = await openToWrite(options, false);
  try {
    const chain = store.chain(options.chain);
    const { id, sequence } = await chain.recover(options.reason);
    const origin = await chain.origin();
    await report(
      options,
      { chain: options.chain, id, sequence, origin },
      () => `The chain ${options.chain} goes on at record ${sequence}, as ${origin}; ${id} records it.`,
    );
  } finally {
    await store.close();
  }
  return EXIT.good;
}

async function head(options: PlaceOptions & ReportOptions): Promise<Exit> {
  const store = await openToVerify(options);
  try {
    const { length, hash } = await store.chain(options.chain).head();
    await report(options, { chain: options.chain, length, hash }, () =>
      hash === null ? 'empty' : `${counted(length, 'record')}, head ${hash}`,
    );
    return length === 0 ? EXIT.undecided : EXIT.good;
  } finally {
    await store.close();
  }
}

async function stats(options: PlaceOptions & ReportOptions): Promise<Exit> {
  const store = await openToVerify(options);
  try {
    // Without a prototype: others chose these names.
    const empty = (): Record<string, number> => Object.create(null);
    const counts = { type: empty(), status: empty(), tool: empty(), agent: empty() };
    const history = createHistory();
    const add = (kind: keyof typeof counts, name: string) => {
      if (name !== '') counts[kind][name] = (counts[kind][name] ?? 0) + 1;
    };
    let records = 0;
    for await (const row of store.chain(options.chain).records()) {
      const record = parse(row.data, { allow: ['non-finite'] }) as JsonObject;
      history.add(storyOf(record), records);
      const capsule = toPlain(record) as {
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
    const happened = history.finish();
    await report(options, { chain: options.chain, records, ...counts, history: happened }, () => [
      counted(records, 'record'),
      ...historyLines(happened)
        .filter(([, value]) => value !== '')
        .map(([name, value]) => `  ${colors.dim(name.padEnd(12))}${value}`),
      ...Object.entries(counts).map(
        ([kind, names]) =>
          `  ${colors.dim(kind.padEnd(8))}${Object.entries(names)
            .sort((a, b) => b[1] - a[1])
            .map(([name, n]) => `${name} ${n}`)
            .join(', ')}`,
      ),
    ]);
    return records === 0 ? EXIT.undecided : EXIT.good;
  } finally {
    await store.close();
  }
}
