import { existsSync } from 'node:fs';
import { toBase64, toHex } from '@bulla/core/crypto';
import { readAnchor } from '@bulla/core/log';
import { counted } from '@bulla/core/text';
import { anchorTrust } from '@bulla/core/verify';
import { type Consistency, compareStates, type LogState } from '../../app/index.ts';
import { openPublished } from '../../log/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, storeOptions } from '../store.ts';
import { colors, EXIT, type Exit, type ReportOptions, report, reportOptions } from '../terminal/io.ts';
import { type TrustOptions, trusted, trustOptions } from '../verify/trust.ts';
import { readCheckpoints, readPolicy } from './anchors.ts';

interface ConsistencyOptions extends StoreOptions, TrustOptions, ReportOptions {
  policy?: string;
  tiles?: string;
}

export function define(command: Command): void {
  command
    .description('Prove that a log only grew from one checkpoint to another.')
    .use(storeOptions, trustOptions)
    .argument('<old>', 'a checkpoint file, or a number of records')
    .argument('<new>', 'the same')
    .option('--policy <file>', 'a tlog-policy file: the witnesses to trust, and how many are enough')
    .option('--tiles <dir|url>', 'prove from the published log instead of the store')
    .use(reportOptions)
    .helpText('\nExits with 0 if it only grew, 1 if it did not, 2 and 3 as every command.')
    .run(consistency);
}

async function consistency(old: string, newer: string, options: ConsistencyOptions): Promise<Exit> {
  const states = [stateOf(old, options), stateOf(newer, options)] as const;
  if (options.tiles !== undefined)
    return show(await compareStates(openPublished(options.tiles), ...states), options);
  await using at = await openFor(options, 'verify');
  const { length } = await at.chain.head();
  return await show(await compareStates(at.chain.tiles, ...states, length), options);
}

async function show(found: Consistency, options: ConsistencyOptions): Promise<Exit> {
  const { old: a, new: b, problem } = found;
  const document = {
    ok: problem === null,
    ...(problem === null ? {} : { code: problem.code, message: problem.message }),
    old: { origin: a.origin, size: a.size, root: toHex(a.root) },
    new: { origin: b.origin, size: b.size, root: toHex(b.root) },
    proof: found.proof.map(toBase64),
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

function stateOf(text: string, options: ConsistencyOptions): LogState | number {
  if (/^(?:0|[1-9][0-9]*)$/.test(text) && !existsSync(text)) return Number(text);
  const note = readCheckpoints(text).at(-1)!;
  return readAnchor(note, anchorTrust(trusted(options), readPolicy(options))).checkpoint;
}
