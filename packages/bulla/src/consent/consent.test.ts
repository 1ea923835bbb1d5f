import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { consentSuite } from '../../test/consent-suite.ts';
import { openStore } from '../store/index.ts';

describe('SQLite', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bulla-consent-')), 'store.db');
  consentSuite((options) => openStore({ url: file, create: true, ...options }));
});
