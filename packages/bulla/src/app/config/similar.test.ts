import { expect, test } from 'vitest';
import { similar } from './similar.ts';

const known = ['servers', 'store', 'listen', 'lock', 'url', 'env'];

test.each([
  ['server', 'servers'],
  ['sevrers', 'servers'],
  ['Servers', 'servers'],
  ['stroe', 'store'],
  ['lsiten', 'listen'],
  ['lokc', 'lock'],
  ['uri', 'url'],
  ['evn', 'env'],
  ['port', undefined],
  ['x', undefined],
  ['', undefined],
  ['s'.repeat(10_000), undefined],
])('%s may mean %s', (name, meant) => expect(similar(name, known)).toBe(meant));

test('the nearest comes first, whatever the order', () => {
  expect(similar('reads', ['read', 'reeds'])).toBe('read');
  expect(similar('token', ['tokens', 'token'])).toBe('token');
});
