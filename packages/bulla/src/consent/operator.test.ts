import { existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { LIMITS } from '../os/index.ts';
import { installationId, readOperator } from './index.ts';

test('an installation has one id, drawn once, for its owner alone', () => {
  const home = join(temporaryFolder(), 'home');
  const id = installationId(home);
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect([installationId(home), readdirSync(home)]).toEqual([id, ['installation']]);
  expect(statSync(join(home, 'installation')).mode & 0o777).toBe(0o600);
  writeFileSync(join(home, 'installation'), 'laptop\n');
  expect(() => installationId(home)).toThrow(expect.objectContaining({ code: 'CONSENT_STATE' }));
});

test('what the operator decides is read exactly, or refused', () => {
  const home = temporaryFolder();
  const write = (text: string) => writeFileSync(join(home, 'consent.json'), text);
  expect(readOperator(home)).toEqual({ rules: {}, people: new Map() });
  expect(existsSync(join(home, 'consent.json'))).toBe(false);
  write('{"highChannels":"out-of-band","mediumPromptMs":null,"people":{"os:a/1000":"ada"}}');
  expect(readOperator(home)).toEqual({
    rules: { highChannels: 'out-of-band', mediumPromptMs: null },
    people: new Map([['os:a/1000', 'ada']]),
  });
  for (const [text, path] of [
    ['[]', ''],
    ['{"high_channels":"any"}', '/high_channels'],
    ['{"highChannels":"all"}', '/highChannels'],
    ['{"startWithinMs":0}', '/startWithinMs'],
    ['{"maxOpenPrompts":"16"}', '/maxOpenPrompts'],
    ['{"approvers":["ada",1]}', '/approvers/1'],
    ['{"people":["ada"]}', '/people'],
  ] as const) {
    write(text);
    expect(() => readOperator(home)).toThrow(expect.objectContaining({ code: 'CONSENT_OPERATOR', path }));
  }
  write('{"highChannels":"any","highChannels":"authenticated"}');
  expect(() => readOperator(home)).toThrow(expect.objectContaining({ code: 'JSON_DUPLICATE_KEY' }));
  truncateSync(join(home, 'consent.json'), LIMITS.document + 1);
  expect(() => readOperator(home)).toThrow(expect.objectContaining({ code: 'INPUT_TOO_LARGE' }));
});
