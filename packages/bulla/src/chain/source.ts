import { closeSync, createReadStream, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import type { CanonicalRecord } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse, stringify } from '@bulla/core/json';
import { lines } from '../lines/index.ts';
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
  /** How many bytes or records there are, for showing progress; null where that is not known. */
  readonly size: { readonly unit: 'bytes' | 'records'; readonly total: number } | null;
  records(progress?: (done: number) => void): AsyncIterable<SourceRecord>;
}

const MAX_RECORD = 64 * 1024 * 1024;
const SQLITE_MAGIC = 'SQLite format 3\u0000';

export interface SourceOptions {
  /** In a SQLite file with several chains: whose. */
  readonly tenant?: string | null;
}

/**
 * Recognises a file that holds a chain: a JSON array of sealed capsules, one capsule, a capsule a line, the list
 * response of the reference's web routes, the bundle of its explorer, and the two SQLite layouts of its ecosystem.
 * Nothing is created or changed. Throws `CHAIN_SOURCE_MISSING`, `CHAIN_SOURCE_EMPTY` and `CHAIN_SOURCE`.
 */
export function openSource(file: string, options: SourceOptions = {}): ChainSource {
  if (!existsSync(file)) throw new BullaError('CHAIN_SOURCE_MISSING', `There is no file ${file}.`);
  const text = beginning(file);
  if (text.startsWith(SQLITE_MAGIC)) return readSqlite(file, options.tenant);
  const start = text.trimStart();
  if (start === '') throw new BullaError('CHAIN_SOURCE_EMPTY', `${file} is empty.`);
  const bytes = { unit: 'bytes', total: statSync(file).size } as const;
  const counted = (progress: ((done: number) => void) | undefined) => countedStream(file, progress);
  if (start.startsWith('[')) {
    return { format: 'array', size: bytes, records: (progress) => elements(counted(progress), MAX_RECORD) };
  }
  if (!start.startsWith('{')) throw new BullaError('CHAIN_SOURCE', `${file} is neither JSON nor SQLite.`);
  // A line that is closed, with another behind it, begins a file of lines; otherwise it is one document.
  if (isLines(start)) {
    return { format: 'lines', size: bytes, records: (progress) => recordLines(counted(progress)) };
  }
  return document(file);
}

/** Enough of a file to recognise it: up to the beginning of a second line, however long the first one is. */
function beginning(file: string): string {
  const size = statSync(file).size;
  for (let length = 4096; ; length *= 16) {
    const file_ = openSync(file, 'r');
    const buffer = Buffer.alloc(Math.min(length, size));
    readSync(file_, buffer);
    closeSync(file_);
    const text = buffer.toString('latin1');
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

/** The bytes of a file, telling how many have been read. */
async function* countedStream(
  file: string,
  progress: ((done: number) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>) {
    yield chunk;
    done += chunk.length;
    progress?.(done);
  }
}

/** One JSON object: a capsule, or a wrapper around several. */
function document(file: string): ChainSource {
  const bytes = new Uint8Array(readFileSync(file));
  let value: ReturnType<typeof parse>;
  try {
    value = parse(bytes, { allow: ['non-finite'] });
  } catch (error) {
    throw new BullaError('CHAIN_SOURCE', `${file} is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const capsules = (value as JsonObject).get('capsules');
  if (!Array.isArray(capsules)) return { format: 'capsule', size: records(1), records: () => each([bytes]) };
  if (!capsules.every((item) => item instanceof JsonObject)) {
    throw new BullaError('CHAIN_SOURCE', `${file} has a list of capsules that are not all objects.`);
  }
  if (capsules.length > 0 && capsules.every((item) => typeof item.get('canonical') === 'string')) {
    return {
      format: 'explorer bundle',
      size: records(capsules.length),
      records: () => each(capsules.map(canonicalRecord)),
    };
  }
  // The list response has the newest first.
  const texts = capsules.toReversed().map((item) => stringify(item));
  return { format: 'list response', size: records(texts.length), records: () => each(texts) };
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
