import { formatVkey, noteVerifier, parseNote, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { parseCheckpointBody, readAnchor } from '@bulla/core/log';
import type { Command } from 'commander';
import { loadKeyring } from '../../keys/index.ts';
import type { StoredCheckpoint } from '../../store/index.ts';
import { nonNegative } from '../capsule/capsule.ts';
import type { Run } from '../commands.ts';
import { keysFolder, openToVerify, openToWrite, type PlaceOptions, placeOptions } from '../place.ts';
import { colors, EXIT, type Exit, print, printExact, type ReportOptions, report } from '../terminal/io.ts';
import { counted } from '../terminal/words.ts';
import { anchorTrust, type TrustOptions, trusted, trustOptions } from '../verify/trust.ts';
import { readPolicy } from './anchors.ts';

export function define(command: Command, run: Run): void {
  placeOptions(
    command
      .command('create')
      .description('Make a checkpoint of a chain now, show it to the witnesses, and print it.'),
  )
    .option('--keys <folder>', 'the keyring (default: BULLA_HOME/keys)')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      '\nPrints the signed note. Keep it where whoever holds the key cannot change it: it proves how the chain was.',
    )
    .action(run(create));

  trustOptions(
    placeOptions(command.command('list').description('List the checkpoints of a chain, the newest first.')),
  )
    .option('--limit <n>', 'so many at most', nonNegative, 20)
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .action(run(list));

  placeOptions(
    command
      .command('vkey')
      .description('Print the verifier key of a chain: what a witness or a policy knows its log by.'),
  )
    .option('--keys <folder>', 'the keyring (default: BULLA_HOME/keys)')
    .action(run(vkey));

  placeOptions(command.command('show').description('Print a checkpoint as it was signed.'))
    .argument('[size]', 'how many records it covers; without it the newest', nonNegative)
    .action(run(show));
}

function documentOf({ origin, size, note }: StoredCheckpoint) {
  const { root } = parseCheckpointBody(parseNote(note).text);
  return { origin, size, root: toHex(root), note };
}

async function create(options: PlaceOptions & ReportOptions): Promise<Exit> {
  const store = await openToWrite(options, false);
  try {
    const made = await store.chain(options.chain).checkpoint();
    await report(options, documentOf(made), () => made.note.trimEnd());
  } finally {
    await store.close();
  }
  return EXIT.good;
}

async function list(options: PlaceOptions & TrustOptions & ReportOptions & { limit: number }): Promise<Exit> {
  const how = anchorTrust(trusted(options), readPolicy({}));
  const store = await openToVerify(options);
  try {
    const found = (await store.chain(options.chain).checkpoints(options.limit)).map((stored) => ({
      ...documentOf(stored),
      ...judge(stored.note, how),
    }));
    await report(options, { chain: options.chain, checkpoints: found }, () =>
      found.length === 0
        ? 'no checkpoints'
        : found
            .map(
              ({ size, root, state, witnesses }) =>
                `${String(size).padStart(9)}  ${root.slice(0, 16)}…  ${{
                  anchored: colors.green,
                  local: colors.yellow,
                  unverified: colors.red,
                }[state](
                  state,
                )}${witnesses.map(({ name, time }) => `  ${name} ${new Date(time * 1000).toISOString()}`).join('')}`,
            )
            .join('\n'),
    );
    return found.length === 0 ? EXIT.undecided : EXIT.good;
  } finally {
    await store.close();
  }
}

/** Who stands behind a checkpoint. */
function judge(note: string, how: Parameters<typeof readAnchor>[1]) {
  try {
    const { witnesses, witnessed } = readAnchor(note, how);
    return { state: witnessed ? ('anchored' as const) : ('local' as const), witnesses };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return { state: 'unverified' as const, witnesses: [], code: error.code };
  }
}

async function vkey(options: PlaceOptions): Promise<Exit> {
  const { publicKey } = loadKeyring(keysFolder(options)).active;
  const store = await openToVerify(options);
  try {
    const origin = await store.chain(options.chain).origin();
    if (origin === null)
      throw new BullaError('CHAIN_EMPTY', `The chain ${options.chain} has no records, and so no log yet.`);
    await print(`${formatVkey(noteVerifier(origin, publicKey))}\n`);
  } finally {
    await store.close();
  }
  return EXIT.good;
}

async function show(size: number | undefined, options: PlaceOptions): Promise<Exit> {
  const store = await openToVerify(options);
  try {
    const found = (await store.chain(options.chain).checkpoints(size === undefined ? 1 : MANY)).find(
      (stored) => size === undefined || stored.size === size,
    );
    if (found === undefined) {
      const which = size === undefined ? 'no checkpoint' : `no checkpoint of ${counted(size, 'record')}`;
      throw new BullaError('CHECKPOINT_MISSING', `The chain ${options.chain} has ${which}.`);
    }
    await printExact(found.note);
  } finally {
    await store.close();
  }
  return EXIT.good;
}

const MANY = 1_000_000;
