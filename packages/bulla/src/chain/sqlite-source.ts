import { statSync } from 'node:fs';
import type { StoredRecord } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse, stringify } from '@bulla/core/json';
import { type ChainSource, canonicalOf, MAX_RECORD } from '@bulla/core/verify';
import Database from 'better-sqlite3';
import { openReadable } from '../store/index.ts';

const SEAL_COLUMNS = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const;
const CONTENT_COLUMNS = ['data', 'canonical'] as const;
type Row = Record<'content' | (typeof SEAL_COLUMNS)[number], unknown>;

/**
 * Reads a chain from a SQLite file of the reference ecosystem: either the content lies in `data` and the seal in
 * columns, or the hashed text lies in `canonical`. Only what is hashed counts; a column beside it is not looked at,
 * but for the seal and the order. Whoever made the file also made its schema, so that only one table may be the chain,
 * and that an ordinary one: neither views nor indexes nor computed columns are asked. Throws `CHAIN_SOURCE` for another
 * layout and for a damaged file, `CHAIN_SOURCE_AMBIGUOUS` where others may read another table or column, and
 * `CHAIN_SOURCE_AMBIGUOUS` when there is more than one tenant and none is named; null names the records without one.
 */
export function readSqlite(file: string, tenant: string | null | undefined): ChainSource {
  const opened = guarded(file, () => openReadable(file));
  try {
    return guarded(file, () => sourceOf(file, opened, tenant));
  } catch (error) {
    opened.close();
    throw error;
  }
}

function sourceOf(
  file: string,
  { db, copied, path, close }: ReturnType<typeof openReadable>,
  tenant: string | null | undefined,
): ChainSource {
  // What the schema says must not run code, and cells that overlap are an error.
  db.pragma('trusted_schema = OFF');
  db.pragma('cell_size_check = ON');
  const { table, content, columns } = findTable(file, db);
  // An index may hold other values than its table, and a page may be the child of many: the table alone is walked, and
  // no further than the file can be long.
  const size = sizeOf(path) + sizeOf(`${path}-wal`);
  const most = Math.ceil(size / MIN_ROW);
  const texts = [content, ...SEAL_COLUMNS];
  const byTenant = columns.includes('tenant_id');
  const selected = [...texts, 'sequence', ...(byTenant ? ['tenant_id'] : [])].join(', ');
  const walked = `(SELECT ${selected} FROM "${table.replaceAll('"', '""')}" NOT INDEXED LIMIT ${most + 1})`;
  const lengths = texts.map((name) => `iif(typeof(${name}) IN ('text', 'blob'), octet_length(${name}), 0)`);
  const { rows, bytes, longest } = db
    .prepare(
      `SELECT count(*) AS rows, total(length) AS bytes, max(length) AS longest FROM (SELECT ${lengths.join(' + ')} AS length FROM ${walked})`,
    )
    .get() as { rows: number; bytes: number; longest: number | null };
  if (rows > most || bytes > size) throw damaged(file, 'its table is larger than the file');
  if ((longest ?? 0) > MAX_RECORD)
    throw new BullaError('CHAIN_SOURCE', `A record is longer than ${MAX_RECORD} bytes.`);
  const where = byTenant ? 'WHERE tenant_id IS ?' : '';
  const values = byTenant ? [chooseTenant(db, walked, tenant)] : [];
  const total = db
    .prepare(`SELECT count(*) FROM ${walked} ${where}`)
    .pluck()
    .get(...values) as number;
  const statement = db.prepare(
    `SELECT ${content} AS content, ${SEAL_COLUMNS.join(', ')} FROM ${walked} ${where} ORDER BY sequence`,
  );

  async function* walk(progress?: (done: number) => void): AsyncGenerator<StoredRecord> {
    const found = guarded(file, () => statement.iterate(...values) as IterableIterator<Row>);
    let done = 0;
    try {
      for (;;) {
        const next = guarded(file, () => found.next());
        if (next.done === true) break;
        yield content === 'data' ? sealedText(next.value) : canonicalText(next.value);
        progress?.(++done);
      }
    } finally {
      found.return?.();
      close();
    }
  }
  // The records of an opened file are read once; whoever wants them again opens it again.
  let isRead = false;
  const records: ChainSource['records'] = (progress) => {
    if (isRead) return readSqlite(file, tenant).records(progress);
    isRead = true;
    return walk(progress);
  };
  const read: readonly string[] = [content, ...SEAL_COLUMNS, 'sequence', 'tenant_id'];
  return {
    format: content === 'data' ? 'sqlite (data)' : 'sqlite (canonical)',
    table,
    unread: listed(columns.filter((name) => !read.includes(name)).map((name) => `column ${name}`)),
    size: { unit: 'records', total },
    copied,
    records,
  };
}

/** A row has a place of two bytes and a header of a byte for each of seven columns, at least. */
const MIN_ROW = 9;

/** The name by which the programs of the ecosystem ask for the records. */
const KNOWN_NAME = 'capsules';

