import { beforeAll, describe } from 'vitest';
import { leaseSuite } from '../../test/lease-suite.ts';
import { hasPostgres } from '../../test/postgres.ts';
import { recordSuite } from '../../test/record-suite.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { openStore } from '../store/index.ts';
import { openPostgres } from '../store/postgres.ts';
import { createStore } from '../store/store.ts';

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let [url, leases] = ['', ''];
  beforeAll(async () => {
    const server = await sharedPostgres();
    [url, leases] = [server.database('record'), server.database('leases')];
  }, 60_000);
  recordSuite((options) => openStore({ url, create: true, ...options }), { runs: 30 });
  leaseSuite({
    open: (options) => openStore({ url: leases, create: true, ...options }),
    async over(breakIt, options) {
      const driver = await openPostgres(leases, { tenant: null, create: true, readOnly: false });
      return createStore({ ...driver, ...breakIt(driver) }, { ...options, url: leases, tenant: null });
    },
  });
});
