import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
