import type { CanonicalRecord, StoredRecord } from '../capsule/index.ts';
import { attempt, BullaError } from '../error.ts';
import { JsonObject, lineBatches, parse, pointer, stringify } from '../json/index.ts';
import { elements } from './elements.ts';

/** Where the records of a chain come from. */
export interface ChainSource {
  /** What the source was recognised as. */
  readonly format:
    | 'capsule'
    | 'array'
    | 'lines'
    | 'list response'
    | 'explorer bundle'
    | 'sqlite (data)'
    | 'sqlite (canonical)'
    | 'store';
  /** In a SQLite file: which table was read. */
  readonly table?: string;
  /** What was read instead of the file that was named, where that could not be opened as it is. */
  readonly copied?: string | null;
  /** What stands beside the records and no seal covers, by its path or its column: it was not looked at. */
  readonly unread?: readonly string[];
  /** How many bytes or records there are, for showing progress; null where that is not known. */
  readonly size: { readonly unit: 'bytes' | 'records'; readonly total: number } | null;
  /** The records from the first on, each time that it is called. */
  records(progress?: (done: number) => void): AsyncIterable<StoredRecord>;
  /** The same records, some at a time, where that is cheaper: a promise for each costs as much as reading it. */
  batches?(progress?: (done: number) => void): AsyncIterable<readonly StoredRecord[]>;
}

/** The size of a batch where the source gives records one by one. */
const BATCH = 64;

/** The records of a source, some at a time. */
export async function* batchesOf(
  source: ChainSource,
  progress?: (done: number) => void,
): AsyncGenerator<readonly StoredRecord[]> {
  if (source.batches !== undefined) return yield* source.batches(progress);
  let batch: StoredRecord[] = [];
  for await (const record of source.records(progress)) {
    batch.push(record);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

export const MAX_RECORD: number = 64 * 1024 * 1024;
export const SQLITE_MAGIC = 'SQLite format 3\u0000';

/** The text of a chain, in memory or elsewhere. */
export interface ChainText {
  /** What errors call it. */
  readonly name: string;
  /** Enough of it to recognise it, in Latin-1: what `startOf` gives. */
  readonly start: string;
  readonly size: number;
  chunks(): AsyncIterable<Uint8Array>;
  whole(): Uint8Array;
}

/**
 * Recognises the text of a chain: a JSON array of sealed capsules, one capsule, a capsule a line, the list response of
 * the reference's web routes, and the bundle of its explorer. Throws `CHAIN_EMPTY`, `CHAIN_SOURCE`, and
 * `CHAIN_SOURCE_AMBIGUOUS` for what could be taken for something else.
 */
export function openText(input: ChainText): ChainSource {
  const { name, size } = input;
  const start = input.start.trimStart();
  if (start === '') throw new BullaError('CHAIN_EMPTY', `${name} is empty.`);
  const bytes = { unit: 'bytes', total: size } as const;
  const counted = (progress: ((done: number) => void) | undefined) => countedStream(input.chunks(), progress);
  if (start.startsWith('[')) {
    return batched('array', bytes, (progress) => elements(counted(progress), MAX_RECORD));
  }
  if (!start.startsWith('{')) throw new BullaError('CHAIN_SOURCE', `${name} is neither JSON nor SQLite.`);
  // A line that is closed, with another behind it, begins a file of lines; otherwise it is one document.
  if (isLines(start)) {
    return batched('lines', bytes, (progress) => recordLines(counted(progress)));
  }
  return document(name, input.whole());
}

/** The same for bytes in memory. They cannot be SQLite. */
export function openBytes(name: string, bytes: Uint8Array): ChainSource {
  const start = startOf(bytes.length, (length) => latin1(bytes.subarray(0, length)));
  if (start.startsWith(SQLITE_MAGIC))
    throw new BullaError('CHAIN_SOURCE', `${name} is a SQLite database, which is read from a file.`);
  return openText({ name, start, size: bytes.length, chunks: () => each([bytes]), whole: () => bytes });
}

/** Bytes as text, one character each; which one is right for ASCII alone. */
export function latin1(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes);
}

/** Enough of a text to recognise it: up to the beginning of a second line, however long the first one is. */
export function startOf(size: number, read: (length: number) => string): string {
  for (let length = 4096; ; length *= 16) {
    const text = read(Math.min(length, size, MAX_RECORD + 1));
    if (length >= size || secondLine(text.trimStart()) !== undefined || length > MAX_RECORD) return text;
  }
}
/** Whether the first line is closed and the next one that holds anything begins an object. */
function isLines(text: string): boolean {
  const second = secondLine(text);
  return (
    second !== undefined && text[second] === '{' && text.slice(0, text.indexOf('\n')).trimEnd().endsWith('}')
  );
}

/** Where something stands behind the first line; undefined if nothing does. By hand, because a file may be all lines. */
function secondLine(text: string): number | undefined {
  const end = text.indexOf('\n');
  if (end < 0) return undefined;
  for (let i = end + 1; i < text.length; i++) if (!/\s/.test(text[i]!)) return i;
  return undefined;
}

/** A source that gives some records at a time. */
function batched(
  format: ChainSource['format'],
  size: ChainSource['size'],
  batches: NonNullable<ChainSource['batches']>,
): ChainSource {
  async function* records(progress?: (done: number) => void) {
    for await (const batch of batches(progress)) yield* batch;
  }
  return { format, size, batches, records };
}

/** A line without a record, such as the last one, is passed over. */
async function* recordLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
  for await (const batch of lineBatches(source, MAX_RECORD)) {
    const records = batch.filter((line) => line.some((byte) => byte > 0x20));
    if (records.length > 0) yield records;
  }
}

