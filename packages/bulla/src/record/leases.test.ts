import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { brokenStore } from '../../test/broken-store.ts';
import { leaseSuite } from '../../test/lease-suite.ts';
import { openStore } from '../store/index.ts';

describe('SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-lease-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const url = join(folder, 'store.db');
  leaseSuite({
    open: (options) => openStore({ url, create: true, ...options }),
    over: async (breakIt, options) => brokenStore(url, breakIt, options),
  });
});
