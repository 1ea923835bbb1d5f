import { existsSync, writeFileSync } from 'node:fs';
import type { ChainState } from '@bulla/core/capsule';
import { toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse, toPlain } from '@bulla/core/json';
import type { AnchoredRange } from '@bulla/core/log';
import { counted } from '@bulla/core/text';
import { historyLines } from '@bulla/core/verify';
import { Option } from 'commander';
import { chainStats, timeText } from '../../app/index.ts';
import { openSource, storeSource, verifyChain } from '../../chain/index.ts';
import { accessFile, readInput } from '../../os/index.ts';
import { markOrphans } from '../../record/index.ts';
import type { Command } from '../command.ts';
import { type AnchorOptions, anchorOptions, findAnchors } from '../log/anchors.ts';
import { openFor, type StoreOptions, sealOptions, storeOptions } from '../store.ts';
import { nonNegative } from '../terminal/input.ts';
import {
  colors,
  EXIT,
  type Exit,
  markOf,
  type ReportOptions,
  report,
  reportOptions,
} from '../terminal/io.ts';
import { progressBar } from '../terminal/progress.ts';
import { type TrustOptions, trusted, trustOptions } from '../verify/trust.ts';
import { type CheckedHow, NONE_LEFT_OUT, notProven, RESULTS, verdictText } from './text.ts';

interface VerifyOptions extends TrustOptions, StoreOptions, ReportOptions, AnchorOptions, CheckedHow {
  threads?: number;
  resume?: string;
}

/** Options that mean nothing where no signature is checked. */
const FOR_SIGNATURES = ['byCheckpoint', 'requirePq', 'publicKey', 'keyring', 'pqKey'];

export function define(command: Command): void {
  command
    .subcommand(
      'verify',
      'Verify a chain: order, links, hashes and signatures, and that it continues its checkpoints.',
    )
    .use(storeOptions, trustOptions, anchorOptions, reportOptions)
    .argument(
      '[file]',
      'a JSON array, lines, list response, explorer bundle or SQLite file, - for standard input; without it the chain of the store',
    )
    .addOption(
      new Option(
        '--structural',
        'look at order and links alone, and trust the stored hashes: no content and no signature is checked',
      ).conflicts([...FOR_SIGNATURES, 'checkpoint', 'policy', 'tiles']),
    )
    .addOption(
      new Option(
        '--hashes',
        'look at order, links and hashes alone: no key is needed, and no signature is checked',
      ).conflicts([...FOR_SIGNATURES, 'structural']),
    )
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
    .helpText(
      '\nExits with 0 if all is good, 1 if anything is bad, 2 for what cannot be read, 3 if there is nothing to verify or no key.',
    )
    .run(verify);

  command
    .subcommand('head', 'Tell how long a chain of the store is and what its last hash is.')
    .use(storeOptions, reportOptions)
    .run(head);

  command
    .subcommand('recover', 'Let a chain go on that was set back behind its checkpoints, and record that.')
    .use(sealOptions)
    .requiredOption('--reason <text>', 'why; it becomes part of the chain')
    .use(reportOptions)
    .helpText(
      '\nFor after a backup was restored on purpose. What was lost stays lost, and whoever has an old checkpoint can see it: the chain goes on under another origin, and its next record says which checkpoint it does not continue.',
    )
    .run(recover);

  command
    .subcommand('orphans', 'Mark the calls without an outcome whose process ended.')
    .use(sealOptions, reportOptions)
    .helpText(
      '\nA call is recorded before it is made and after it. Where its process ended in between, nobody knows whether it was made: it is marked, once, with a record in the chain. Calls of processes that live are left alone. A guard does this when it starts and every 30 seconds. "bulla chain stats" counts the calls without an outcome, marked and not.',
    )
    .run(orphans);

  command
    .subcommand('stats', 'Count the records of a chain of the store by type, status and tool.')
    .use(storeOptions, reportOptions)
    .run(stats);
}

