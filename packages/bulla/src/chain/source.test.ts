import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { openSource } from './source.ts';

test.each([
  ['{"a":1}\n{"b":2}', 'lines', 2],
  ['{"a":1} \r\n\n \n{"b":2}\n', 'lines', 2],
  ['{"a":1}\n', 'capsule', 1],
  ['{\n"a":1\n}\n', 'capsule', 1],
  ['{"a":\n{"b":2}}', 'capsule', 1],
  ['[]', 'array', 0],
  ['\n\n[{},{}]', 'array', 2],
])('%j is read as %s', async (text, format, count) => {
  const file = join(temporaryFolder(), 'x');
  writeFileSync(file, text);
  const source = openSource(file);
  expect([source.format, (await Array.fromAsync(source.records())).length]).toEqual([format, count]);
});

test('a file of a million empty lines is recognised in one pass', async () => {
  const file = join(temporaryFolder(), 'x');
  const empty = '\n'.repeat(1_000_000);
  for (const [text, format, count] of [
    [`{}${empty}`, 'capsule', 1],
    [`{}${empty}{}${empty}`, 'lines', 2],
    [`${empty}{}\n`, 'capsule', 1],
    [`[{}${empty}]`, 'array', 1],
  ] as const) {
    writeFileSync(file, text);
    const source = openSource(file);
    expect([source.format, (await Array.fromAsync(source.records())).length]).toEqual([format, count]);
  }
});

test('what stands beside the records, and no seal covers, is named', () => {
  const folder = temporaryFolder();
  const unread = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return openSource(join(folder, name)).unread;
  };
  expect(unread('list', '{"capsules":[{"note":"inside"}],"total":1,"a/b":"evil"}')).toEqual([
    '/total',
    '/a~1b',
  ]);
  expect(
    unread(
      'bundle',
      '{"id":"x","capsules":[{"canonical":"{}","hash":""},{"canonical":"{}","note":1},{"canonical":"{}","note":2}]}',
    ),
  ).toEqual(['/id', '/capsules/1/note']);
  expect(
    unread('many', `{"capsules":[],${Array.from({ length: 102 }, (_, i) => `"m${i}":0`).join()}}`)?.slice(-2),
  ).toEqual(['/m99', '2 more']);
  const db = new Database(join(folder, 'db'));
  db.exec(
    'CREATE TABLE t (id, sequence, tenant_id, status, data, hash, signature, signature_pq, signed_at, signed_by)',
  );
  db.close();
  expect(openSource(join(folder, 'db')).unread).toEqual(['column id', 'column status']);
});
