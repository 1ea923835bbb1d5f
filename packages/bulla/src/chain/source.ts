import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import type { CanonicalRecord } from '@bulla/core/capsule';
import { BullaError, pointer } from '@bulla/core/error';
import { JsonObject, parse, stringify } from '@bulla/core/json';
import { readWhole } from '../locks/index.ts';
import { isThere, lines } from '../os/index.ts';
import { elements } from './elements.ts';
import { readSqlite } from './sqlite-source.ts';

/** One record as a source has it: the bytes or text of a sealed capsule, or a stored canonical text with its seal. */
export type SourceRecord = string | Uint8Array | CanonicalRecord;

/** Where the records of a chain come from. */
export interface ChainSource {
  /** What the file was recognised as. */
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
  /**
   * What stands beside the records and no seal covers, by its path or its column: it was not looked at.
   */
  readonly unread?: readonly string[];
  /** How many bytes or records there are, for showing progress; null where that is not known. */
  readonly size: { readonly unit: 'bytes' | 'records'; readonly total: number } | null;
  records(progress?: (done: number) => void): AsyncIterable<SourceRecord>;
}

export const MAX_RECORD: number = 64 * 1024 * 1024;
/** The most that is taken from standard input, or of one document. */
const MAX_INPUT = 1024 * 1024 * 1024;
const SQLITE_MAGIC = 'SQLite format 3\u0000';

export interface SourceOptions {
  /** In a SQLite file with several chains: whose. */
  readonly tenant?: string | null;
}

/**
 * Recognises a file that holds a chain: a JSON array of sealed capsules, one capsule, a capsule a line, the list
 * response of the reference's web routes, the bundle of its explorer, and the two SQLite layouts of its ecosystem; `-`
 * is standard input. Nothing is created or changed. Throws `CHAIN_SOURCE_MISSING`, `CHAIN_EMPTY`,
 * `CHAIN_SOURCE`, `CHAIN_SOURCE_AMBIGUOUS` for what could be taken for something else, `INPUT_UNREADABLE`, and
 * `INPUT_TOO_LARGE` for standard input, pipes and one document.
 */
export function openSource(file: string, options: SourceOptions = {}): ChainSource {
  if (file === '-') return openBytes('Standard input', readWhole('-', MAX_INPUT));
  if (!readable(file, () => isThere(file)))
    throw new BullaError('CHAIN_SOURCE_MISSING', `There is no file ${file}.`);
  // A pipe such as `<(command)` has no size and can be read once.
  if (!statSync(file).isFile()) return openBytes(file, readWhole(file, MAX_INPUT));
  const start = readable(file, () => beginning(file));
  if (start.startsWith(SQLITE_MAGIC)) return readSqlite(file, options.tenant);
  return recognised({
    name: file,
    start,
    size: statSync(file).size,
    chunks: () => streamed(file),
    whole: () => readWhole(file, MAX_INPUT),
  });
}

/** The same for what was read before, so that what is verified is what was recognised. It cannot be SQLite. */
export function openBytes(name: string, bytes: Uint8Array): ChainSource {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const start = startOf(bytes.length, (length) => view.toString('latin1', 0, length));
  if (start.startsWith(SQLITE_MAGIC))
    throw new BullaError('CHAIN_SOURCE', `${name} is a SQLite database, which is read from a file.`);
  return recognised({ name, start, size: bytes.length, chunks: () => each([bytes]), whole: () => bytes });
}

/** Where the text of a chain comes from. */
interface Input {
  readonly name: string;
  /** Enough of it to recognise it, in Latin-1. */
  readonly start: string;
  readonly size: number;
  chunks(): AsyncIterable<Uint8Array>;
  whole(): Uint8Array;
}

function recognised(input: Input): ChainSource {
  const { name, size } = input;
  const start = input.start.trimStart();
  if (start === '') throw new BullaError('CHAIN_EMPTY', `${name} is empty.`);
  const bytes = { unit: 'bytes', total: size } as const;
  const counted = (progress: ((done: number) => void) | undefined) => countedStream(input.chunks(), progress);
  if (start.startsWith('[')) {
    return { format: 'array', size: bytes, records: (progress) => elements(counted(progress), MAX_RECORD) };
  }
  if (!start.startsWith('{')) throw new BullaError('CHAIN_SOURCE', `${name} is neither JSON nor SQLite.`);
  // A line that is closed, with another behind it, begins a file of lines; otherwise it is one document.
  if (isLines(start)) {
    return { format: 'lines', size: bytes, records: (progress) => recordLines(counted(progress)) };
  }
  return document(name, input.whole());
}

function readable<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

async function* streamed(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

function unreadable(file: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (cause instanceof BullaError || code === undefined) return cause;
  return new BullaError('INPUT_UNREADABLE', `${file} cannot be read (${code}).`, { cause });
}

function beginning(file: string): string {
  return startOf(statSync(file).size, (length) => {
    const opened = openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(length);
      readSync(opened, buffer);
      return buffer.toString('latin1');
    } finally {
      closeSync(opened);
    }
  });
}

/** Enough of a text to recognise it: up to the beginning of a second line, however long the first one is. */
function startOf(size: number, read: (length: number) => string): string {
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

/** A line without a record, such as the last one, is passed over. */
async function* recordLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const line of lines(source, MAX_RECORD)) if (line.some((byte) => byte > 0x20)) yield line;
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
  let value: ReturnType<typeof parse>;
  try {
    value = parse(bytes, { allow: ['non-finite'] });
  } catch (error) {
    throw new BullaError('CHAIN_SOURCE', `${name} is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
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

/** A record with its canonical text, from members or columns; what is no text is not taken for a missing one. */
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
