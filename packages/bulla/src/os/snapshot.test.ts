import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { snapshot } from './snapshot.ts';

test('a snapshot stays what was read, for us alone, and is gone when it is removed', () => {
  const file = join(temporaryFolder(), 'chain.jsonl');
  writeFileSync(file, 'verified');
  chmodSync(file, 0o444);
  writeFileSync(`${file}-wal`, 'log');
  const { path, wal, remove } = snapshot(file);
  chmodSync(file, 0o644);
  writeFileSync(file, 'swapped');
  expect([readFileSync(path, 'utf8'), wal, readFileSync(`${path}-wal`, 'utf8')]).toEqual([
    'verified',
    true,
    'log',
  ]);
  expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700]);
  remove();
  expect(existsSync(dirname(path))).toBe(false);
});

test('what is not there or is no file is refused', () => {
  const folder = temporaryFolder();
  expect(() => snapshot(join(folder, 'x'))).toThrow(
    expect.objectContaining({ code: 'CHAIN_SOURCE_MISSING' }),
  );
  expect(() => snapshot(folder)).toThrow(expect.objectContaining({ code: 'INPUT_UNREADABLE' }));
});
