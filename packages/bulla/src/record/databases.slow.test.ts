import { beforeAll, describe } from 'vitest';
import { hasPostgres } from '../../test/postgres.ts';
import { recordSuite } from '../../test/record-suite.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { openStore } from '../store/index.ts';

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let url = '';
  beforeAll(async () => {
    url = (await sharedPostgres()).database('record');
  }, 60_000);
  recordSuite((options) => openStore({ url, create: true, ...options }), { runs: 30 });
});
