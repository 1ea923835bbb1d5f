import { HASH_BYTES } from '@bulla/core/log';
import type { RecordResult, SourceRecord } from '@bulla/core/verify';

/** A batch on its way to a thread: records that are text lie behind each other in one piece of memory, which moves. */
export interface Packed {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many bytes each record has; -1 stands for the next of `others`. */
  readonly lengths: Int32Array<ArrayBuffer>;
  readonly others: readonly Exclude<SourceRecord, string | Uint8Array>[];
}

export function pack(records: readonly SourceRecord[]): Packed {
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
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return { bytes, lengths, others };
}

export function unpack({ bytes, lengths, others }: Packed): SourceRecord[] {
  let at = 0;
  let other = 0;
  return Array.from(lengths, (length) => {
    if (length < 0) return others[other++]!;
    at += length;
    return bytes.subarray(at - length, at);
  });
}

type Story = NonNullable<RecordResult['story']>;

/**
 * Results on their way back. Whoever puts them together holds a million of them after another, so that what most records
 * have in common is sent once, or not at all.
 */
export interface PackedResults {
  readonly ids: readonly (string | null)[];
  readonly sequences: readonly (number | null)[];
  readonly hashes: readonly string[];
  /** Undefined where it is the hash of the record before. */
  readonly previous: readonly (string | null | undefined)[];
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
  const told = results.flatMap(({ story }, i): [number, RecordResult['story']][] =>
    story !== null && isPlain(story) ? [] : [[i, story]],
  );
  return {
    leaves: packedLeaves,
    hasLeaf: Uint8Array.from(results, ({ leaf }) => (leaf === null ? 0 : 1)),
    ids: results.map(({ link }) => link.id),
    sequences: results.map(({ link }) => link.sequence),
    hashes: results.map(({ link }) => link.hash),
    previous: results.map(({ link }, i) =>
      i > 0 && link.previous_hash === results[i - 1]!.link.hash ? undefined : link.previous_hash,
    ),
    verdicts,
    verdictOf,
    times: Float64Array.from(results, ({ story }) => story?.time ?? Number.NaN),
    stories: new Map(told),
  };
}

function isPlain({ intent, parent, matter, recovery }: Story): boolean {
  return intent === null && parent === null && matter === null && recovery === null;
}

const plain = (time: number): Story => ({ intent: null, parent: null, matter: null, time, recovery: null });

export function unpackResults(packed: PackedResults): RecordResult[] {
  const { ids, sequences, previous, hashes, verdicts, verdictOf, leaves, hasLeaf, times, stories } = packed;
  let at = 0;
  const nextLeaf = () => {
    at += HASH_BYTES;
    return leaves.subarray(at - HASH_BYTES, at);
  };
  return hashes.map((hash, i) => {
    const before = previous[i];
    return {
      link: {
        ...{ id: ids[i]!, sequence: sequences[i]!, hash },
        previous_hash: before === undefined ? hashes[i - 1]! : before,
      },
      verdict: verdicts[verdictOf[i]!],
      leaf: hasLeaf[i] === 1 ? nextLeaf() : null,
      story: stories.has(i) ? stories.get(i)! : plain(times[i]!),
    };
  });
}
