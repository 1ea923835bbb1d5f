import { existsSync } from 'node:fs';
import type { Code } from '@bulla/core/codes';
import { equalBytes, toBase64, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { readAnchor, verifyConsistency } from '@bulla/core/log';
import type { Command } from 'commander';
import { openPublished, proveConsistency, rootAt, type TileSource } from '../../log/index.ts';
import type { Run } from '../commands.ts';
import { openToVerify, type PlaceOptions, placeOptions } from '../place.ts';
import { colors, EXIT, type Exit, type ReportOptions, report } from '../terminal/io.ts';
import { counted } from '../terminal/words.ts';
import { anchorTrust, type TrustOptions, trusted, trustOptions } from '../verify/trust.ts';
import { readCheckpoints, readPolicy } from './anchors.ts';

interface ConsistencyOptions extends PlaceOptions, TrustOptions, ReportOptions {
  policy?: string;
  tiles?: string;
}

/** How long a log was, and its root then. */
interface State {
  readonly origin: string | null;
  readonly size: number;
  readonly root: Uint8Array;
}

export function define(command: Command, run: Run): void {
  trustOptions(
    placeOptions(command.description('Prove that a log only grew from one checkpoint to another.')),
  )
    .argument('<old>', 'a checkpoint file, or a number of records')
    .argument('<new>', 'the same')
    .option('--policy <file>', 'a tlog-policy file: the witnesses to trust, and how many are enough')
    .option('--tiles <dir|url>', 'prove from the published log instead of the store')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText('after', '\nExits with 0 if it only grew, 1 if it did not, 2 and 3 as every command.')
    .action(run(consistency));
}

async function consistency(old: string, newer: string, options: ConsistencyOptions): Promise<Exit> {
  if (options.tiles !== undefined) return compare(openPublished(options.tiles), old, newer, options);
  const store = await openToVerify(options);
  try {
    return await compare(store.chain(options.chain).tiles, old, newer, options);
  } finally {
    await store.close();
  }
}

async function compare(
  tiles: TileSource,
  old: string,
  newer: string,
  options: ConsistencyOptions,
): Promise<Exit> {
  const [a, b] = [await stateOf(old, tiles, options), await stateOf(newer, tiles, options)];
  if (a.size > b.size)
    throw new BullaError('USAGE', `The first has ${counted(a.size, 'record')}, the second only ${b.size}.`);
  const { proof, problem } = await judge(a, b, tiles);
  const document = {
    ok: problem === null,
    ...(problem === null ? {} : { code: problem.code, message: problem.message }),
    old: { origin: a.origin, size: a.size, root: toHex(a.root) },
    new: { origin: b.origin, size: b.size, root: toHex(b.root) },
    proof: proof.map(toBase64),
  };
  await report(options, document, () =>
    problem === null
      ? [
          `${colors.green('good')}  the ${counted(b.size, 'record')} begin with the ${a.size}`,
          ...document.proof.map((hash) => `  ${hash}`),
        ].join('\n')
      : `${colors.red('BAD')}  ${problem.message} ${colors.dim(`[${problem.code}]`)}`,
  );
  return problem === null ? EXIT.good : EXIT.bad;
}

async function stateOf(text: string, tiles: TileSource, options: ConsistencyOptions): Promise<State> {
  if (/^(?:0|[1-9][0-9]*)$/.test(text) && !existsSync(text)) {
    const size = Number(text);
    return { origin: null, size, root: await rootAt(tiles, size) };
  }
  const note = readCheckpoints(text).at(-1)!;
  const { checkpoint } = readAnchor(note, anchorTrust(trusted(options), readPolicy(options)));
  return checkpoint;
}

async function judge(
  a: State,
  b: State,
  tiles: TileSource,
): Promise<{ proof: readonly Uint8Array[]; problem: BullaError | null }> {
  const bad = (code: Code, message: string) => ({ proof: [], problem: new BullaError(code, message) });
  if (a.origin !== null && b.origin !== null && a.origin !== b.origin)
    return bad('LOG_ORIGIN', `The first is of the log ${a.origin}, the second of ${b.origin}.`);
  if (a.size === b.size && !equalBytes(a.root, b.root))
    return bad('LOG_CONSISTENCY', `There are two different trees of ${counted(a.size, 'record')}.`);
  if (a.size === 0) return { proof: [], problem: null };
  const proof = await proveConsistency(tiles, a.size, b.size);
  try {
    verifyConsistency({ oldSize: a.size, oldRoot: a.root, size: b.size, root: b.root, proof });
    return { proof, problem: null };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return bad('LOG_CONSISTENCY', `The ${counted(b.size, 'record')} do not begin with the ${a.size}.`);
  }
}
