import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { manifestSuite } from '../../test/manifest-suite.ts';
import { openStore } from '../store/index.ts';

describe('SQLite', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bulla-manifest-')), 'store.db');
  manifestSuite((options) => openStore({ url: file, create: true, ...options }));
});
