import { chainLink, readHashed } from '@bulla/core/capsule';
import { keyId, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import {
  type AnchorTrust,
  formatProof,
  leafData,
  leafHash,
  parseCheckpointBody,
  verifyInclusion,
} from '@bulla/core/log';
import { counted } from '@bulla/core/text';
import { findKeyring, trustIn } from '../keys/index.ts';
import type { PublishedLog } from '../log/index.ts';
import { proveInclusion, type Query, type StoredCheckpoint, type TileSource } from '../store/index.ts';
import { loadPolicy } from '../witness/index.ts';
import { stateOfNote } from './checkpoint.ts';
import { readFound, uriQuery } from './find.ts';
import type { Opened } from './open.ts';
import type { Paths } from './paths.ts';

/** A proof that a capsule is in its chain, which verifies offline and alone. */
export interface RecordProof {
  readonly id: string;
  /** Which record of its chain it is, and of how many the checkpoint is. */
  readonly index: number;
  readonly size: number;
  readonly text: string;
}

/** The capsule that is meant: its bytes, or its id, hash, sequence number or `capsule://` URI. */
type MeantCapsule = Uint8Array | string;

/**
 * Proves a capsule of the store. A checkpoint that witnesses cosigned is preferred; where none covers the capsule,
 * `checkpoint` makes one. Throws `CAPSULE_NOT_FOUND`, `CAPSULE_SEVERAL`, `CAPSULE_HASH`, and `LOG_INCLUSION` for a
 * record or a tree that is not what it was.
 */
export async function proveStored(
  { store, chain, paths }: Opened,
  meant: MeantCapsule,
  checkpoint: () => Promise<StoredCheckpoint> = () => chain.checkpoint(),
): Promise<RecordProof> {
  const given = typeof meant === 'string' ? null : readCapsule(meant);
  const query = given === null ? queryOf(meant as string) : { sequence: sequenceOf(given) };
  const [found] = await store.find({ ...query, chain: chain.name });
  const record = found === undefined ? undefined : readFound(found);
  if (record === undefined || (given !== null && given.get('hash') !== record.get('hash'))) {
    const name = given === null ? meant : `with the hash ${given.get('hash')}`;
    throw new BullaError('CAPSULE_NOT_FOUND', `The chain ${chain.name} has no capsule ${name}.`);
  }
  const covering = (await chain.checkpoints()).filter(({ size }) => size > sequenceOf(record));
  const how = localTrust(paths);
  const best =
    covering.find(({ note }) => stateOfNote(note, how).state === 'anchored') ??
    covering[0] ??
    (await checkpoint());
  return proofOf(record, chain.tiles, best.note);
}

/** Proves a capsule from the log as it was published. Throws as {@link proveStored}, and `CHECKPOINT_MISSING`. */
export async function provePublished(log: PublishedLog, capsule: Uint8Array): Promise<RecordProof> {
  return proofOf(readCapsule(capsule), log, await log.checkpoint());
}

function readCapsule(bytes: Uint8Array): JsonObject {
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

function queryOf(meant: string): Query {
  if (/^(?:0|[1-9][0-9]*)$/.test(meant)) return { sequence: Number(meant) };
  if (/^[0-9a-f]{64}$/.test(meant)) return { hash: meant };
  return meant.startsWith('capsule://') ? uriQuery(meant).query : { id: meant };
}

/** Whom this installation trusts by itself: its own keys, and the witnesses of its policy. */
function localTrust({ keys, witnesses }: Paths): AnchorTrust {
  const epochs = findKeyring(keys)?.epochs ?? [];
  const { revoked } = trustIn(epochs);
  return {
    keys: epochs.map(({ publicKey }) => publicKey),
    policy: loadPolicy(witnesses) ?? undefined,
    revokedAt: (key) => revoked.find((one) => one.key === keyId(key))?.at,
  };
}

async function proofOf(record: JsonObject, tiles: TileSource, checkpoint: string): Promise<RecordProof> {
  const index = sequenceOf(record);
  const { size, root } = parseCheckpointBody(parseNote(checkpoint).text);
  if (index >= size) {
    const message = `The checkpoint covers ${counted(size, 'record')}, not record ${index}.`;
    throw new BullaError('CHECKPOINT_MISSING', message);
  }
  const hashes = await proveInclusion(tiles, index, size);
  // A proof that does not hold is of no use to anybody, and says that the tree or the record is not what it was.
  verifyInclusion({ leaf: leafHash(leafData(record)), index, size, root, proof: hashes });
  const text = formatProof({ extra: null, index, hashes, checkpoint });
  return { id: String(record.get('id')), index, size, text };
}
