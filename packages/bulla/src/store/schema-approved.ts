import type { Dialect } from './schema.ts';

/**
 * Calls that were made under an approval, with their answers: a call that comes again because its answer did not arrive
 * gets that answer, and is not made twice. Rows are beside the chain, and can be erased; past `due` they do not count.
 * `caller` is a digest of who calls which tool. `state` is one of those in approved.ts.
 */
export function approvedTables({ key, bytes }: Dialect): string {
  return `
    CREATE TABLE approved (
      approved_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      approval TEXT NOT NULL,
      caller TEXT NOT NULL,
      commitment TEXT NOT NULL,
      form TEXT NOT NULL,
      salt ${bytes} NOT NULL,
      holder TEXT NOT NULL,
      intent TEXT NOT NULL,
      outcome TEXT,
      answer TEXT,
      state TEXT NOT NULL,
      due BIGINT NOT NULL
    );
    CREATE UNIQUE INDEX approved_by_approval ON approved (coalesce(tenant, ''), approval);
    CREATE INDEX approved_by_caller ON approved (coalesce(tenant, ''), caller, state);
    CREATE INDEX approved_by_holder ON approved (coalesce(tenant, ''), state, holder);
    CREATE INDEX approved_by_intent ON approved (coalesce(tenant, ''), intent);
    CREATE INDEX approved_by_due ON approved (coalesce(tenant, ''), due);
  `;
}
