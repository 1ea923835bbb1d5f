import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe } from 'vitest';
import { openTestStore } from '../../test/guard.ts';
import { keepSuite } from '../../test/keep-suite.ts';
import { hasPostgres } from '../../test/postgres.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { sealer } from '../../test/store-suite.ts';
import { openStore } from '../store/index.ts';

describe('SQLite', () => {
  keepSuite(async () => {
    const folder = temporaryFolder();
    // The file, its write-ahead log and what lies beside it.
    const bytesOf = async () =>
      Buffer.concat(globSync(join(folder, 'store.db*')).flatMap((file) => fileBytes(file)));
    return { store: await openTestStore(folder), bytesOf };
  });
});

function fileBytes(file: string): Buffer[] {
  try {
    return [readFileSync(file)];
  } catch {
    return [];
  }
}

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let database: (name: string) => string;
  let next = 0;
  beforeAll(async () => {
    ({ database } = await sharedPostgres());
  }, 60_000);
  keepSuite(async () => {
    const url = database(`keep_${next++}`);
    return { store: await openStore({ url, create: true, sealer }) };
  });
});