/**
 * The one table that can be the chain. What is not an ordinary table is not looked into, because a schema can make that
 * work of any size; but it must not have the name that others ask for.
 */
function findTable(
  file: string,
  db: Database.Database,
): { table: string; content: (typeof CONTENT_COLUMNS)[number]; columns: readonly string[] } {
  const schema = db
    .prepare("SELECT name, type, sql FROM sqlite_schema WHERE type IN ('table', 'view')")
    .all() as { name: string; type: string; sql: string }[];
  const columnsOf = db.prepare('SELECT lower(name) AS name, hidden FROM pragma_table_xinfo(?)');
  const found: ReturnType<typeof findTable>[] = [];
  const names: string[] = [];
  for (const { name, type, sql } of schema) {
    if (type !== 'table' || !/^CREATE TABLE /i.test(sql)) {
      if (name.toLowerCase() === KNOWN_NAME)
        throw new BullaError('CHAIN_SOURCE', `In ${file}, ${name} is not an ordinary table.`);
      continue;
    }
    names.push(name);
    const all = columnsOf.all(name) as { name: string; hidden: number }[];
    // The schema gives the table another name than it is asked by.
    if (all.length === 0) throw damaged(file, `there is no table ${name}, although it is listed`);
    const columns = all.map((column) => column.name);
    if (!['sequence', ...SEAL_COLUMNS].every((one) => columns.includes(one))) continue;
    const contents = CONTENT_COLUMNS.filter((one) => columns.includes(one));
    if (contents.length === 0) continue;
    const read: readonly string[] = [...contents, ...SEAL_COLUMNS, 'sequence', 'tenant_id'];
    const computed = all.find((column) => column.hidden !== 0 && read.includes(column.name));
    if (computed !== undefined)
      throw new BullaError('CHAIN_SOURCE', `In ${file}, the column ${computed.name} of ${name} is computed.`);
    if (contents.length > 1)
      throw ambiguous(`${file} has a table ${name} with the content in both data and canonical.`);
    found.push({ table: name, content: contents[0]!, columns });
  }
  const own = names.includes('chain') && names.includes('record');
  const [first, second] = found;
  if (first === undefined)
    throw new BullaError(
      'CHAIN_SOURCE',
      own ? `${file} is a store of Bulla; name it with --store.` : `${file} has no table of capsules.`,
    );
  if (second !== undefined)
    throw ambiguous(`${file} has several tables of capsules: ${first.table}, ${second.table}.`);
  if (own) throw ambiguous(`${file} is a store of Bulla, and has a table of capsules, ${first.table}.`);
  return first;
}

function chooseTenant(
  db: Database.Database,
  walked: string,
  tenant: string | null | undefined,
): string | null {
  if (tenant !== undefined) return tenant;
  const tenants = db.prepare(`SELECT DISTINCT tenant_id FROM ${walked} LIMIT 2`).pluck().all() as (
    | string
    | null
  )[];
  if (tenants.length > 1)
    throw new BullaError(
      'CHAIN_SOURCE_AMBIGUOUS',
      'The file has chains of several tenants; name one with --tenant.',
    );
  return tenants[0] ?? null;
}

/** Puts the seal back behind the content, digit by digit as it is stored. Text that is not a capsule is left to the verifier. */
function sealedText({ content: data, ...seal }: Row): string {
  if (typeof data !== 'string') return 'null';
  let content: ReturnType<typeof parse>;
  try {
    content = parse(data, { allow: ['non-finite'] });
  } catch (error) {
    if (error instanceof BullaError) return data;
    throw error;
  }
  if (!(content instanceof JsonObject)) return data;
  // A seal field inside the content would be a second one; the strict reader behind this refuses such a record.
  const members = SEAL_COLUMNS.map(
    (name) => `${JSON.stringify(name)}:${JSON.stringify(seal[name] ?? (name === 'signed_at' ? null : ''))}`,
  );
  const text = stringify(content);
  return `${text.slice(0, -1)}${content.size === 0 ? '' : ','}${members.join(',')}}`;
}

function canonicalText(row: Row): StoredRecord {
  return canonicalOf((name) => (name === 'canonical' ? row.content : row[name as keyof Row]));
}

/** Limit on the names that are shown: the author of the file chose them. */
const MAX_UNREAD = 100;

function listed(names: readonly string[]): string[] {
  if (names.length <= MAX_UNREAD) return [...names];
  return [...names.slice(0, MAX_UNREAD), `${names.length - MAX_UNREAD} more`];
}

/** Turns SQLite's errors into ours. */
function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError)) throw cause;
    if (/^SQLITE_(BUSY|LOCKED)/.test(cause.code))
      throw new BullaError('STORE_BUSY', `Another process kept ${file} locked for too long.`, { cause });
    throw damaged(file, cause.message, cause);
  }
}

function damaged(file: string, why: string, cause?: unknown): BullaError {
  return new BullaError('CHAIN_SOURCE', `${file} cannot be read as a SQLite database: ${why}.`, { cause });
}

function ambiguous(message: string): BullaError {
  return new BullaError('CHAIN_SOURCE_AMBIGUOUS', message);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
