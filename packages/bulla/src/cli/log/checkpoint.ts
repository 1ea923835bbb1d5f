import { anchorTrust } from '@bulla/core/verify';
import { checkpointFacts, findCheckpoint, listCheckpoints, logVkey } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions, storeOptions } from '../store.ts';
import { nonNegative } from '../terminal/input.ts';
import {
  colors,
  EXIT,
  type Exit,
  print,
  printExact,
  type ReportOptions,
  report,
  reportOptions,
} from '../terminal/io.ts';
import { type TrustOptions, trusted, trustOptions } from '../verify/trust.ts';
import { readPolicy } from './anchors.ts';

export function define(command: Command): void {
  command
    .subcommand('create', 'Make a checkpoint of a chain now, show it to the witnesses, and print it.')
    .use(sealOptions, reportOptions)
    .helpText(
      '\nPrints the signed note. Keep it where whoever holds the key cannot change it: it proves how the chain was.',
    )
    .run(create);

  command
    .subcommand('list', 'List the checkpoints of a chain, the newest first.')
    .use(storeOptions, trustOptions)
    .option('--limit <n>', 'at most n checkpoints', nonNegative, 20)
    .use(reportOptions)
    .run(list);

  command
    .subcommand('vkey', 'Print the verifier key of a chain: what a witness or a policy knows its log by.')
    .use(sealOptions)
    .run(vkey);

  command
    .subcommand('show', 'Print a checkpoint as it was signed.')
    .use(storeOptions)
    .argument('[size]', 'how many records it covers; without it the newest', nonNegative)
    .run(show);
}

async function create(options: StoreOptions & ReportOptions): Promise<void> {
  await using at = await openFor(options, 'extend');
  const made = await at.chain.checkpoint();
  await report(options, checkpointFacts(made), () => made.note.trimEnd());
}

const COLOR_OF = { anchored: colors.green, local: colors.yellow, unverified: colors.red };

async function list(options: StoreOptions & TrustOptions & ReportOptions & { limit: number }): Promise<Exit> {
  const how = anchorTrust(trusted(options), readPolicy({}));
  await using at = await openFor(options, 'verify');
  const checkpoints = await listCheckpoints(at.chain, how, options.limit);
  await report(options, { chain: options.chain, checkpoints }, () =>
    checkpoints.length === 0
      ? 'no checkpoints'
      : checkpoints
          .map(({ size, root, state, witnesses }) => {
            const seen = witnesses.map(({ name, time }) => `  ${name} ${time}`);
            return `${String(size).padStart(9)}  ${root.slice(0, 16)}…  ${COLOR_OF[state](state)}${seen.join('')}`;
          })
          .join('\n'),
  );
  return checkpoints.length === 0 ? EXIT.undecided : EXIT.good;
}

async function vkey(options: StoreOptions): Promise<void> {
  await using at = await openFor(options, 'verify');
  await print(`${await logVkey(at)}\n`);
}

async function show(size: number | undefined, options: StoreOptions): Promise<void> {
  await using at = await openFor(options, 'verify');
  await printExact((await findCheckpoint(at.chain, size)).note);
}
