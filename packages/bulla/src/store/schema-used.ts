import type { Dialect } from './schema.ts';

/**
 * What was called lately: by subject (an agent, a tool, a session, as a digest) the calls and bytes of each step of time,
 * with the time from which they no longer count. Rows past it are removed when others are written.
 */
export function usedTables({ key }: Dialect): string {
  return `
    CREATE TABLE used (
      used_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      subject TEXT NOT NULL,
      step BIGINT NOT NULL,
      due BIGINT NOT NULL,
      calls BIGINT NOT NULL,
      bytes BIGINT NOT NULL
    );
    CREATE UNIQUE INDEX used_by_subject ON used (coalesce(tenant, ''), subject, step, due);
    CREATE INDEX used_by_due ON used (coalesce(tenant, ''), due);
  `;
}
