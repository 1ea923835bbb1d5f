import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises';
import { toUtf8, verify } from '@bulla/core/crypto';
import { expect, onTestFinished, test } from 'vitest';
import { program } from '../../test/processes.ts';
import { temporaryFolder } from '../../test/run.ts';
import { epochNamed, initKeyring, loadKeyring, openKeyring, rotateKeys } from './index.ts';

const real = { now: () => new Date(), randomBytes };

/** Another process that rotates the keys of a keyring so many times. */
function rotator(dir: string, times: number): { child: ChildProcess; done: Promise<void> } {
  const args = [program('rotate-worker.ts'), dir, `${times}`, '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr!.on('data', (chunk) => {
    stderr += chunk;
  });
  const done = once(child, 'exit').then(([status, signal]) => {
    if (status !== 0 && signal !== 'SIGKILL') throw new Error(stderr);
  });
  return { child, done };
}

test('while another process rotates 30 times, every signature verifies with the epoch that it names', async () => {
  const dir = temporaryFolder();
  await initKeyring(dir, real);
  const open = openKeyring(dir, real);
  const { done } = rotator(dir, 30);
  let running = true;
  const ended = done.finally(() => {
    running = false;
  });
  const made: { message: Uint8Array; signature: Uint8Array; label: string; keyId: string; epoch: number }[] =
    [];
  for (let i = 0; running; i++) {
    const { signer, label, keyId, epoch } = open.sealer();
    const message = toUtf8(`capsule ${i}`);
    made.push({ message, signature: await signer.sign(message), label, keyId, epoch });
    if (i % 20 === 0) await breathe();
  }
  await ended;
  expect(open.sealer().epoch).toBe(30);

  const keyring = loadKeyring(dir);
  for (const { message, signature, label, keyId, epoch } of made) {
    const named = epochNamed(keyring.epochs, label);
    expect(named).toMatchObject({ epoch, keyId });
    if (!verify(named.publicKey, message, signature)) expect.fail(`epoch ${epoch} did not make it`);
  }
  const epochs = made.map(({ epoch }) => epoch);
  expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
  expect(new Set(epochs).size).toBeGreaterThan(10);
});

test('four processes rotate at once: no epoch is lost, and one is active', async () => {
  const dir = temporaryFolder();
  await initKeyring(dir, { ...real, pq: true });
  await Promise.all([0, 1, 2, 3].map(() => rotator(dir, 12).done));
  const { epochs, active } = loadKeyring(dir);
  expect(epochs.map(({ epoch }) => epoch)).toEqual(Array.from({ length: 49 }, (_, i) => i));
  expect(epochs.filter(({ status }) => status === 'active')).toEqual([active]);
  expect(active.epoch).toBe(48);
  expect(openKeyring(dir, real).sealer().epoch).toBe(48);
  expect(readdirSync(dir).sort()).toEqual(['key', 'key.ml', 'keyring.json']);
});

test('a process that rotates is killed again and again: the next one finds a whole keyring and goes on', async () => {
  const dir = temporaryFolder();
  await initKeyring(dir, { ...real, pq: true });
  let last = 0;
  for (let round = 0; round < 12; round++) {
    const { child, done } = rotator(dir, 10_000);
    const reached = last + 2;
    while (loadKeyring(dir).active.epoch < reached && child.exitCode === null) await sleep(2);
    await sleep(Math.random() * 15);
    child.kill('SIGKILL');
    await done;
    const { epoch, publicKey, signer } = openKeyring(dir, real).sealer();
    expect(epoch).toBeGreaterThanOrEqual(reached);
    expect(verify(publicKey, toUtf8('x'), await signer.sign(toUtf8('x')))).toBe(true);
    expect((await rotateKeys(dir, { ...real, lock: { waitMs: 0 } })).active.epoch).toBe(epoch + 1);
    expect(readdirSync(dir).sort()).toEqual(['key', 'key.ml', 'keyring.json']);
    last = epoch + 1;
  }
  expect(loadKeyring(dir).epochs.map(({ epoch }) => epoch)).toEqual(
    Array.from({ length: last + 1 }, (_, i) => i),
  );
});
