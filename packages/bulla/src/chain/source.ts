import { closeSync, createReadStream, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import type { CanonicalRecord } from '@bulla/core/capsule';
import { BullaError, pointer } from '@bulla/core/error';
import { JsonObject, parse, stringify } from '@bulla/core/json';
import { lines } from '../lines/index.ts';
import { readWhole } from '../lockfile/index.ts';
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
  /** What was read instead of the file that was named, where that could not be opened as it is. */
  readonly copied?: string | null;
  /**
   * What stands beside the records and no seal covers, by its path or its column: it was not looked at. A member that
   * many records have beside their canonical text is told once, where it is first.
   */
  readonly unread?: readonly string[];
  /** How many bytes or records there are, for showing progress; null where that is not known. */
  readonly size: { readonly unit: 'bytes' | 'records'; readonly total: number } | null;
  records(progress?: (done: number) => void): AsyncIterable<SourceRecord>;
}

const MAX_RECORD = 64 * 1024 * 1024;
/** The most that is taken from standard input. */
const MAX_INPUT = 1024 * 1024 * 1024;
const SQLITE_MAGIC = 'SQLite format 3\u0000';

export interface SourceOptions {
  /** In a SQLite file with several chains: whose. */
  readonly tenant?: string | null;
}

/**
 * Recognises a file that holds a chain: a JSON array of sealed capsules, one capsule, a capsule a line, the list
 * response of the reference's web routes, the bundle of its explorer, and the two SQLite layouts of its ecosystem; `-`
 * is standard input. Nothing is created or changed. Throws `CHAIN_SOURCE_MISSING`, `CHAIN_SOURCE_EMPTY`,
 * `CHAIN_SOURCE`, and for standard input and pipes `INPUT_UNREADABLE` and `INPUT_TOO_LARGE`.
 */
export function openSource(file: string, options: SourceOptions = {}): ChainSource {
  if (file === '-') return openBytes('Standard input', readWhole('-', MAX_INPUT));
  if (!existsSync(file)) throw new BullaError('CHAIN_SOURCE_MISSING', `There is no file ${file}.`);
  // A pipe such as `<(command)` has no size and can be read once.
  if (!statSync(file).isFile()) return openBytes(file, readWhole(file, MAX_INPUT));
  const start = beginning(file);
  if (start.startsWith(SQLITE_MAGIC)) return readSqlite(file, options.tenant);
  return recognised({
    name: file,
    start,
    size: statSync(file).size,
    chunks: () => createReadStream(file, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>,
    whole: () => new Uint8Array(readFileSync(file)),
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
  if (start === '') throw new BullaError('CHAIN_SOURCE_EMPTY', `${name} is empty.`);
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

function beginning(file: string): string {
  return startOf(statSync(file).size, (length) => {
    const opened = openSync(file, 'r');
    const buffer = Buffer.alloc(length);
    readSync(opened, buffer);
    closeSync(opened);
    return buffer.toString('latin1');
  });
}

/** Enough of a text to recognise it: up to the beginning of a second line, however long the first one is. */
function startOf(size: number, read: (length: number) => string): string {
  for (let length = 4096; ; length *= 16) {
    const text = read(Math.min(length, size));
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
  const beside = (value as JsonObject).keys.filter((key) => key !== 'capsules').map((key) => pointer([key]));
  if (!capsules.every((item) => item instanceof JsonObject)) {
    throw new BullaError('CHAIN_SOURCE', `${name} has a list of capsules that are not all objects.`);
  }
  if (capsules.length > 0 && capsules.every((item) => typeof item.get('canonical') === 'string')) {
    return {
      format: 'explorer bundle',
      unread: listed([...beside, ...besideCanonical(capsules)]),
      size: records(capsules.length),
      records: () => each(capsules.map(canonicalRecord)),
    };
  }
  // The list response has the newest first.
  const texts = capsules.toReversed().map((item) => stringify(item));
  const size = records(texts.length);
  return { format: 'list response', unread: listed(beside), size, records: () => each(texts) };
}

/** Who wrote the file chooses these names, so only so many are told. */
const MAX_UNREAD = 100;

export function listed(places: readonly string[]): string[] {
  if (places.length <= MAX_UNREAD) return [...places];
  return [...places.slice(0, MAX_UNREAD), `${places.length - MAX_UNREAD} more`];
}

const CANONICAL_MEMBERS = ['canonical', 'hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'];

function besideCanonical(capsules: readonly JsonObject[]): string[] {
  const first = new Map<string, string>();
  for (const [i, item] of capsules.entries())
    for (const key of item.keys)
      if (!CANONICAL_MEMBERS.includes(key) && !first.has(key)) first.set(key, pointer(['capsules', i, key]));
  return [...first.values()];
}

function records(total: number) {
  return { unit: 'records', total } as const;
}

/** The members of a record that stores its canonical text; a seal field of another type than text counts as missing. */
function canonicalRecord(item: JsonObject): CanonicalRecord {
  const text = (key: string) => {
    const value = item.get(key);
    return typeof value === 'string' ? value : undefined;
  };
  return {
    canonical: text('canonical')!,
    hash: text('hash') ?? '',
    signature: text('signature') ?? '',
    signature_pq: text('signature_pq'),
    signed_at: text('signed_at'),
    signed_by: text('signed_by'),
  };
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
