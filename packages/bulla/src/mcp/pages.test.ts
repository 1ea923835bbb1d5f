import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import { refusal } from '../../test/mcp.ts';
import { parseFrame, type ResultFrame } from './frame.ts';
import { type Page, type PageLimits, pageOf, type RefuseList, readPages } from './pages.ts';

const refuse: RefuseList = (code, reason) => new BullaError(code, reason);
const read = (result: string): Page =>
  pageOf('tools', parseFrame(toUtf8(`{"jsonrpc":"2.0","id":1,"result":${result}}`)) as ResultFrame, refuse);

/** Reads a list whose pages all have two items and 10 bytes, up to the page of this number. */
async function all(last: number, limits: PageLimits, next = (n: number) => `${n}`): Promise<string[]> {
  const asked: string[] = [];
  const ask = async (cursor: string | null): Promise<Page> => {
    asked.push(cursor ?? '-');
    return { items: ['a', 'b'], size: 10, nextCursor: asked.length === last ? null : next(asked.length) };
  };
  for await (const page of readPages(ask, limits, refuse)) expect(page.items).toEqual(['a', 'b']);
  return asked;
}

test('a list is read to its end, from cursor to cursor', async () => {
  expect(await all(1, {})).toEqual(['-']);
  expect(await all(3, { maxPages: 3, maxItems: 6, maxBytes: 30 })).toEqual(['-', '1', '2']);
});

test.each([
  [{ maxPages: 2 }, 'it has more than 2 pages'],
  [{ maxItems: 5 }, 'it has more than 5 items'],
  [{ maxBytes: 29 }, 'it has more than 29 bytes'],
])('a list beyond %j is refused, also where the last page is the one too many', async (limits, message) => {
  expect(await refusal(all(3, limits))).toMatchObject({ code: 'MCP_LIST_TOO_LONG', message });
});

test('a cursor that leads back is refused', async () => {
  const back = all(9, {}, (n) => `${n % 3}`);
  expect(await refusal(back)).toMatchObject({ message: 'the same page was offered twice' });
});

test('a page has a list and a cursor, and no other member could be taken for one of them', () => {
  expect(read('{"tools":[null],"nextCursor":"a"}')).toEqual({ items: [null], nextCursor: 'a', size: 67 });
  expect(read('{"tools":[],"nextCursor":null,"more":1}').nextCursor).toBeNull();
  const codeOf = (result: string) => {
    try {
      return read(result);
    } catch (error) {
      return (error as BullaError).code;
    }
  };
  expect(
    ['{}', '{"tools":{}}', '{"tools":[],"nextCursor":1}', '{"tools":[],"nextcursor":"a"}'].map(codeOf),
  ).toEqual(['MCP_LIST_SHAPE', 'MCP_LIST_SHAPE', 'MCP_LIST_SHAPE', 'MCP_LIST_SHAPE']);
});
