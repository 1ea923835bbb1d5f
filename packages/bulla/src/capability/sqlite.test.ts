import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, describe } from 'vitest';
import type { Database } from '../../test/capability-agents.ts';
import { historySuite } from '../../test/history-suite.ts';
import { registrySuite } from '../../test/registry-suite.ts';
import { sessionSuite } from '../../test/session-suite.ts';
import { sealer } from '../../test/store-suite.ts';
import { openStore } from '../store/index.ts';

describe('SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-capability-'));
  const file = join(folder, 'store.db');
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const database: Database = {
    open: (options) => openStore({ url: file, create: true, sealer, ...options }),
    async tamper(sql) {
      const db = new Sqlite(file);
      db.exec(sql);
      db.close();
    },
  };
  registrySuite(database);
  sessionSuite(database);
  historySuite(database);
});
