import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';
import { type ChainSource, openBytes, openText, SQLITE_MAGIC, startOf } from '@bulla/core/verify';
import { accessFile, fileError, isThere, readInput } from '../os/index.ts';
import type { Chain } from '../store/index.ts';
import { readSqlite } from './sqlite-source.ts';

export interface SourceOptions {
  /** In a SQLite file with several chains: whose. */
  readonly tenant?: string | null;
}

/**
 * Opens a file that holds a chain: the texts that `openText` recognises, and the two SQLite layouts of the reference's
 * ecosystem; `-` is standard input. Nothing is created or changed. Throws `CHAIN_SOURCE_MISSING`, what `openText` and
 * `readSqlite` throw, `INPUT_UNREADABLE`, and `INPUT_TOO_LARGE` for standard input, pipes and one document.
 */
export function openSource(file: string, options: SourceOptions = {}): ChainSource {
  if (file === '-') return openBytes('Standard input', readInput('-', 'chain'));
  if (!accessFile('INPUT_UNREADABLE', file, 'read', () => isThere(file)))
    throw new BullaError('CHAIN_SOURCE_MISSING', `There is no file ${file}.`);
  // A pipe such as `<(command)` has no size and can be read once.
  if (!statSync(file).isFile()) return openBytes(file, readInput(file, 'chain'));
  const start = accessFile('INPUT_UNREADABLE', file, 'read', () => beginning(file));
  if (start.startsWith(SQLITE_MAGIC)) return readSqlite(file, options.tenant);
  return openText({
    name: file,
    start,
    size: statSync(file).size,
    chunks: () => streamed(file),
    whole: () => readInput(file, 'chain'),
  });
}

async function* streamed(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>;
  } catch (cause) {
    throw fileError('INPUT_UNREADABLE', file, 'read', cause);
  }
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

/** A chain of the local store as a source, up to the head that it has now. */
export async function storeSource(chain: Chain): Promise<ChainSource> {
  const { length } = await chain.head();
  return {
    format: 'store',
    size: { unit: 'records', total: length },
    async *records(progress) {
      for await (const row of chain.records()) {
        if (row.sequence >= length) return;
        yield row.data;
        progress?.(row.sequence + 1);
      }
    },
  };
}
