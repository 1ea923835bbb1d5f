import { expect, test } from 'vitest';
import { readEdits } from './index.ts';

test('edits name a tool, and the tool of a server that it is', () => {
  expect([...readEdits(['read_file=files/read', 'list_files=', 'get=web/a/b=c'])]).toEqual([
    ['read_file', { server: 'files', tool: 'read' }],
    ['list_files', null],
    ['get', { server: 'web', tool: 'a/b=c' }],
  ]);
});

test.each([['read_file'], ['=files/read'], ['read_file=files'], ['read_file=/read'], ['a=b/c', 'a=']])(
  '%s is refused',
  (...texts) => {
    expect(() => readEdits(texts)).toThrow(expect.objectContaining({ code: 'MANIFEST_BINDING' }));
  },
);
