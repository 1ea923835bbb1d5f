import { createPrivateKey } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseVkey } from '@bulla/core/crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { testLog } from '../../test/witness-log.ts';
import { cosignedSize } from '../../test/witness-server.ts';
import { type OpenedWitness, openWitness, readLogs } from './index.ts';
import { openKeys } from './keys.ts';

const NAME = 'witness.example/w1';
const log = testLog();

function open(state: string, more: { name?: string; mlDsa?: boolean } = {}): OpenedWitness {
  const witness = openWitness({
    ...{ name: NAME, state, ...more },
    logs: () => readLogs([log.vkey]),
    now: () => new Date(),
  });
  onTestFinished(() => witness.close());
  return witness;
}
const code = (expected: string) => expect.objectContaining({ code: expected });

describe('a witness', () => {
  test('makes its keys and its state at the first start, for its owner alone, and keeps them', async () => {
    const folder = join(temporaryFolder(), 'witness');
    const state = join(folder, 'state.db');
    const first = open(state);
    expect(first.vkeys).toHaveLength(1);
    expect(parseVkey(first.vkeys[0]!)).toMatchObject({ name: NAME, type: 0x04 });
    expect((await first.addCheckpoint(await log.request(0, 3))).status).toBe(200);
    await first.close();
    expect(readdirSync(folder).sort()).toEqual([
      'state.db',
      'state.db-journal',
      'witness.key',
      'witness.mark',
    ]);
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
    expect(createPrivateKey(readFileSync(join(folder, 'witness.key'))).asymmetricKeyType).toBe('ed25519');

    const second = open(state, { mlDsa: true });
    expect(second.vkeys[0]).toBe(first.vkeys[0]);
    expect(parseVkey(second.vkeys[1]!)).toMatchObject({ name: NAME, type: 0x06 });
    expect(statSync(join(folder, 'witness-ml-dsa.key')).mode & 0o777).toBe(0o600);
    expect(cosignedSize(second, log.origin)).toBe(3);
    expect(open(state, { mlDsa: true }).vkeys).toEqual(second.vkeys);
  });

  test('refuses a key that others can read, and a file that is no such key', async () => {
    const folder = temporaryFolder();
    const key = join(folder, 'witness.key');
    await open(join(folder, 'state.db')).close();
    chmodSync(key, 0o640);
    expect(() => open(join(folder, 'state.db'))).toThrow(
      expect.objectContaining({ code: 'KEY_EXPOSED', message: expect.stringContaining('mode 640') }),
    );
    chmodSync(key, 0o600);
    writeFileSync(key, 'not a key');
    expect(() => open(join(folder, 'state.db'))).toThrow(code('WITNESS_KEY'));
    const other = temporaryFolder();
    await open(join(other, 'state.db'), { mlDsa: true }).close();
    const mlDsaFile = join(other, 'witness-ml-dsa.key');
    expect(() => openKeys({ name: NAME, file: mlDsaFile })).toThrow(code('WITNESS_KEY'));
  });

  test('has a name that a signature line can hold, and keeps it', async () => {
    const state = join(temporaryFolder(), 'state.db');
    const names = ['', 'https://witness.example', 'a b', 'a+b', 'a\nb', 'a\u00a0b', 'é'.repeat(128)];
    for (const name of names) expect(() => open(state, { name }), name).toThrow(code('WITNESS_OPTION'));
    expect(existsSync(state)).toBe(false);
    await open(state).close();
    expect(() => open(state, { name: 'witness.example/w2' })).toThrow(code('WITNESS_STATE_OTHER'));
  });
});

describe('the logs that a witness knows', () => {
  test('are keys, or files of keys, several of them for one origin', () => {
    const [a, a2, b] = [testLog(), testLog({ seed: 2 }), testLog({ origin: 'log.example/b' })];
    const file = join(temporaryFolder(), 'logs.txt');
    writeFileSync(file, `# our logs\n\n${a.vkey}\n  ${a2.vkey}\n${a.vkey}\n`);
    const logs = readLogs([file, b.vkey]);
    expect([...logs].map(([origin, keys]) => [origin, keys.length])).toEqual([
      ['log.example/a', 2],
      ['log.example/b', 1],
    ]);
  });

  test.for([
    ['a file that is not there', '/nowhere/logs.txt', 'cannot be read as a file'],
    ['a key whose id is wrong', testLog().vkey.replace(/\+.{8}\+/, '+00000000+'), 'the verifier key: The id'],
    ['an origin of 256 bytes', testLog({ origin: 'x'.repeat(256) }).vkey, 'at most 255 bytes'],
  ])('%s is refused', ([, source, message]) => {
    expect(() => readLogs([source!])).toThrow(
      expect.objectContaining({ code: 'WITNESS_LOGS', message: expect.stringContaining(message!) }),
    );
  });

  test('a line that is no key of a log is refused with its number', () => {
    const folder = temporaryFolder();
    const witnessKey = open(join(folder, 'state.db')).vkeys[0]!;
    const file = join(folder, 'logs.txt');
    writeFileSync(file, `\n${witnessKey}\n`);
    expect(() => readLogs([file])).toThrow(`${file}, line 2: This is the key of a witness, not of a log.`);
    writeFileSync(file, 'nonsense\n');
    expect(() => readLogs([file])).toThrow(`${file}, line 1: A verifier key is name+hex8+base64.`);
  });
});
