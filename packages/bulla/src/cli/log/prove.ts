import { existsSync, writeFileSync } from 'node:fs';
import { chainLink, parseCapsuleUri, readHashed } from '@bulla/core/capsule';
import { parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import {
  formatProof,
  leafData,
  leafHash,
  parseCheckpointBody,
  readAnchor,
  verifyInclusion,
} from '@bulla/core/log';
import type { Command } from 'commander';
import { openPublished, proveInclusion, type TileSource } from '../../log/index.ts';
import type { Chain, Query, Store } from '../../store/index.ts';
import { readFound } from '../capsule/capsule.ts';
import type { Run } from '../commands.ts';
import { openToRead, openToWrite, type PlaceOptions, placeOptions } from '../place.ts';
import { EXIT, type Exit, printExact, type ReportOptions, readInput, say } from '../terminal/io.ts';
import { counted } from '../terminal/words.ts';
import { anchorTrust, trusted } from '../verify/trust.ts';
import { readPolicy } from './anchors.ts';

interface ProveOptions extends PlaceOptions, ReportOptions {
  out?: string;
  tiles?: string;
  force?: boolean;
}

export function define(command: Command, run: Run): void {
  placeOptions(
    command.description('Write a proof that a capsule is in its chain, which verifies offline and alone.'),
  )
    .argument('<capsule>', 'its file (- is standard input), id, hash, sequence number or capsule:// URI')
    .option('--out <file>', 'where to write (default: the id and .tlog-proof; - for standard output)')
    .option('--force', 'write over a file that exists')
    .option('--tiles <dir|url>', 'prove from the published log instead of the store; the capsule is a file')
    .option('--keys <folder>', 'the keyring, for a checkpoint where none covers the capsule yet')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      "\nVerify it with 'bulla verify capsule.json proof.tlog-proof --public-key KEY'. A checkpoint that witnesses cosigned is preferred; where none covers the capsule, one is made.",
    )
    .action(run(prove));
}

async function prove(capsule: string, options: ProveOptions): Promise<Exit> {
  if (options.tiles !== undefined) {
    const log = openPublished(options.tiles);
    const record = parseCapsule(readInput(capsule));
    return write(record, log, await log.checkpoint(), options);
  }
  let store = await openToRead(options);
  try {
    const chain = store.chain(options.chain);
    const record = await findRecord(store, options.chain, capsule);
    const covering = await coveringCheckpoint(chain, sequenceOf(record));
    if (covering !== undefined) return await write(record, chain.tiles, covering, options);
    await store.close();
    store = await openToWrite(options, false);
    const made = await store.chain(options.chain).checkpoint();
    return await write(record, store.chain(options.chain).tiles, made.note, options);
  } finally {
    await store.close();
  }
}

function parseCapsule(bytes: Uint8Array | string): JsonObject {
  const value = parse(bytes, { allow: ['non-finite'] });
  const only = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (only instanceof JsonObject) return readHashed(only);
  throw new BullaError('CAPSULE_SEVERAL', 'A proof is of one capsule; this is not one.');
}

function sequenceOf(record: JsonObject): number {
  const { sequence } = chainLink(record);
  if (sequence !== null && sequence >= 0) return sequence;
  throw new BullaError('CAPSULE_NOT_FOUND', 'The capsule has no place in a chain.');
}

/** The capsule of the store that is meant; one in a file must be that of the store. */
async function findRecord(store: Store, chain: string, meant: string): Promise<JsonObject> {
  const file = meant === '-' || existsSync(meant) ? parseCapsule(readInput(meant)) : undefined;
  const [found] = await store.find({
    chain,
    ...(file === undefined ? queryOf(meant) : { sequence: sequenceOf(file) }),
  });
  const record = found === undefined ? undefined : readFound(found);
  if (record === undefined || (file !== undefined && file.get('hash') !== record.get('hash')))
    throw new BullaError('CAPSULE_NOT_FOUND', `The chain ${chain} has no capsule ${meant}.`);
  return record;
}

function queryOf(meant: string): Query {
  if (/^(?:0|[1-9][0-9]*)$/.test(meant)) return { sequence: Number(meant) };
  if (/^[0-9a-f]{64}$/.test(meant)) return { hash: meant };
  if (!meant.startsWith('capsule://')) return { id: meant };
  const { hash_value, id, sequence } = parseCapsuleUri(meant);
  return {
    ...(hash_value === null ? {} : { hash: hash_value }),
    ...(id === null ? {} : { id }),
    ...(sequence === null ? {} : { sequence }),
  };
}

/** The newest checkpoint over a record; one that witnesses cosigned if there is one. */
async function coveringCheckpoint(chain: Chain, sequence: number): Promise<string | undefined> {
  const covering = (await chain.checkpoints()).filter(({ size }) => size > sequence);
  const how = anchorTrust(trusted({ publicKey: [], pqKey: [] }), readPolicy({}));
  const isWitnessed = (note: string) => {
    try {
      return readAnchor(note, how).witnessed;
    } catch {
      return false;
    }
  };
  return (covering.find(({ note }) => isWitnessed(note)) ?? covering[0])?.note;
}

async function write(
  record: JsonObject,
  tiles: TileSource,
  checkpoint: string,
  options: ProveOptions,
): Promise<Exit> {
  const index = sequenceOf(record);
  const { size, root } = parseCheckpointBody(parseNote(checkpoint).text);
  if (index >= size)
    throw new BullaError(
      'CHECKPOINT_MISSING',
      `The checkpoint covers ${counted(size, 'record')}, not record ${index}.`,
    );
  const hashes = await proveInclusion(tiles, index, size);
  // A proof that does not hold is of no use to anybody, and says that the tree or the record is not what it was.
  verifyInclusion({ leaf: leafHash(leafData(record)), index, size, root, proof: hashes });
  const text = formatProof({ extra: null, index, hashes, checkpoint });
  const out = options.out ?? `${record.get('id')}.tlog-proof`;
  if (out === '-') {
    await printExact(text);
    return EXIT.good;
  }
  if (existsSync(out) && !options.force)
    throw new BullaError('FILE_EXISTS', `${out} exists; --force writes over it.`);
  writeFileSync(out, text, { mode: 0o644 });
  if (!options.quiet)
    say(`bulla: wrote ${out}: record ${index} of a checkpoint of ${counted(size, 'record')}`);
  return EXIT.good;
}
