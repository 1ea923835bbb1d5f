import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startWorker } from '../../test/processes.ts';
import { temporaryFolder } from '../../test/run.ts';
import { input } from '../../test/store-suite.ts';
import { storeSource, verifyChain } from '../chain/index.ts';
import { initKeyring, loadKeyring, openKeyring } from '../keys/index.ts';
import { openStore } from './index.ts';

test('keys rotate under load, from another process: every capsule verifies', {
  timeout: 120_000,
}, async () => {
  const folder = temporaryFolder();
  const keys = join(folder, 'keys');
  await initKeyring(keys, { now: () => new Date(), randomBytes });
  const keyring = openKeyring(keys, { now: () => new Date() });
  const store = await openStore({
    url: join(folder, 'store.db'),
    create: true,
    sealer: () => keyring.sealer(),
  });
  const chain = store.chain('rotated');
  const rotating = startWorker('rotate-worker.ts', [keys, '20', '20']);
  let running = true;
  const finished = rotating.done.then((status) => {
    running = false;
    return status;
  });
  let appended = 0;
  const caller = async () => {
    while (running) {
      await chain.append(input(`n${appended++}`));
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  expect(await finished).toBe(0);
  const { epochs, active } = loadKeyring(keys);
  expect([epochs.length, active.epoch, rotating.output().length]).toEqual([21, 20, 20]);
  const report = await verifyChain(await storeSource(chain), {
    keys: epochs.map((epoch) => epoch.publicKey),
  });
  expect([report.ok, report.count]).toEqual([true, appended]);
  expect(Object.keys(report.keys).length).toBeGreaterThan(5);
  await store.close();
});
