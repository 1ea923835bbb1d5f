import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { toUtf8, verify } from '@bulla/core/crypto';
import type { BullaError } from '@bulla/core/error';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { type Disk, realDisk, thisProcess } from '../os/index.ts';
import { epochNamed, initKeyring, loadKeyring, openKeyring, revokeKey, rotateKeys } from './index.ts';

const message = toUtf8('f'.repeat(64));
const real = { now: () => new Date(), randomBytes };
/** The locks of a process that crashed are those of one that is dead. */
const deadOwner = { pid: spawnSync('true').pid, start: null, host: thisProcess().host };

/** How a step of the disk fails: before it is made, after it, or, for a write, half way. */
type When = 'before' | 'after' | 'half';
/** A crash makes no further step; an error lets the program go on. */
type Kind = 'crash' | 'error';

const failure = () => Object.assign(new Error('injected'), { code: 'EIO' });

/** A disk that fails at one step, and tells the steps that were begun. Nothing is really synced: that takes time. */
function faulty(failAt: number, when: When, kind: Kind): { disk: Disk; steps: string[] } {
  const steps: string[] = [];
  let crashed = false;
  const wrap = <Args extends unknown[], Result>(name: string, call: (...args: Args) => Result) =>
    ((...args: Args): Result => {
      if (crashed) throw failure();
      const fails = steps.length === failAt;
      const place = typeof args[0] === 'string' ? ` ${basename(args[0]).replace(/[0-9a-f-]{36}/, '*')}` : '';
      steps.push(`${name}${place}`);
      if (!fails) return call(...args);
      crashed = kind === 'crash';
      if (when === 'after') call(...args);
      if (when === 'half' && name === 'write') {
        const [file, bytes] = args as unknown as [number, Uint8Array];
        realDisk.write(file, bytes.subarray(0, bytes.length >> 1));
      }
      throw failure();
    }) as (...args: Args) => Result;
  const disk: Disk = {
    create: wrap('create', realDisk.create),
    open: wrap('open', realDisk.open),
    write: wrap('write', realDisk.write),
    sync: wrap('sync', () => undefined),
    close: wrap('close', realDisk.close),
    rename: wrap('rename', realDisk.rename),
    link: wrap('link', realDisk.link),
    remove: wrap('remove', realDisk.remove),
    syncDirectory: wrap('sync directory', () => undefined),
  };
  return { disk, steps };
}

const unsynced = faulty(-1, 'before', 'error').disk;
const owner = (kind: Kind) => (kind === 'crash' ? { lock: { owner: deadOwner } } : {});

/** Every way in which every step can fail. */
function* faults(steps: readonly string[]): Generator<{ at: number; when: When; kind: Kind; name: string }> {
  for (const kind of ['crash', 'error'] as const) {
    for (const [at, step] of steps.entries()) {
      for (const when of step === 'write'
        ? (['before', 'half', 'after'] as const)
        : (['before', 'after'] as const))
        yield { at, when, kind, name: `${kind} ${when} step ${at}, ${step}` };
    }
  }
}

const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: BullaError) => error.code,
  );

/** A keyring as it has to be: one active epoch, whose private keys are there and sign, and no other private key. */
async function expectSound(dir: string, name: string): Promise<number> {
  const open = openKeyring(dir, { ...real, disk: unsynced });
  const { epochs, active } = open.current();
  expect(
    epochs.filter(({ status }) => status === 'active'),
    name,
  ).toHaveLength(1);
  const sealer = open.sealer();
  expect(sealer.epoch, name).toBe(active.epoch);
  const named = epochNamed(epochs, sealer.label);
  expect(verify(named.publicKey, message, await sealer.signer.sign(message)), name).toBe(true);
  if (sealer.pqSigner)
    expect(verify(named.pqPublicKey!, message, await sealer.pqSigner.sign(message)), name).toBe(true);
  const keys = readdirSync(dir).filter((file) => file.startsWith('key') && !file.startsWith('keyring.lock'));
  expect(keys.sort(), name).toEqual(
    sealer.pqSigner ? ['key', 'key.ml', 'keyring.json'] : ['key', 'keyring.json'],
  );
  return active.epoch;
}

type Change = (dir: string, options: typeof real & { disk: Disk; lock?: object }) => Promise<unknown>;

const changes: Record<string, { from: { pq: boolean }; change: Change }> = {
  'a rotation': { from: { pq: false }, change: rotateKeys },
  'a rotation with ML-DSA-65': { from: { pq: true }, change: rotateKeys },
  'a rotation that gives ML-DSA-65 up': {
    from: { pq: true },
    change: (dir, options) => rotateKeys(dir, { ...options, pq: false }),
  },
  'a revocation of the active key': {
    from: { pq: false },
    change: (dir, options) => revokeKey(dir, loadKeyring(dir).active.keyId, { ...options, reason: 'stolen' }),
  },
};

