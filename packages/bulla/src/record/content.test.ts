import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { recordSuite } from '../../test/record-suite.ts';
import { openStore } from '../store/index.ts';

describe('SQLite', () => {
  const url = join(mkdtempSync(join(tmpdir(), 'bulla-record-')), 'store.db');
  recordSuite((options) => openStore({ url, create: true, ...options }), { runs: 80 });
});