async function verify(file: string | undefined, options: VerifyOptions): Promise<Exit> {
  const trust = trusted(options);
  const isAnchored = options.checkpoint.length > 0 || options.byCheckpoint;
  if (
    options.resume !== undefined &&
    (isAnchored || options.policy !== undefined || options.tiles !== undefined)
  )
    throw new BullaError('USAGE', 'A chain is compared with checkpoints from its beginning on.');
  const store = file === undefined ? (await openFor(options, 'verify')).store : undefined;
  try {
    const source =
      store === undefined
        ? openSource(file!, options.tenant === undefined ? {} : { tenant: options.tenant })
        : await storeSource(store.chain(options.chain));
    if (trust.keys.length === 0 && !options.structural && !options.hashes) {
      const message = 'No key is known to verify with; name one with --public-key or --keyring.';
      const document = { ok: false, code: 'VERIFY_NO_KEY', message };
      await report(options, document, () => `${markOf('undecided')}  ${message}`);
      return EXIT.undecided;
    }
    const { resume, expectLength, expectHead, threads } = options;
    // A run that goes on from an earlier one has not seen the tree from its beginning.
    const found =
      resume === undefined ? await findAnchors(options, trust, store?.chain(options.chain)) : undefined;
    const from = resume === undefined ? undefined : savedState(resume);
    const bar = progressBar(source.size, options);
    const started = performance.now();
    const result = await verifyChain(source, {
      mode: options.structural ? 'structural' : options.hashes ? 'hashes' : 'cryptographic',
      ...trust,
      ...(expectLength !== undefined && { expectLength }),
      ...(expectHead !== undefined && { expectHead }),
      ...(threads !== undefined && { threads }),
      ...(from && { from }),
      anchors: found?.sources,
      byCheckpoint: options.byCheckpoint ?? false,
      progress: bar.update,
    });
    bar.done();
    const seconds = (performance.now() - started) / 1000;
    const { state, anchors, ...document } = result;
    if (resume !== undefined)
      accessFile('FILE_UNWRITABLE', resume, 'written', () =>
        writeFileSync(resume, `${JSON.stringify(state)}\n`, { mode: 0o600 }),
      );
    const anchored = anchors && {
      ...{ ...anchors, root: toHex(anchors.root), ranges: anchors.ranges.map(rangeDocument) },
      ...{ unverified: found?.unverified ?? 0, revoked: found?.revoked ?? 0 },
    };
    const resumed = from === undefined ? null : { file: resume!, count: from.count };
    const limits = notProven(options, anchors?.ranges ?? [], resumed);
    const copied = store?.copied ?? source.copied ?? null;
    const { format, table = null, unread: not_read = [] } = source;
    const about = { anchors: anchored, format, table, not_read, copied, resumed, not_proven: limits };
    await report(options, { ...document, ...about }, () => {
      const told = { keysFrom: trust.origin, limits, leftOut: found ?? NONE_LEFT_OUT, copied, resumed };
      return verdictText(result, source, seconds, told, options);
    });
    return EXIT[RESULTS[result.outcome]];
  } finally {
    await store?.close();
  }
}

function rangeDocument({ witnesses, ...range }: AnchoredRange) {
  return { ...range, witnesses: witnesses.map(({ name, time }) => ({ name, time: timeText(time) })) };
}

/** What an earlier run has seen; nothing if there was none. The file is trusted as much as the program is. */
function savedState(file: string): ChainState | undefined {
  if (!existsSync(file)) return undefined;
  const state = parse(readInput(file, 'document'));
  if (state instanceof JsonObject) return toPlain(state) as unknown as ChainState;
  throw new BullaError('CAPSULE_CHAIN_STATE', `${file} holds no saved state.`);
}

async function recover(options: StoreOptions & ReportOptions & { reason: string }): Promise<void> {
  await using at = await openFor(options, 'extend');
  const { id, sequence } = await at.chain.recover(options.reason);
  const origin = await at.chain.origin();
  await report(
    options,
    { chain: options.chain, id, sequence, origin },
    () => `The chain ${options.chain} goes on at record ${sequence}, as ${origin}; ${id} records it.`,
  );
}

async function orphans(options: StoreOptions & ReportOptions): Promise<void> {
  await using at = await openFor(options, 'extend');
  const marked = await markOrphans(at.record);
  const open = await at.chain.openIntents();
  await report(options, { chain: options.chain, marked, open }, () => [
    `${counted(marked.length, 'call')} marked; ${counted(open, 'call')} of living processes without an outcome yet`,
    ...marked.map(({ intent, mark }) => `  ${intent} ${colors.dim(`marked by ${mark}`)}`),
  ]);
}

async function head(options: StoreOptions & ReportOptions): Promise<Exit> {
  await using at = await openFor(options, 'verify');
  const { length, hash } = await at.chain.head();
  await report(options, { chain: options.chain, length, hash }, () =>
    hash === null ? 'empty' : `${counted(length, 'record')}, head ${hash}`,
  );
  return length === 0 ? EXIT.undecided : EXIT.good;
}

async function stats(options: StoreOptions & ReportOptions): Promise<Exit> {
  await using at = await openFor(options, 'verify');
  const { records, counts, history } = await chainStats(at.chain);
  await report(options, { chain: options.chain, records, ...counts, history }, () => [
    counted(records, 'record'),
    ...historyLines(history)
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
}
