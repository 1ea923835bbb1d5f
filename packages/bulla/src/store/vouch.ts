import { chainLink, verifyCapsule } from '@bulla/core/capsule';
import { equalBytes, keyId, type PublicKey, parseNote, publicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import { Frontier, leafData, leafHash, parseCheckpointBody, readAnchor } from '@bulla/core/log';
import type { KeyTrust } from '@bulla/core/verify';
import { trustIn } from '../keys/index.ts';
import type { Sealer } from './chain.ts';
import type { Driver, Row, StoredCheckpoint, Tip } from './driver.ts';
import { frontierAt, type TileSource } from './tiles.ts';

// A checkpoint says that its signer stands behind every record below it. Whoever can write to the database can put a
// record there; so nothing is signed over that this process neither sealed itself nor verified.

/** The beginning of a chain that this process stands behind: how long it is, and its tree. */
export type Trunk = Pick<Tip, 'length' | 'hash'> & { readonly tree: Uint8Array };

const ROOTS: Trunk = { length: 0, hash: null, tree: new Uint8Array() };

/** Records that this process appended in one piece: where the chain ended before them, and with them. */
interface Segment {
  readonly before: Tip;
  readonly after: Tip;
}

/** Limit on the segments in memory; records of others are verified like those of other processes. */
const MAX_SEGMENTS = 1024;

/** What this process appended, by the length of the chain before it. */
export function createSegments(): {
  add(segment: Segment): void;
  /** Where the chain ended after the piece that was appended to exactly this trunk; undefined if there is none. */
  after(trunk: Trunk, limit: number): Trunk | undefined;
  /** How many records lie between the trunk and the next piece. */
  gap(length: number): number;
  dropBefore(length: number): void;
} {
  const segments = new Map<number, Segment>();
  return {
    add(segment) {
      const [oldest] = segments.keys();
      if (segments.size >= MAX_SEGMENTS) segments.delete(oldest!);
      segments.delete(segment.before.length);
      segments.set(segment.before.length, segment);
    },
    after(trunk, limit) {
      const { before, after } = segments.get(trunk.length) ?? {};
      if (before?.tree == null || after?.tree == null || after.length > limit) return undefined;
      if (!equalBytes(before.tree, trunk.tree)) return undefined;
      return { length: after.length, hash: after.hash, tree: after.tree };
    },
    gap: (length) =>
      Math.min(...[...segments.keys()].filter((at) => at > length).map((at) => at - length), Infinity),
    dropBefore(length) {
      for (const at of segments.keys()) if (at < length) segments.delete(at);
    },
  };
}

/** The number of records to verify before the event loop gets a turn. */
const BATCH = 64;

/**
 * Verifies what lies between the trunk and this end of the chain and was not appended by this process: hash, signature
 * by a key of the keyring, link and leaf of every record, and that the tree is made of exactly these. Throws
 * `CHECKPOINT_UNVERIFIED`.
 */
export async function vouch(
  driver: Pick<Driver, 'read'>,
  chain: string,
  trunk: Trunk,
  own: Pick<ReturnType<typeof createSegments>, 'after' | 'gap'>,
  tip: Tip,
  trust: KeyTrust,
): Promise<void> {
  let known = trunk;
  while (known.length < tip.length) {
    const next = own.after(known, tip.length);
    if (next !== undefined) {
      known = next;
      continue;
    }
    const tree = Frontier.fromBytes(known.length, known.tree);
    const count = Math.min(BATCH, tip.length - known.length, own.gap(known.length));
    const rows = await driver.read(chain, known.length, count);
    if (rows.length === 0) throw unverified(chain, known.length, 'it is missing');
    let previous = known.hash;
    for (const row of rows) {
      tree.push(verifiedLeaf(chain, row, { sequence: tree.size, previous }, trust));
      previous = row.hash;
    }
    known = { length: tree.size, hash: previous, tree: tree.toBytes() };
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (tip.tree !== null && known.length === tip.length && equalBytes(known.tree, tip.tree)) return;
  throw new BullaError(
    'CHECKPOINT_UNVERIFIED',
    `No checkpoint is signed: the tree of the chain ${chain} is not made of its records.`,
  );
}

function verifiedLeaf(
  chain: string,
  row: Row,
  place: { sequence: number; previous: string | null },
  { keys, pqKeys, facts }: KeyTrust,
): Uint8Array {
  const bad = (why: string) => unverified(chain, place.sequence, why);
  let record: ReturnType<typeof parse>;
  try {
    record = parse(row.data, { allow: ['non-finite'] });
  } catch (error) {
    throw bad(`it cannot be read (${(error as BullaError).code})`);
  }
  if (!(record instanceof JsonObject)) throw bad('it is no capsule');
  // When a key was valid and whether it is revoked is for those who verify the chain: a checkpoint hides neither.
  const untimed = facts.map((fact) => ({ ...fact, notBefore: null, notAfter: null }));
  const verdict = verifyCapsule(record, { keys, pqKeys, facts: untimed, allowNonFinite: true });
  if (!verdict.ok) throw bad(`${verdict.message} [${verdict.code}]`);
  // Who relies on the checkpoint takes the signer from here: a revoked key must not pass for another.
  if (verdict.warnings.some(({ code }) => code === 'signed_by_mismatch'))
    throw bad('it names another key than the one that signed it');
  const { sequence, previous_hash, hash } = chainLink(record);
  if (row.sequence !== place.sequence || sequence !== place.sequence || hash !== row.hash)
    throw bad('it says that its place or its hash is another one');
  if (previous_hash !== place.previous) throw bad('it does not continue the one before it');
  return leafHash(leafData(record));
}

function unverified(chain: string, sequence: number, why: string): BullaError {
  const message = `No checkpoint is signed: this program did not seal record ${sequence} of the chain ${chain}, and does not find it good: ${why}`;
  return new BullaError('CHECKPOINT_UNVERIFIED', message.endsWith(']') ? message : `${message}.`);
}

/**
 * The longest beginning of the chain that a checkpoint covers which one of our keys signed; the checkpoint must be of
 * this very tree. Whoever can put a record into the database can put a checkpoint there too, but cannot sign it.
 */
export async function coveredTrunk(
  driver: Pick<Driver, 'read'>,
  chain: string,
  tiles: TileSource,
  known: readonly StoredCheckpoint[],
  tip: Tip,
  trust: KeyTrust,
): Promise<Trunk> {
  for (const { note, size } of known.toSorted((a, b) => b.size - a.size)) {
    if (size === 0 || size > tip.length || !isSigned(note, size, trust)) continue;
    try {
      const { root } = parseCheckpointBody(parseNote(note).text);
      const frontier = await frontierAt(tiles, size);
      const [last] = await driver.read(chain, size - 1, 1);
      if (last !== undefined && equalBytes(frontier.root(), root))
        return { length: size, hash: last.hash, tree: frontier.toBytes() };
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
    }
  }
  return ROOTS;
}

/** Whether one of our keys signed a checkpoint of this size. One that is revoked may be in anybody's hands. */
export function isSigned(note: string, size: number, { keys, revoked }: KeyTrust): boolean {
  const standing = keys.filter((key) => !revoked.some((gone) => gone.key === keyId(key)));
  try {
    return readAnchor(note, { keys: standing }).checkpoint.size === size;
  } catch (error) {
    if (error instanceof BullaError) return false;
    throw error;
  }
}

/** Whose records count: those of the keyring's keys; without a keyring those of the key that seals. */
export function trustOf({ signer, pqSigner, keyring }: Sealer): KeyTrust {
  if (keyring !== undefined) return trustIn(keyring.epochs);
  const keys: PublicKey[] = [publicKey('Ed25519', signer.publicKey)];
  const pq = pqSigner && publicKey('ML-DSA-65', pqSigner.publicKey);
  return {
    keys,
    pqKeys: pq === undefined ? [] : [pq],
    facts: [
      { key: keyId(keys[0]!), pqKey: pq === undefined ? null : keyId(pq), notBefore: null, notAfter: null },
    ],
    revoked: [],
  };
}
