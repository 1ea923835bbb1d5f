import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/run.ts';
import { readConfig } from '../../app/index.ts';
import { refuseUnapplied } from './unapplied.ts';

const applied = (tools: object) => {
  const file = join(temporaryFolder(), 'bulla.json');
  writeFileSync(file, JSON.stringify({ servers: { a: { lock: 'a.json', command: 'x', tools } } }));
  return () => refuseUnapplied(readConfig(file));
};

test('when the outcome of a tool is recorded is applied; what else is said of it is refused with its place', () => {
  expect(applied({ read: { outcome: 'lazy' }, write: { outcome: 'durable' } })).not.toThrow();
  expect(applied({ read: { outcome: 'lazy', record: { result: true } } })).toThrow(
    expect.objectContaining({ code: 'CONFIG_UNSOUND', path: '/servers/a/tools/read/record' }),
  );
  expect(applied({ write: { irreversible: false } })).toThrow(
    expect.objectContaining({ code: 'CONFIG_UNSOUND', path: '/servers/a/tools/write/irreversible' }),
  );
});
