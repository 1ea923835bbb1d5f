import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startWorker } from '../../test/processes.ts';
import { temporaryFolder } from '../../test/run.ts';

test('whatever the umask, what we keep is for its owner alone, in a folder that others can enter', async () => {
  const workers = ['000', '022'].map((umask) => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    return startWorker('umask-worker.ts', [folder, umask]);
  });
  for (const worker of workers) {
    expect(await worker.done).toBe(0);
    const modes = worker.output().map((line) => line.split(' ') as [string, string, string]);
    const names = modes.map(([, , name]) => name);
    for (const name of ['store.db', 'store.db-wal', 'store.db-shm', 'keys/key', 'installation'])
      expect(names).toContain(name);
    expect(names.filter((name) => /^store\.db\.checkpoints\/.*\.checkpoints$/.test(name)).length).toBe(1);
    const published = modes.filter(([, , name]) => /^published(?:$|\/)/.test(name));
    const kept = modes.filter((one) => !published.includes(one));
    expect(kept.filter(([kind, mode]) => mode !== (kind === 'd' ? '700' : '600'))).toEqual([]);
    // What is made for others they can read, and not change.
    expect(published.filter(([kind]) => kind === 'f').length).toBe(3);
    expect(published.filter(([kind, mode]) => mode !== (kind === 'd' ? '755' : '644'))).toEqual([]);
  }
});
