import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toHex } from '@bulla/core/crypto';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { repo, temporaryFolder } from '../../test/run.ts';
import { input, key, sealer } from '../../test/store-suite.ts';
import { openReadable, openStore } from './index.ts';

const NOBODY = 65534;

/** A store with records in a folder that nobody may write to; with `open`, the last ones are in its log alone. */
async function readOnlyStore(open: boolean): Promise<string> {
  const made = join(temporaryFolder(), 'store.db');
  const store = await openStore({ url: made, create: true, sealer, operator: 'op.example' });
  for (let i = 0; i < 3; i++) await store.chain('default').append(input(`n${i}`));
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'cd'));
  const copy = join(folder, 'cd/store.db');
  const take = () => {
    copyFileSync(made, copy);
    if (open) copyFileSync(`${made}-wal`, `${copy}-wal`);
  };
  // As a crash leaves it, or as a clean end does.
  if (open) take();
  await store.close();
  if (!open) take();
  for (const file of readdirSync(join(folder, 'cd'))) chmodSync(join(folder, 'cd', file), 0o444);
  chmodSync(join(folder, 'cd'), 0o555);
  chmodSync(folder, 0o755);
  return copy;
}

const PROGRAM = join(repo, 'packages/bulla/dist/bulla.js');
/** In a clone below a private folder, as `mktemp -d` makes one, nobody else can start the program. */
const isReachable =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ['-e', 'fs.accessSync(process.argv[1])', PROGRAM], { uid: NOBODY, gid: NOBODY })
    .status === 0;

/** Runs a command as somebody who may write nowhere but in the folder for temporary files. */
function asNobody(args: string[]) {
  const home = temporaryFolder();
  mkdirSync(join(home, 'tmp'));
  chownSync(join(home, 'tmp'), NOBODY, NOBODY);
  chmodSync(home, 0o755);
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], {
    uid: NOBODY,
    gid: NOBODY,
    env: { PATH: process.env.PATH ?? '', BULLA_HOME: join(home, 'none'), TMPDIR: join(home, 'tmp') },
  });
  return {
    status,
    stdout: stdout.toString(),
    stderr: stderr.toString(),
    left: readdirSync(join(home, 'tmp')),
  };
}

test.skipIf(!isReachable)(
  'a store that cannot be written, of another user, verifies, with all that its log holds',
  async () => {
    for (const [open, words] of [
      [false, null],
      [true, expect.stringContaining('with its write-ahead log')],
    ] as const) {
      const store = await readOnlyStore(open);
      const verified = asNobody([
        'chain',
        'verify',
        '--store',
        store,
        '--public-key',
        toHex(key.bytes),
        '--json',
      ]);
      expect([verified.stderr, verified.status, verified.left]).toEqual(['', 0, []]);
      expect(JSON.parse(verified.stdout)).toMatchObject({
        ...{ ok: true, count: 3 },
        copied: words,
      });
      expect(asNobody(['capsule', 'export', '--store', store]).stdout.split('\n').length).toBe(4);
    }
  },
);

test('a database without our tables is missing, and nothing is written beside it', async () => {
  const file = join(temporaryFolder(), 'store.db');
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.close();
  const before = readdirSync(join(file, '..'));
  await expect(openStore({ url: file, readOnly: true })).rejects.toMatchObject({ code: 'STORE_MISSING' });
  expect(readdirSync(join(file, '..'))).toEqual(before);
  writeFileSync(file, 'x'.repeat(5000));
  await expect(openStore({ url: file, readOnly: true })).rejects.toMatchObject({ code: 'STORE_UNREADABLE' });
});

test('a pipe in the place of a store is refused, not waited for', () => {
  const file = join(temporaryFolder(), 'store.db');
  expect(spawnSync('mkfifo', [file]).status).toBe(0);
  expect(() => openReadable(file)).toThrow(expect.objectContaining({ code: 'STORE_UNREADABLE' }));
});
