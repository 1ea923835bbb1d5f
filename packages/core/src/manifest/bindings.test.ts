import { expect, test } from 'vitest';
import { sha256Hex } from '../crypto/index.ts';
import { createBindings, readBindings } from './index.ts';

const DECLARED = ['read_file', 'list_files'];

test('bindings are canonical, whatever their order, and have a digest', () => {
  const text = `{"read_file": {"tool": "read", "server": "files"}, "list_files": {"server": "files", "tool": "ls"}}`;
  const canonical =
    '{"list_files":{"server":"files","tool":"ls"},"read_file":{"server":"files","tool":"read"}}';
  const bindings = readBindings(text, DECLARED);
  expect([bindings.canonical, bindings.digest]).toEqual([canonical, sha256Hex(canonical)]);
  expect(createBindings(bindings.tools, DECLARED).digest).toBe(bindings.digest);
  expect(createBindings([], DECLARED)).toMatchObject({ canonical: '{}', digest: sha256Hex('{}') });
});

test.each([
  ['[]', 'MANIFEST_BINDING', ''],
  ['{"read_file":"files/read"}', 'MANIFEST_BINDING', '/read_file'],
  ['{"read_file":{"server":"files"}}', 'MANIFEST_BINDING', '/read_file/tool'],
  ['{"read_file":{"server":"","tool":"read"}}', 'MANIFEST_BINDING', '/read_file/server'],
  ['{"read_file":{"server":"a\\u0000b","tool":"read"}}', 'MANIFEST_BINDING', '/read_file/server'],
  [`{"read_file":{"server":"files","tool":"${'x'.repeat(4097)}"}}`, 'MANIFEST_BINDING', '/read_file/tool'],
  ['{"read_file":{"server":"files","tool":"read","more":1}}', 'MANIFEST_BINDING', '/read_file/more'],
  ['{"write_file":{"server":"files","tool":"write"}}', 'MANIFEST_BINDING_UNKNOWN', '/write_file'],
  [
    '{"read_file":{"server":"files","tool":"read"},"list_files":{"server":"files","tool":"read"}}',
    'MANIFEST_BINDING_TWICE',
    '/list_files',
  ],
])('%s is refused', (text, code, path) => {
  expect(() => readBindings(text, DECLARED)).toThrow(expect.objectContaining({ code, path }));
});

test('what is no JSON is not repaired', () => {
  expect(() => readBindings('{"a":1,"a":2}', DECLARED)).toThrow(
    expect.objectContaining({ code: 'JSON_DUPLICATE_KEY' }),
  );
});
