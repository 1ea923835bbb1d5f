import { join } from 'node:path';
import {
  formatVkey,
  keyId,
  localSigner,
  noteVerifier,
  parseNote,
  publicKey,
  signNote,
} from '@bulla/core/crypto';
import { addSignatures, parsePolicy, readAnchor } from '@bulla/core/log';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, key, sealer } from '../../test/store-suite.ts';
import { openStore } from '../store/index.ts';
import { storeSource, type VerifyChainOptions, verifyChain } from './index.ts';

// Test keys.
const witnesses = [11, 12].map((seed) => localSigner('Ed25519', new Uint8Array(32).fill(seed)));
const policy = parsePolicy(
  Buffer.from(
    `${witnesses
      .map(
        (signer, i) =>
          `witness w${i} ${formatVkey(noteVerifier(`w.example/${i}`, publicKey('Ed25519', signer.publicKey), 4))}\n`,
      )
      .join('')}group both all w0 w1\nquorum both\n`,
  ),
);

async function cosigned(note: string, ...times: number[]): Promise<string> {
  const { text } = parseNote(note);
  let all = note;
  for (const [i, time] of times.entries()) {
    const signed = await signNote(text, [{ name: `w.example/${i}`, signer: witnesses[i]!, type: 4, time }]);
    all = addSignatures(all, signed.slice(text.length + 1));
  }
  return all;
}

/** A chain of 100 records with checkpoints over 40, which both witnesses saw at the given times, and over 70. */
async function chainWith(...times: number[]) {
  const store = await openStore({ url: join(temporaryFolder(), 's.db'), create: true, sealer });
  const chain = store.chain('c');
  const notes: string[] = [];
  for (const count of [40, 30, 30]) {
    await Promise.all(Array.from({ length: count }, (_, i) => chain.append(input(`n${i}`))));
    notes.push((await chain.checkpoint()).note);
  }
  const anchors = [await cosigned(notes[0]!, ...times), notes[1]!].map((note) =>
    readAnchor(note, { keys: [key], policy }),
  );
  return async (options: Partial<VerifyChainOptions> = {}) => {
    const all = { keys: [key], anchors: { anchors }, threads: 0, ...options };
    const { outcome, anchors: found, failures, keys } = await verifyChain(await storeSource(chain), all);
    return { outcome, ranges: found?.ranges, codes: failures.map(({ code, index }) => [code, index]), keys };
  };
}

const T = 1_700_000_000;

describe.each([0, 2])('on %i threads', (threads) => {
  test('it is told which records are anchored, by whom and when, and which are not', async () => {
    const verify = await chainWith(T, T + 5);
    expect(await verify({ threads })).toEqual({
      outcome: 'ok',
      codes: [],
      keys: { [keyId(key)]: 100 },
      ranges: [
        {
          from: 0,
          to: 40,
          kind: 'anchored',
          witnesses: [
            { name: 'w0', time: T },
            { name: 'w1', time: T + 5 },
          ],
        },
        { from: 40, to: 70, kind: 'local', witnesses: [] },
        { from: 70, to: 100, kind: 'unanchored', witnesses: [] },
      ],
    });
  });

  test('by checkpoint, who signed is still judged', async () => {
    const verify = await chainWith(T, T + 5);
    const { outcome, keys } = await verify({ threads, byCheckpoint: true });
    expect([outcome, keys]).toEqual(['ok', { [keyId(key)]: 100 }]);
    const revoked = await verify({ threads, byCheckpoint: true, revoked: [{ key: keyId(key), at: T + 6 }] });
    expect(revoked.codes).toEqual(Array.from({ length: 60 }, (_, i) => ['key_revoked', 40 + i]));
    const facts = [{ key: keyId(key), pqKey: null, notBefore: null, notAfter: '2020-01-01T00:00:00+00:00' }];
    expect((await verify({ threads, byCheckpoint: true, facts })).codes).toEqual(
      Array.from({ length: 100 }, (_, i) => ['key_not_valid', i]),
    );
  });

  test('what a revoked key signed counts where a quorum of witnesses saw it before, and nowhere else', async () => {
    const verify = await chainWith(T, T + 5);
    const revoked = (at: number) => verify({ threads, revoked: [{ key: keyId(key), at }] });
    const from = (first: number) => Array.from({ length: 100 - first }, (_, i) => ['key_revoked', first + i]);
    expect((await revoked(T + 6)).codes).toEqual(from(40));
    // Both must have seen it before.
    expect((await revoked(T + 5)).codes).toEqual(from(0));
    expect((await revoked(T)).codes).toEqual(from(0));
  });
});

test('too few witnesses are none', async () => {
  const verify = await chainWith(T);
  expect((await verify()).ranges).toEqual([
    { from: 0, to: 70, kind: 'local', witnesses: [] },
    { from: 70, to: 100, kind: 'unanchored', witnesses: [] },
  ]);
});

test('a checkpoint by a revoked key counts only if it was witnessed before', async () => {
  const store = await openStore({ url: join(temporaryFolder(), 's.db'), create: true, sealer });
  await store.chain('c').append(input('x'));
  const { note } = await store.chain('c').checkpoint();
  await store.close();
  const witnessed = await cosigned(note, T, T);
  const read = (text: string, at: number) => readAnchor(text, { keys: [key], policy, revokedAt: () => at });
  expect(read(witnessed, T + 1).witnessed).toBe(true);
  const refused = expect.objectContaining({ code: 'LOG_KEY_REVOKED' });
  expect(() => read(witnessed, T)).toThrow(refused);
  expect(() => read(note, T + 1)).toThrow(refused);
  const stranger = publicKey('Ed25519', witnesses[0]!.publicKey);
  expect(() => readAnchor(witnessed, { keys: [stranger], policy })).toThrow(
    expect.objectContaining({ code: 'LOG_UNSIGNED' }),
  );
});

test('anchors and an earlier state do not go together', async () => {
  const verify = await chainWith(T);
  await expect(verify({ from: { count: 1 } as never })).rejects.toMatchObject({
    code: 'USAGE',
  });
});
