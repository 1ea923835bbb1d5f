import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { realDisk } from './disk.ts';
import { type LockOwner, thisProcess, tryLock, withLock } from './lock-file.ts';

const nonce = '00000000-0000-4000-8000-000000000000';
const dead: LockOwner = { pid: spawnSync('true').pid, start: null, host: thisProcess().host };

function place(): { path: string; names: () => string[] } {
  const folder = temporaryFolder();
  return { path: join(folder, 'lock'), names: () => readdirSync(folder) };
}

test('one holder at a time; the file tells who', async () => {
  const { path, names } = place();
  const order: string[] = [];
  const first = withLock(path, {}, async () => {
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ ...thisProcess(), nonce: expect.any(String) });
    expect(tryLock(path)).toMatchObject({ pid: process.pid });
    await new Promise((resolve) => setTimeout(resolve, 60));
    order.push('first');
  });
  await withLock(path, {}, () => order.push('second'));
  await first;
  expect(order).toEqual(['first', 'second']);
  expect(names()).toEqual([]);
});

test('waits in vain for a process that lives', async () => {
  const { path } = place();
  await withLock(path, {}, async () => {
    await expect(withLock(path, { waitMs: 30 }, () => 0)).rejects.toMatchObject({
      code: 'KEYRING_LOCKED',
      message: expect.stringContaining(`Process ${process.pid} `),
    });
  });
});

test('an error of the action passes through, and the lock is free again', async () => {
  const { path, names } = place();
  await expect(withLock(path, {}, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect(names()).toEqual([]);
});

test('the lock of a dead process is taken over', async () => {
  const { path, names } = place();
  writeFileSync(path, JSON.stringify({ ...dead, nonce }));
  expect(await withLock(path, { waitMs: 0 }, () => 'done')).toBe('done');
  expect(names()).toEqual([]);
});

test('so is one of a process that was killed, and one whose number another process has now', async () => {
  const { path } = place();
  const child = spawn('sleep', ['60']);
  onTestFinished(() => void child.kill('SIGKILL'));
  writeFileSync(path, JSON.stringify({ pid: child.pid, start: null, host: thisProcess().host, nonce }));
  expect(tryLock(path)).toMatchObject({ pid: child.pid });
  if (process.platform === 'linux') {
    writeFileSync(
      path,
      JSON.stringify({ pid: child.pid, start: 'another boot:1', host: thisProcess().host, nonce }),
    );
    const release = tryLock(path);
    expect(release).toBeTypeOf('function');
    (release as () => void)();
    writeFileSync(path, JSON.stringify({ pid: child.pid, start: null, host: thisProcess().host, nonce }));
  }
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(tryLock(path)).toBeTypeOf('function');
});

test('a process of another machine is never held for dead', () => {
  const { path } = place();
  writeFileSync(path, JSON.stringify({ ...dead, host: 'elsewhere', nonce }));
  expect(tryLock(path)).toMatchObject({ host: 'elsewhere' });
});

test('a dead lock is removed only by who holds the lock named after it', () => {
  const { path, names } = place();
  writeFileSync(path, JSON.stringify({ ...dead, nonce }));
  const claim = tryLock(`${path}.${nonce}`) as () => void;
  expect(tryLock(path)).toMatchObject({ pid: process.pid }); // another is at it, so this one waits
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: dead.pid });
  claim();
  (tryLock(path) as () => void)();
  expect(names()).toEqual([]);
});

test('a take-over that died half way is taken over too', () => {
  const { path, names } = place();
  writeFileSync(path, JSON.stringify({ ...dead, nonce }));
  const second = nonce.replace('8', '9');
  writeFileSync(`${path}.${nonce}`, JSON.stringify({ ...dead, nonce: second }));
  (tryLock(path) as () => void)();
  expect(names()).toEqual([]);
});

test('a slow take-over leaves the lock of a faster one alone', () => {
  const { path } = place();
  writeFileSync(path, JSON.stringify({ ...dead, nonce }));
  let raced = false;
  let faster: unknown;
  // Between looking and claiming, another process takes the dead lock over.
  const disk = {
    ...realDisk,
    create(file: string, mode: number) {
      if (!raced && file.startsWith(`${path}.${nonce}`)) {
        raced = true;
        faster = tryLock(path);
      }
      return realDisk.create(file, mode);
    },
  };
  expect(tryLock(path, { disk })).toMatchObject({ pid: process.pid });
  expect(faster).toBeTypeOf('function');
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid });
});

test('a link that failed and yet was made is the lock', () => {
  const { path, names } = place();
  const link = (from: string, to: string) => {
    realDisk.link(from, to);
    throw Object.assign(new Error('lost answer'), { code: 'EIO' });
  };
  const release = tryLock(path, { disk: { ...realDisk, link } }) as () => void;
  expect(names()).toEqual(['lock']);
  release();
  expect(names()).toEqual([]);
});

test.each(['', '{}', 'not JSON', JSON.stringify({ ...dead, nonce: '../../escape' })])(
  'a file that is no lock is refused: %j',
  (text) => {
    const { path } = place();
    writeFileSync(path, text);
    expect(() => tryLock(path)).toThrow(expect.objectContaining({ code: 'KEYRING_LOCK_MALFORMED' }));
    expect(readFileSync(path, 'utf8')).toBe(text);
  },
);
