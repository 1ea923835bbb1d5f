import { beforeAll, describe } from 'vitest';
import { brokenPostgres } from '../../test/broken-store.ts';
import { leaseSuite } from '../../test/lease-suite.ts';
import { hasPostgres } from '../../test/postgres.ts';
import { recordSuite } from '../../test/record-suite.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { openStore } from '../store/index.ts';

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let [url, leases] = ['', ''];
  beforeAll(async () => {
    const server = await sharedPostgres();
    [url, leases] = [server.database('record'), server.database('leases')];
  }, 60_000);
  recordSuite((options) => openStore({ url, create: true, ...options }), { runs: 30 });
  leaseSuite({
    open: (options) => openStore({ url: leases, create: true, ...options }),
    over: (breakIt, options) => brokenPostgres(leases, breakIt, options),
  });
});
