import type { Driver } from '../src/store/driver.ts';
import type { Store, StoreOptions } from '../src/store/index.ts';
import { openPostgres } from '../src/store/postgres.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import { createStore } from '../src/store/store.ts';
import { sealer } from './store-signer.ts';

export type { Driver } from '../src/store/driver.ts';

/** A store in a SQLite file, through a driver of which some parts are others. */
export function brokenStore(
  file: string,
  breakIt: (driver: Driver) => Partial<Driver>,
  options: Partial<StoreOptions> = {},
): Store {
  const driver = openSqlite(file, { tenant: null, create: true });
  return createStore({ ...driver, ...breakIt(driver) }, { sealer, ...options, url: file, tenant: null });
}

/** The same in a PostgreSQL database. */
export async function brokenPostgres(
  url: string,
  breakIt: (driver: Driver) => Partial<Driver>,
  options: Partial<StoreOptions> = {},
): Promise<Store> {
  const driver = await openPostgres(url, { tenant: null, create: true, readOnly: false });
  return createStore({ ...driver, ...breakIt(driver) }, { sealer, ...options, url, tenant: null });
}
