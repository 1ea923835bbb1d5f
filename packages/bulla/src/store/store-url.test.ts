import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { openStore } from './index.ts';
import { parseStoreUrl } from './store-url.ts';

test.each([
  ['store.db', 'store.db'],
  ['./a:b.db', './a:b.db'],
  ['./user=a.db ', './user=a.db '],
  ['my store.db', 'my store.db'],
  ['/var/lib/bulla/x:y', '/var/lib/bulla/x:y'],
  ['C:\\data\\store.db', 'C:\\data\\store.db'],
])('%s is a file', (text, file) => expect(parseStoreUrl(text)).toEqual({ kind: 'sqlite', file }));

test.each([
  ['postgres://u:pw@h:5433/db', 'h:5433/db'],
  ['postgresql://h/db', 'h/db'],
  ['postgres:///db?host=/run/pg', '/run/pg/db'],
  ['postgres://u@/db?host=/run/pg', '/run/pg/db'],
])('%s is a database', (url, database) =>
  expect(parseStoreUrl(url)).toEqual({ kind: 'postgres', url, database }),
);

test.each([
  'mysql://u:hunter2@x/y',
  'postgress://u:hunter2@h/db',
  'postgres:/u:hunter2@h/db',
  'postgres:u:hunter2@h',
  'postgres://u:hunter2/x@h/db',
  'u:hunter2@h/db',
  'user:hunter2@h/db',
  'sqlite:///x?password=hunter2',
  'http://h/hunter2',
  ' postgres://u:hunter2@h/db',
  '"postgres://u:hunter2@h/db"',
  'host=h user=u password=hunter2',
  'password = hunter2',
  '',
])('%s is refused, makes no folder, and is not shown', async (url) => {
  const before = readdirSync('.');
  const error = await openStore({ url, create: true }).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'STORE_URL' });
  expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain('hunter2');
  expect(readdirSync('.')).toEqual(before);
});

test('a file name that looks like an address is not quoted with its password', async () => {
  const file = join(temporaryFolder(), 'x', '..', '/u:hunter2@h');
  const error = await openStore({ url: `/${file}`.replace('/u:', '//u:') }).catch((thrown) => thrown);
  expect(error.code).toBe('STORE_MISSING');
  expect(error.message).toMatch(/\/\/\*\*\*@h\. /);
});
