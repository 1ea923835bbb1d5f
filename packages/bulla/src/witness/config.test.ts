import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatVkey, localSigner, noteVerifier, publicKey } from '@bulla/core/crypto';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { testLog } from '../../test/witness-log.ts';
import { LIMITS } from '../os/index.ts';
import { addWitness, loadPolicy } from './index.ts';

/** The verifier key of a witness, from a test key. */
function vkey(seed: number, type = 0x04): string {
  const name = type === 0x06 ? 'ML-DSA-44' : 'Ed25519';
  const signer = localSigner(name, new Uint8Array(32).fill(seed));
  return formatVkey(noteVerifier(`w.example/${seed}`, publicKey(name, signer.publicKey), type));
}
const url = (i: number) => `https://w.example/${i}`;
const place = () => join(temporaryFolder(), 'deep', 'witnesses.policy');
const code = (expected: string) => expect.objectContaining({ code: expected });

describe('the policy file', () => {
  test('grows by one witness after the other; more than half are enough unless it is said', () => {
    const file = place();
    expect(loadPolicy(file)).toBe(null);
    for (const i of [1, 2, 3]) addWitness(file, { name: `w${i}`, vkey: vkey(i), url: url(i) });
    expect(readFileSync(file, 'utf8')).toBe(
      [
        `witness w1 ${vkey(1)} https://w.example/1`,
        `witness w2 ${vkey(2)} https://w.example/2`,
        `witness w3 ${vkey(3)} https://w.example/3`,
        'group witnesses 2 w1 w2 w3',
        'quorum witnesses',
        '',
      ].join('\n'),
    );
    expect(existsSync(`${file}.new`)).toBe(false);
    const policy = addWitness(file, { name: 'w4', vkey: vkey(4, 0x06), url: url(4), quorum: 'all' });
    expect(policy.groups).toEqual([{ name: 'witnesses', threshold: 4, members: ['w1', 'w2', 'w3', 'w4'] }]);
    expect(loadPolicy(file)).toEqual(policy);
  });

  test.for([
    [1, undefined, 1],
    [2, undefined, 2],
    [3, undefined, 2],
    [4, undefined, 3],
    [3, 'any', 1],
    [3, 'all', 3],
    [3, 2, 2],
  ] as const)('of %d witnesses with quorum %s, %d are enough', ([count, quorum, enough]) => {
    const file = place();
    for (let i = 1; i <= count; i++) {
      const last = i === count ? { quorum } : {};
      addWitness(file, { name: `w${i}`, vkey: vkey(i), url: url(i), ...last });
    }
    expect(loadPolicy(file)!.groups[0]!.threshold).toBe(enough);
  });

  test('logs that it names are kept', () => {
    const file = place();
    addWitness(file, { name: 'w1', vkey: vkey(1), url: url(1) });
    writeFileSync(file, `log ${testLog().vkey}\n${readFileSync(file, 'utf8')}`);
    addWitness(file, { name: 'w2', vkey: vkey(2), url: url(2) });
    expect(readFileSync(file, 'utf8').split('\n')[0]).toBe(`log ${testLog().vkey}`);
  });

  test.for([
    ['a comment', (text: string) => `# mine\n${text}`],
    ['an empty line', (text: string) => `\n${text}`],
    ['other spacing', (text: string) => text.replace(' ', '  ')],
    ['another group', (text: string) => text.replace('quorum witnesses', 'group g any witnesses\nquorum g')],
    ['no group', (text: string) => text.replace(/group.*\nquorum witnesses/, 'quorum w1')],
    ['a witness outside the group', (text: string) => `witness x ${vkey(9)}\n${text}`],
    ['no quorum', (text: string) => text.replace('quorum witnesses', 'quorum none')],
  ] as const)('one with %s is left to who wrote it', ([, change]) => {
    const file = place();
    addWitness(file, { name: 'w1', vkey: vkey(1), url: url(1) });
    const text = change(readFileSync(file, 'utf8'));
    writeFileSync(file, text);
    expect(() => addWitness(file, { name: 'w2', vkey: vkey(2), url: url(2) })).toThrow(
      code('WITNESS_POLICY_BY_HAND'),
    );
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(existsSync(`${file}.new`)).toBe(false);
  });

  test.for([
    ['WITNESS_OPTION', { vkey: 'nonsense' }],
    ['WITNESS_OPTION', { vkey: testLog().vkey }],
    ['WITNESS_OPTION', { url: 'witness.example' }],
    ['WITNESS_OPTION', { url: 'ftp://witness.example' }],
    ['WITNESS_OPTION', { url: 'https://user:secret@witness.example' }],
    ['WITNESS_OPTION', { url: 'https://witness.example?x' }],
    ['WITNESS_QUORUM', { quorum: 3 }],
    ['WITNESS_QUORUM', { quorum: 0 }],
    ['WITNESS_QUORUM', { quorum: 1.5 }],
    ['LOG_POLICY', { name: 'w1' }],
    ['LOG_POLICY', { name: 'none' }],
    ['LOG_POLICY', { name: 'two words' }],
    ['LOG_POLICY', { name: 'witnesses' }],
    ['LOG_POLICY', { vkey: vkey(1) }],
  ] as const)('%s for %j, and nothing is changed', ([expected, wrong]) => {
    const file = place();
    addWitness(file, { name: 'w1', vkey: vkey(1), url: url(1) });
    const before = readFileSync(file, 'utf8');
    expect(() => addWitness(file, { name: 'w2', vkey: vkey(2), url: url(2), ...wrong })).toThrow(
      code(expected),
    );
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(existsSync(`${file}.new`)).toBe(false);
  });

  test('one that cannot be read is named', () => {
    const file = place();
    addWitness(file, { name: 'w1', vkey: vkey(1), url: url(1) });
    writeFileSync(file, 'nonsense\n');
    expect(() => loadPolicy(file)).toThrow(`${file}: Line 1: `);
    expect(() => loadPolicy(temporaryFolder())).toThrow(code('INPUT_UNREADABLE'));
    truncateSync(file, LIMITS.policy + 1);
    expect(() => loadPolicy(file)).toThrow(code('INPUT_TOO_LARGE'));
  });

  test('two processes do not change it at once', () => {
    const file = place();
    addWitness(file, { name: 'w1', vkey: vkey(1), url: url(1) });
    writeFileSync(`${file}.new`, '');
    expect(() => addWitness(file, { name: 'w2', vkey: vkey(2), url: url(2) })).toThrow(
      code('WITNESS_POLICY_BUSY'),
    );
    expect(existsSync(`${file}.new`)).toBe(true);
  });
});
