import type { StoredRecord } from '@bulla/core/capsule';
import { HASH_BYTES } from '@bulla/core/log';
import type { RecordResult } from '@bulla/core/verify';

/**
 * Memory that a thread reads and the sender writes, again and again: buffers that move from thread to thread are made by
 * one allocator and freed by another, which lets the process grow with the length of the chain.
 */
interface Slot {
  shared: SharedArrayBuffer;
}

export function newSlot(): Slot {
  return { shared: new SharedArrayBuffer(1 << 17) };
}

/** A batch on its way to a thread: records that are text lie behind each other in shared memory. */
export interface Packed {
  readonly shared: SharedArrayBuffer;
  /** How many bytes each record has; -1 stands for the next of `others`. */
  readonly lengths: Int32Array<ArrayBuffer>;
  readonly others: readonly Exclude<StoredRecord, string | Uint8Array>[];
}

/** Writes a batch into a slot that no thread reads at the moment. */
export function pack(records: readonly StoredRecord[], slot: Slot): Packed {
  const parts: Uint8Array[] = [];
  const lengths = new Int32Array(records.length);
  const others: Packed['others'][number][] = [];
  let total = 0;
  records.forEach((record, i) => {
    if (typeof record !== 'string' && !(record instanceof Uint8Array)) {
      others.push(record);
      lengths[i] = -1;
      return;
    }
    const part = typeof record === 'string' ? Buffer.from(record) : record;
    parts.push(part);
    lengths[i] = part.length;
    total += part.length;
  });
  if (total > slot.shared.byteLength) slot.shared = new SharedArrayBuffer(2 * total);
  const bytes = new Uint8Array(slot.shared);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return { shared: slot.shared, lengths, others };
}

let scratch = new Uint8Array(0);

/** The records again, in memory of this thread's own: they are good until the next call. */
export function unpack({ shared, lengths, others }: Packed): StoredRecord[] {
  const total = lengths.reduce((sum, length) => sum + Math.max(0, length), 0);
  if (total > scratch.length) scratch = new Uint8Array(2 * total);
  scratch.set(new Uint8Array(shared, 0, total));
  let at = 0;
  let other = 0;
  return Array.from(lengths, (length) => {
    if (length < 0) return others[other++]!;
    at += length;
    return scratch.subarray(at - length, at);
  });
}

type Story = NonNullable<RecordResult['story']>;

/** Texts behind each other in one; -1 stands for null, -2 for what follows from the record before. */
interface Column {
  readonly text: string;
  readonly lengths: Int32Array<ArrayBuffer>;
}

function column(texts: readonly (string | null | undefined)[]): Column {
  return {
    text: texts.join(''),
    lengths: Int32Array.from(texts, (text) => (text === undefined ? -2 : text === null ? -1 : text.length)),
  };
}

/** Gives the texts of a column one after the other. */
function texts({ text, lengths }: Column): (i: number) => string | null | undefined {
  let at = 0;
  return (i) => {
    const length = lengths[i]!;
    if (length < 0) return length === -1 ? null : undefined;
    at += length;
    return text.slice(at - length, at);
  };
}

/**
 * Results on their way back. While they wait for their turn they are few values, however many records they are of: the
 * thread that puts them together would otherwise fill its heap with what lives for a moment.
 */
export interface PackedResults {
  readonly ids: Column;
  /** NaN stands for null. */
  readonly sequences: Float64Array<ArrayBuffer>;
  readonly hashes: Column;
  readonly previous: Column;
  readonly verdicts: readonly RecordResult['verdict'][];
  /** For each record the place of its verdict in `verdicts`. */
  readonly verdictOf: Int32Array<ArrayBuffer>;
  /** The hashes of the leaves that there are, one behind the other. */
  readonly leaves: Uint8Array<ArrayBuffer>;
  /** For each record whether it has one. */
  readonly hasLeaf: Uint8Array<ArrayBuffer>;
  /** For each record its time; all else of a story stands in `stories`, where there is anything else. */
  readonly times: Float64Array<ArrayBuffer>;
  readonly stories: ReadonlyMap<number, RecordResult['story']>;
}

export function packResults(results: readonly RecordResult[]): PackedResults {
  const places = new Map<string, number>();
  const verdicts: RecordResult['verdict'][] = [];
  const verdictOf = Int32Array.from(results, ({ verdict }) => {
    // Good records of one kind have the same verdict, word for word.
    const key =
      verdict?.ok && verdict.warnings.length === 0
        ? `${verdict.profile} ${verdict.form} ${verdict.key} ${verdict.pqKey} ${JSON.stringify([verdict.signedBy, verdict.unauthenticated])}`
        : undefined;
    const known = key === undefined ? undefined : places.get(key);
    if (known !== undefined) return known;
    if (key !== undefined) places.set(key, verdicts.length);
    return verdicts.push(verdict) - 1;
  });
  const leaves = results.flatMap(({ leaf }) => leaf ?? []);
  const packedLeaves = new Uint8Array(leaves.length * HASH_BYTES);
  for (const [i, leaf] of leaves.entries()) packedLeaves.set(leaf, i * HASH_BYTES);
  const others = results.flatMap(({ story }, i): [number, RecordResult['story']][] =>
    story !== null && isPlain(story) ? [] : [[i, story]],
  );
  const follows = (i: number) => i > 0 && results[i]!.link.previous_hash === results[i - 1]!.link.hash;
  return {
    leaves: packedLeaves,
    hasLeaf: Uint8Array.from(results, ({ leaf }) => (leaf === null ? 0 : 1)),
    ids: column(results.map(({ link }) => link.id)),
    sequences: Float64Array.from(results, ({ link }) => link.sequence ?? Number.NaN),
    hashes: column(results.map(({ link }) => link.hash)),
    previous: column(results.map(({ link }, i) => (follows(i) ? undefined : link.previous_hash))),
    verdicts,
    verdictOf,
    times: Float64Array.from(results, ({ story }) => story?.time ?? Number.NaN),
    stories: new Map(others),
  };
}

function isPlain({ intent, closes, marks, recovery }: Story): boolean {
  return intent === null && closes === null && marks === null && recovery === null;
}

const plain = (time: number): Story => ({
  ...{ intent: null, closes: null, marks: null, recovery: null },
  time,
});

/** The results again, each when it is asked for. */
export function* unpackResults(packed: PackedResults): Generator<RecordResult> {
  const { sequences, verdicts, verdictOf, leaves, hasLeaf, times, stories } = packed;
  const [ids, hashes, previous] = [packed.ids, packed.hashes, packed.previous].map(texts) as [
    ReturnType<typeof texts>,
    ReturnType<typeof texts>,
    ReturnType<typeof texts>,
  ];
  let at = 0;
  let last: string | null = null;
  for (let i = 0; i < verdictOf.length; i++) {
    const before = previous(i);
    const hash = hashes(i)!;
    const sequence = sequences[i]!;
    if (hasLeaf[i] === 1) at += HASH_BYTES;
    yield {
      link: {
        id: ids(i) ?? null,
        sequence: Number.isNaN(sequence) ? null : sequence,
        previous_hash: before === undefined ? last : before,
        hash,
      },
      verdict: verdicts[verdictOf[i]!],
      leaf: hasLeaf[i] === 1 ? leaves.subarray(at - HASH_BYTES, at) : null,
      story: stories.has(i) ? stories.get(i)! : plain(times[i]!),
    };
    last = hash;
  }
}