describe.each(Object.entries(changes))('%s', (_, { from, change }) => {
  test('cut at any step leaves the old epoch or the new one, whole', async () => {
    const folder = temporaryFolder();
    const base = join(folder, 'base');
    await initKeyring(base, { ...real, ...from });
    const oldSeeds = ['key', ...(from.pq ? ['key.ml'] : [])].map((name) => readFileSync(join(base, name)));
    const old = openKeyring(base, real).sealer();
    const signature = await old.signer.sign(message);

    const dry = faulty(-1, 'before', 'error');
    cpSync(base, join(folder, 'dry'), { recursive: true });
    await change(join(folder, 'dry'), { ...real, disk: dry.disk });
    expect(dry.steps.length).toBeGreaterThan(20);

    const seen = { 0: 0, 1: 0 } as Record<number, number>;
    for (const { at, when, kind, name } of faults(dry.steps)) {
      const dir = join(folder, `${kind}-${at}-${when}`);
      cpSync(base, dir, { recursive: true });
      const { disk } = faulty(at, when, kind);
      const result = await outcome(change(dir, { ...real, disk, ...owner(kind) }));
      expect(['done', 'KEYRING_UNWRITABLE', 'KEYRING_NOT_TIDY'], name).toContain(result);

      const epoch = await expectSound(dir, name);
      expect([0, 1], name).toContain(epoch);
      if (result !== 'KEYRING_UNWRITABLE') expect(epoch, name).toBe(1);
      seen[epoch]!++;
      const named = epochNamed(loadKeyring(dir).epochs, old.label);
      expect(named.keyId, name).toBe(old.keyId);
      expect(verify(named.publicKey, message, signature), name).toBe(true);
      if (epoch === 1) {
        for (const file of readdirSync(dir))
          expect(
            oldSeeds.some((seed) => seed.equals(readFileSync(join(dir, file)))),
            name,
          ).toBe(false);
      }

      // Whoever comes next takes over the dead lock; where the program only had an error, the lock is free or its own.
      if (result === 'KEYRING_NOT_TIDY' && readdirSync(dir).includes('keyring.lock')) continue;
      await rotateKeys(dir, { ...real, disk: unsynced });
      expect(await expectSound(dir, name), name).toBe(epoch + 1);
      expect(
        readdirSync(dir).filter((file) => file.startsWith('keyring.')),
        name,
      ).toEqual(['keyring.json']);
    }
    expect(seen[0]).toBeGreaterThan(10);
    expect(seen[1]).toBeGreaterThan(10);
  });
});

test('a recovery that is cut at any step is made by the next one', async () => {
  const folder = temporaryFolder();
  const base = join(folder, 'base');
  await initKeyring(base, real);
  const dry = faulty(-1, 'before', 'error');
  cpSync(base, join(folder, 'dry'), { recursive: true });
  await rotateKeys(join(folder, 'dry'), { ...real, disk: dry.disk });
  let recoveries = 0;
  for (const [at, step] of dry.steps.entries()) {
    const crashed = join(folder, `${at}`);
    cpSync(base, crashed, { recursive: true });
    await outcome(
      rotateKeys(crashed, { ...real, disk: faulty(at, 'after', 'crash').disk, ...owner('crash') }),
    );
    for (let second = 0; ; second++) {
      const dir = join(folder, `${at}-${second}`);
      cpSync(crashed, dir, { recursive: true });
      const { disk, steps } = faulty(second, 'before', 'crash');
      openKeyring(dir, { ...real, disk, lock: { owner: deadOwner } }).sealer();
      await expectSound(dir, `${step}, then ${steps.at(-1)}`);
      if (steps.length <= second) break; // it went through
      recoveries++;
    }
  }
  expect(recoveries).toBeGreaterThan(100);
});

test('an init that is cut at any step leaves no keyring or a whole one, and can be made again', async () => {
  const folder = temporaryFolder();
  const dry = faulty(-1, 'before', 'error');
  await initKeyring(join(folder, 'dry'), { ...real, pq: true, disk: dry.disk });
  const seen = { none: 0, whole: 0 };
  for (const { at, when, kind, name } of faults(dry.steps)) {
    const dir = join(folder, `${kind}-${at}-${when}`);
    const { disk } = faulty(at, when, kind);
    const result = await outcome(initKeyring(dir, { ...real, pq: true, disk, ...owner(kind) }));
    const codes = ['done', 'KEYRING_UNWRITABLE', 'KEYRING_NOT_TIDY', 'HOME_UNWRITABLE'];
    expect(codes, name).toContain(result);
    let there = true;
    try {
      loadKeyring(dir);
    } catch (error) {
      expect(error, name).toMatchObject({ code: 'KEYRING_MISSING' });
      there = false;
    }
    seen[there ? 'whole' : 'none']++;
    if (!there) await initKeyring(dir, { ...real, pq: true, disk: unsynced });
    expect(await expectSound(dir, name), name).toBe(0);
  }
  expect(seen.none).toBeGreaterThan(20);
  expect(seen.whole).toBeGreaterThan(10);
});

test('the retired private key is overwritten before its name goes, and only after the rotation is durable', async () => {
  const dir = temporaryFolder();
  await initKeyring(dir, real);
  const { disk, steps } = faulty(-1, 'before', 'error');
  await rotateKeys(dir, { ...real, disk });
  expect(steps).toEqual([
    'create keyring.lock.*.new',
    'write',
    'sync',
    'close',
    'link keyring.lock.*.new',
    'remove keyring.lock.*.new',
    `sync directory ${basename(dir)}`,
    'create key.1',
    'write',
    'sync',
    'close',
    'create keyring.json.new',
    'write',
    'sync',
    'close',
    `sync directory ${basename(dir)}`,
    'rename keyring.json.new',
    `sync directory ${basename(dir)}`,
    `sync directory ${basename(dir)}`,
    'link key',
    'rename key.1',
    `sync directory ${basename(dir)}`,
    'open key.retired',
    'write',
    'sync',
    'close',
    'remove key.retired',
    'remove keyring.lock',
  ]);
});
