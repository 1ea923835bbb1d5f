import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { createDatabase, type Postgres } from './postgres.ts';

/** The server that all test files share. Its databases are gone after the run; it survives no power cut. */
export async function sharedPostgres(): Promise<Pick<Postgres, 'url' | 'database'>> {
  const response = await fetch(inject('postgres'));
  const url = await response.text();
  if (!response.ok) throw new Error(url);
  const own = randomBytes(4).toString('hex');
  return { url, database: (name) => createDatabase(url, `${name}_${own}`) };
}
