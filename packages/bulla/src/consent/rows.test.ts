import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { openStore } from '../store/index.ts';
import { allGrants, findSubject, held, openPrompts, overdue } from './found.ts';
import { load, type Reading } from './rows.ts';

const pair = { user: 'ada', agent: 'desk' };

test.each<[string, (reading: Reading) => Promise<unknown>, string[]]>([
  [
    'the rows of a relation',
    (reading) => load(reading, pair, 'id'),
    [
      'consent_relation_by_digest',
      'agent_by_id',
      'consent_row',
      'consent_subject_by_relation',
      'consent_subject_once',
    ],
  ],
  ['a question', (reading) => findSubject(reading, 'id'), ['consent_subject_once', 'agent_by_id']],
  ['open questions', openPrompts, ['consent_subject_by_due']],
  ['grants', allGrants, ['consent_relation_by_digest', 'consent_row']],
  [
    'what is overdue',
    (reading) => overdue(reading, 1),
    [
      'consent_subject_by_due',
      'consent_row_by_due',
      'agent_by_id',
      'consent_relation_by_agent',
      'consent_subject_by_relation',
    ],
  ],
  ['what a process held', (reading) => held(reading, 'holder'), ['consent_subject_by_due']],
])('%s: are found by their indexes', async (_, read, indexes) => {
  const file = join(temporaryFolder(), 'store.db');
  await (await openStore({ url: file, create: true })).close();
  const db = new Database(file);
  const details: string[] = [];
  await read({
    tenant: null,
    async all(sql, ...values) {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
      details.push(...plan.map(({ detail }) => detail));
      return [];
    },
  });
  db.close();
  const used = details.flatMap(
    (detail) => /INDEX (?:sqlite_autoindex_)?(\w+?)(?:_\d)? \(/.exec(detail)?.[1] ?? [],
  );
  expect([...new Set(used)]).toEqual(indexes);
  const scanned = details.filter(
    (detail) => /^SCAN (?!own)/.test(detail) && !detail.includes('CONSTANT ROW'),
  );
  expect(scanned).toEqual([]);
});