/** The same chunks, telling how many bytes have been read. */
async function* countedStream(
  chunks: AsyncIterable<Uint8Array>,
  progress: ((done: number) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of chunks) {
    yield chunk;
    done += chunk.length;
    progress?.(done);
  }
}

/** One JSON object: a capsule, or a wrapper around several. */
function document(name: string, bytes: Uint8Array): ChainSource {
  const value = attempt(() => parse(bytes, { allow: ['non-finite'] }));
  if (value instanceof BullaError)
    throw new BullaError('CHAIN_SOURCE', `${name} is not JSON: ${value.message}`, { cause: value });
  const capsules = (value as JsonObject).get('capsules');
  if (!Array.isArray(capsules)) return { format: 'capsule', size: records(1), records: () => each([bytes]) };
  if (!capsules.every((item) => item instanceof JsonObject)) {
    throw new BullaError('CHAIN_SOURCE', `${name} has a list of capsules that are not all objects.`);
  }
  const withText = capsules.filter((item) => typeof item.get('canonical') === 'string').length;
  if (withText > 0 && withText < capsules.length) {
    const message = `${name} has capsules with a canonical text and others without one.`;
    throw new BullaError('CHAIN_SOURCE_AMBIGUOUS', message);
  }
  const beside = (value as JsonObject).keys.filter((key) => key !== 'capsules');
  const isBundle = withText > 0 || (capsules.length === 0 && beside.includes('tool'));
  const format: keyof typeof WRAPPERS = isBundle ? 'explorer bundle' : 'list response';
  const odd = beside.find((key) => !WRAPPERS[format].includes(key));
  if (odd !== undefined) {
    // Whoever does not know the list takes such a document for a capsule, or for something else.
    const message = `${name} has a list of capsules and ${JSON.stringify(odd)} beside it, which is no member of ${isBundle ? 'an' : 'a'} ${format}.`;
    throw new BullaError('CHAIN_SOURCE_AMBIGUOUS', message, { path: pointer([odd]) });
  }
  const unread = beside.map((key) => pointer([key]));
  const found = { format, size: records(capsules.length), unread } satisfies Partial<ChainSource>;
  if (isBundle) return { ...found, records: () => each(capsules.map(canonicalRecord)) };
  // The list response has the newest first.
  const texts = capsules.toReversed().map((item) => stringify(item));
  return { ...found, records: () => each(texts) };
}

/** What the known documents around a list of capsules have beside it; nothing else is such a document. */
const WRAPPERS: Readonly<Record<'list response' | 'explorer bundle', readonly string[]>> = {
  'list response': ['total', 'limit', 'offset'],
  'explorer bundle': [
    ...['id', 'tool', 'db_path', 'title', 'length', 'head_hash', 'genesis_hash', 'all_hashes_ok'],
    ...['signed_by', 'started_at', 'ended_at'],
  ],
};

const CANONICAL_MEMBERS = ['canonical', 'hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'];

function records(total: number) {
  return { unit: 'records', total } as const;
}

/** The members of a record that stores its canonical text. */
function canonicalRecord(item: JsonObject): CanonicalRecord {
  const others = item.keys.filter((key) => !CANONICAL_MEMBERS.includes(key));
  const beside = new JsonObject(
    others,
    others.map((key) => item.get(key)!),
  );
  return { ...canonicalOf((key) => item.get(key)), clear: stringify(beside) };
}

/** A record with its canonical text, from members or columns; a value of another type does not count as missing. */
export function canonicalOf(get: (name: string) => unknown): CanonicalRecord {
  const text = (name: string) => {
    const value = get(name) ?? undefined;
    return value === undefined || typeof value === 'string' ? value : NO_TEXT;
  };
  return {
    canonical: text('canonical') ?? '',
    hash: text('hash') ?? '',
    signature: text('signature') ?? '',
    signature_pq: text('signature_pq'),
    signed_at: text('signed_at'),
    signed_by: text('signed_by'),
  };
}

/** Stands for a value of another type: neither JSON, nor hex digits, nor a time. */
const NO_TEXT = '(no text)';

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
