import type { Dialect } from './schema.ts';

/**
 * Which processes are alive, which intents have no outcome yet, and which of these were marked. An open intent is a row
 * only until its outcome: the table is as small as what is under way. Instances are random, so a lease needs no chain.
 */
export function leaseTables({ clustered }: Dialect): string {
  return `
    CREATE TABLE lease (
      tenant TEXT CHECK (tenant <> ''),
      instance TEXT NOT NULL,
      -- by the clock of the database
      expires_at BIGINT NOT NULL
    );
    CREATE UNIQUE INDEX lease_by_instance ON lease (coalesce(tenant, ''), instance);

    CREATE TABLE open_intent (
      chain_key BIGINT NOT NULL,
      sequence BIGINT NOT NULL,
      instance TEXT NOT NULL,
      PRIMARY KEY (chain_key, sequence)
    )${clustered};

    CREATE TABLE orphan (
      chain_key BIGINT NOT NULL,
      sequence BIGINT NOT NULL,
      -- of the mark
      capsule_id TEXT NOT NULL,
      PRIMARY KEY (chain_key, sequence)
    )${clustered};
  `;
}
