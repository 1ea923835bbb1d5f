import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { AREAS } from '../packages/core/src/codes.ts';
import { errorsDocument } from './errors.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const codes = Object.values(AREAS).flatMap((rows) => Object.keys(rows));

test('docs/errors.md is what `npm run errors` writes', () => {
  expect(readFileSync(join(root, 'docs/errors.md'), 'utf8')).toBe(errorsDocument());
});

test('every code has one row, and every row is raised somewhere', () => {
  expect(codes.filter((code, i) => codes.indexOf(code) !== i)).toEqual([]);
  const raised = new Set<string>();
  for (const name of ['core', 'bulla']) {
    const folder = join(root, 'packages', name, 'src');
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file === 'codes.ts') continue;
      for (const [, word] of readFileSync(join(folder, file), 'utf8').matchAll(/'(\w+)'/g)) raised.add(word!);
    }
  }
  expect(codes.filter((code) => !raised.has(code))).toEqual([]);
});
