import type { Dialect } from './schema.ts';

/**
 * Envelopes: what was executed, what is taken up of limits, policies and refusals. Statements ask for the tenant by
 * the expression of the indexes, `coalesce(tenant, '')`, so that they stay as fast with millions of rows.
 */
export function ledgerTables({ key }: Dialect): string {
  return `
    CREATE TABLE execution (
      execution_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      exec_hash TEXT NOT NULL,
      replay_scope TEXT NOT NULL CHECK (replay_scope IN ('caller', 'tenant', 'global')),
      tenant_id TEXT NOT NULL,
      caller TEXT NOT NULL,
      nonce BIGINT NOT NULL,
      iss TEXT NOT NULL,
      jti TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('reserved', 'committed', 'released')),
      held TEXT NOT NULL,
      intent_id TEXT NOT NULL,
      outcome_id TEXT
    );
    CREATE UNIQUE INDEX execution_once ON execution
      (coalesce(tenant, ''), replay_scope, tenant_id, caller, nonce);
    CREATE UNIQUE INDEX execution_by_authorization ON execution (coalesce(tenant, ''), jti);
    CREATE UNIQUE INDEX execution_by_hash ON execution (coalesce(tenant, ''), exec_hash);
    CREATE INDEX execution_unsettled ON execution (coalesce(tenant, ''), execution_key)
      WHERE state = 'reserved';

    CREATE TABLE spending (
      spending_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      limit_id TEXT NOT NULL
    );
    CREATE UNIQUE INDEX spending_by_limit ON spending (coalesce(tenant, ''), limit_id);

    CREATE TABLE spent (
      spending_key BIGINT NOT NULL,
      bucket BIGINT NOT NULL,
      amount TEXT NOT NULL,
      PRIMARY KEY (spending_key, bucket)
    );

    CREATE TABLE envelope_policy (
      tenant TEXT CHECK (tenant <> ''),
      policy_id TEXT NOT NULL,
      policy_version BIGINT NOT NULL,
      policy_hash TEXT NOT NULL,
      policy_effective_at BIGINT NOT NULL,
      document TEXT NOT NULL,
      capsule_id TEXT NOT NULL
    );
    CREATE UNIQUE INDEX envelope_policy_by_version ON envelope_policy
      (coalesce(tenant, ''), policy_id, policy_version);

    CREATE TABLE refusal (
      refusal_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      exec_hash TEXT NOT NULL,
      code TEXT NOT NULL,
      capsule_id TEXT NOT NULL
    );
    CREATE INDEX refusal_by_hash ON refusal (coalesce(tenant, ''), exec_hash, refusal_key);
  `;
}
