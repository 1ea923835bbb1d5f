import type { CanonicalRecord } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse, stringify } from '@bulla/core/json';
import type Database from 'better-sqlite3';
import { openReadable } from '../store/index.ts';
import type { ChainSource, SourceRecord } from './source.ts';

const SEAL_COLUMNS = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const;
type SealColumns = Record<(typeof SEAL_COLUMNS)[number], string | null>;

/**
 * Reads a chain from a SQLite file of the reference ecosystem: either the content lies in `data` and the seal in
 * columns, or the hashed text lies in `canonical`. Only what is hashed counts; a column beside it is not looked at,
 * but for the seal and the order. Throws `CHAIN_SOURCE` for another layout and `CHAIN_SOURCE_TENANT` when there is
 * more than one tenant and none is named; null names the records without one.
 */
export function readSqlite(file: string, tenant: string | null | undefined): ChainSource {
  const { db, copied, close } = openReadable(file);
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
  const columnsOf = (table: string) =>
    db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table) as string[];
  const has = (table: string, names: readonly string[]) =>
    names.every((name) => columnsOf(table).includes(name));
  const find = (content: string) =>
    tables.find((table) => has(table, ['sequence', content, ...SEAL_COLUMNS]));
  const canonical = find('canonical');
  const table = canonical ?? find('data');
  if (table === undefined) {
    close();
    const own = tables.includes('chain') && tables.includes('record');
    throw new BullaError(
      'CHAIN_SOURCE',
      own ? `${file} is a store of Bulla; name it with --store.` : `${file} has no table of capsules.`,
    );
  }
  const name = `"${table.replaceAll('"', '""')}"`;
  const byTenant = columnsOf(table).includes('tenant_id');
  const chosen = byTenant ? chooseTenant(db, close, name, tenant) : undefined;
  const where = byTenant ? 'WHERE tenant_id IS ?' : '';
  const values = byTenant ? [chosen] : [];
  const total = db
    .prepare(`SELECT count(*) FROM ${name} ${where}`)
    .pluck()
    .get(...values) as number;
  const content = canonical === undefined ? 'data' : 'canonical';
  const statement = db.prepare(
    `SELECT ${content} AS content, ${SEAL_COLUMNS.join(', ')} FROM ${name} ${where} ORDER BY sequence`,
  );

  async function* records(progress?: (done: number) => void): AsyncGenerator<SourceRecord> {
    let done = 0;
    try {
      for (const row of statement.iterate(...values) as IterableIterator<SealColumns & { content: string }>) {
        yield canonical === undefined ? sealedText(row.content, row) : canonicalRecord(row);
        progress?.(++done);
      }
    } finally {
      close();
    }
  }
  return {
    format: canonical === undefined ? 'sqlite (data)' : 'sqlite (canonical)',
    unread: columnsOf(table)
      .filter((column) => ![content, ...SEAL_COLUMNS, 'sequence', 'tenant_id'].includes(column))
      .map((column) => `column ${column}`),
    size: { unit: 'records', total },
    copied,
    records,
  };
}

function chooseTenant(
  db: Database.Database,
  close: () => void,
  table: string,
  tenant: string | null | undefined,
): string | null {
  if (tenant !== undefined) return tenant;
  const tenants = db.prepare(`SELECT DISTINCT tenant_id FROM ${table} LIMIT 2`).pluck().all() as (
    | string
    | null
  )[];
  if (tenants.length > 1) {
    close();
    throw new BullaError(
      'CHAIN_SOURCE_TENANT',
      'The file has chains of several tenants; name one with --tenant.',
    );
  }
  return tenants[0] ?? null;
}

/** Puts the seal back behind the content, digit by digit as it is stored. */
function sealedText(data: string, columns: SealColumns): string {
  const content = parse(data, { allow: ['non-finite'] });
  if (!(content instanceof JsonObject)) return data;
  // A seal field inside the content would be a second one; the strict reader behind this refuses such a record.
  const seal = SEAL_COLUMNS.map(
    (name) =>
      `${JSON.stringify(name)}:${JSON.stringify(columns[name] ?? (name === 'signed_at' ? null : ''))}`,
  );
  const text = stringify(content);
  return `${text.slice(0, -1)}${content.size === 0 ? '' : ','}${seal.join(',')}}`;
}

function canonicalRecord({ content, ...seal }: SealColumns & { content: string }): CanonicalRecord {
  return { canonical: content, ...seal, hash: seal.hash ?? '', signature: seal.signature ?? '' };
}
