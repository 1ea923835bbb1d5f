import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/run.ts';
import { readConfig } from '../../app/index.ts';
import { refuseUnapplied } from './unapplied.ts';

const applied = (more: object) => {
  const file = join(temporaryFolder(), 'bulla.json');
  writeFileSync(file, JSON.stringify({ servers: { a: { lock: 'a.json', command: 'x' } }, ...more }));
  return () => refuseUnapplied(readConfig(file));
};

test('what is not applied is refused with its place', () => {
  expect(applied({})).not.toThrow();
  expect(applied({ consent: { park: '15m' } })).not.toThrow();
  expect(applied({ witnesses: 'witnesses.policy' })).toThrow(
    expect.objectContaining({ code: 'CONFIG_UNSOUND', path: '/witnesses' }),
  );
});
