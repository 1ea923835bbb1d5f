import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** The packages that a process has loaded after each of some steps. */
const PROGRAM = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, next) {
    const [, name] = /\\/node_modules\\/(@secretlint\\/[^/]+)/.exec(url) ?? [];
    if (name !== undefined) loaded.add(name);
    return next(url, context);
  },
});
const { findSecrets } = await import(${JSON.stringify(new URL('index.ts', import.meta.url).href)});
const before = [...loaded];
const marks = async () => {
  const found = await findSecrets('ghp_' + 'Ab3'.repeat(12));
  return [found, performance.getEntries().length];
};
console.log(JSON.stringify({ before, found: await marks(), after: [...loaded].sort() }));
`;

test('secretlint is loaded with the first search, and keeps no marks of it', () => {
  const flags = ['--conditions=bulla-source', '--input-type=module', '--eval', PROGRAM];
  expect(JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }))).toEqual({
    before: [],
    found: [[{ pointer: '', kind: 'github' }], 0],
    after: ['@secretlint/core', '@secretlint/profiler', '@secretlint/secretlint-rule-preset-recommend'],
  });
});
