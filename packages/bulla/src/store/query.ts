import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';
import type { IndexEntry, Query, Value } from './driver.ts';
import { indexKey, indexText } from './index-key.ts';
import type { SearchDialect } from './search.ts';

const COLUMNS: Readonly<Record<string, string>> = {
  chain: 'chain.name = ?',
  id: 'found.id = ?',
  hash: 'found.hash = ?',
  parentId: 'found.parent_id = ?',
  sequence: 'record.sequence = ?',
  type: 'found.type = ?',
  domain: 'found.domain = ?',
  agentId: 'found.agent_id = ?',
  sessionId: 'found.session_id = ?',
  correlationId: 'found.correlation_id = ?',
  status: 'found.status = ?',
  tool: 'found.record_key IN (SELECT record_key FROM found_tool WHERE tool = ?)',
  since: 'found.timestamp >= ?',
  until: 'found.timestamp < ?',
};

const MEMBERS: readonly string[] = [...Object.keys(COLUMNS), 'text', 'limit', 'offset'];

const MAX_LIMIT = 1000;

/**
 * A query as the part of a statement after WHERE, and its values, with limit and offset as the last two. Throws
 * `STORE_QUERY`, also for a member that no query has: a misspelt condition must not find everything.
 */
export function conditions(query: Query, dialect: SearchDialect): { where: string; values: Value[] } {
  const unknown = Object.keys(query).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined)
    throw new BullaError('STORE_QUERY', `A query has no member ${JSON.stringify(unknown)}.`, {
      path: pointer([unknown]),
    });
  const limit = query.limit ?? 100;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new BullaError('STORE_QUERY', `The limit is an integer from 1 to ${MAX_LIMIT}.`);
  }
  const offset = query.offset ?? 0;
  if (!Number.isInteger(offset) || offset < 0)
    throw new BullaError('STORE_QUERY', 'The offset is an integer from 0.');
  const parts: string[] = [];
  const values: Value[] = [];
  for (const [name, condition] of Object.entries(COLUMNS)) {
    const value = query[name as keyof Query];
    if (value === undefined) continue;
    parts.push(condition);
    values.push(keyOf(value));
  }
  if (query.text !== undefined) {
    const text = indexText(query.text);
    if (text.trim() === '') throw new BullaError('STORE_QUERY', 'A search for words needs at least one.');
    parts.push(`found.record_key IN (SELECT ${dialect.textKey} FROM found_text WHERE ${dialect.matches})`);
    values.push(dialect.words(text));
  }
  return { where: parts.join(' AND ') || '1 = 1', values: [...values, limit, offset] };
}

const keyOf = (value: string | number) => (typeof value === 'string' ? indexKey(value) : value);

/**
 * Whether a record itself says what was asked for: whoever can write to the search tables can put it under any name.
 * Words and times are not compared: each database has its own way to cut and to order them.
 */
export function matchesQuery(entry: IndexEntry, query: Query): boolean {
  const { tool, ...others } = query;
  const isSame = Object.entries(others).every(
    ([name, value]) =>
      value === undefined || !(name in entry) || entry[name as keyof IndexEntry] === keyOf(value),
  );
  return isSame && (tool === undefined || entry.tools.includes(indexKey(tool)));
}
