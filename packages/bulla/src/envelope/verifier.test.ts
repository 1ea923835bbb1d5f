import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { envelopeSuite } from '../../test/envelope-suite.ts';
import { openStore } from '../store/index.ts';

describe('SQLite', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bulla-envelope-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  envelopeSuite((options) => openStore({ url: join(folder, 'store.db'), create: true, ...options }));
});
