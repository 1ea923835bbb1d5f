import type { Dialect } from './schema.ts';

/**
 * Agents with every version of their manifests and of the bindings of their tools, and what people said to them. A relation is one person and one agent;
 * `rev` of it counts every write to any of its rows, so that who read them can tell whether they still hold. Names can
 * be longer than an index takes, so rows are found by digests of their keys.
 */
export function consentTables({ key }: Dialect): string {
  return `
    CREATE TABLE agent (
      tenant TEXT CHECK (tenant <> ''),
      agent_id TEXT NOT NULL,
      version BIGINT NOT NULL,
      rev BIGINT NOT NULL,
      declared TEXT NOT NULL
    );
    CREATE UNIQUE INDEX agent_by_id ON agent (coalesce(tenant, ''), agent_id);

    CREATE TABLE manifest_content (
      tenant TEXT CHECK (tenant <> ''),
      hash TEXT NOT NULL,
      canonical TEXT NOT NULL
    );
    CREATE UNIQUE INDEX manifest_content_by_hash ON manifest_content (coalesce(tenant, ''), hash);

    CREATE TABLE manifest_version (
      tenant TEXT CHECK (tenant <> ''),
      agent_id TEXT NOT NULL,
      version BIGINT NOT NULL,
      hash TEXT NOT NULL,
      bytes BIGINT NOT NULL,
      breaking INTEGER NOT NULL CHECK (breaking IN (0, 1)),
      pushed_by TEXT NOT NULL,
      pushed_at BIGINT NOT NULL,
      capsule_id TEXT NOT NULL
    );
    CREATE UNIQUE INDEX manifest_version_by_number ON manifest_version
      (coalesce(tenant, ''), agent_id, version);

    CREATE TABLE manifest_bindings (
      tenant TEXT CHECK (tenant <> ''),
      agent_id TEXT NOT NULL,
      rev BIGINT NOT NULL,
      version BIGINT NOT NULL,
      digest TEXT NOT NULL,
      canonical TEXT NOT NULL,
      bound_by TEXT NOT NULL,
      bound_at BIGINT NOT NULL,
      capsule_id TEXT NOT NULL
    );
    CREATE UNIQUE INDEX manifest_bindings_by_rev ON manifest_bindings (coalesce(tenant, ''), agent_id, rev);

    CREATE TABLE manifest_key (
      tenant TEXT CHECK (tenant <> ''),
      agent_id TEXT NOT NULL,
      idempotency_key TEXT NOT NULL,
      hash TEXT NOT NULL,
      version BIGINT NOT NULL
    );
    CREATE UNIQUE INDEX manifest_key_once ON manifest_key (coalesce(tenant, ''), agent_id, idempotency_key);

    CREATE TABLE consent_relation (
      relation_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      digest TEXT NOT NULL,
      user_id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      rev BIGINT NOT NULL,
      seen BIGINT NOT NULL
    );
    CREATE UNIQUE INDEX consent_relation_by_digest ON consent_relation (coalesce(tenant, ''), digest);
    CREATE INDEX consent_relation_by_agent ON consent_relation (coalesce(tenant, ''), agent_id, seen);

    CREATE TABLE consent_row (
      relation_key BIGINT NOT NULL,
      part TEXT NOT NULL CHECK (part IN ('disclosures', 'grants', 'silences', 'approvals')),
      digest TEXT NOT NULL,
      due BIGINT,
      rev BIGINT NOT NULL,
      data TEXT NOT NULL,
      PRIMARY KEY (relation_key, part, digest)
    );
    CREATE INDEX consent_row_by_due ON consent_row (due) WHERE due IS NOT NULL;

    CREATE TABLE consent_subject (
      subject_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      id TEXT NOT NULL,
      relation_key BIGINT NOT NULL,
      part TEXT NOT NULL CHECK (part IN ('prompts', 'decisions')),
      open INTEGER NOT NULL CHECK (open IN (0, 1)),
      due BIGINT,
      holder TEXT,
      rev BIGINT NOT NULL,
      door TEXT NOT NULL,
      -- the capsules of the question and of its answer
      asked TEXT,
      answered TEXT,
      data TEXT NOT NULL
    );
    CREATE UNIQUE INDEX consent_subject_once ON consent_subject (coalesce(tenant, ''), id);
    CREATE INDEX consent_subject_by_relation ON consent_subject (relation_key) WHERE open = 1;
    CREATE INDEX consent_subject_by_due ON consent_subject (coalesce(tenant, ''), due) WHERE open = 1;
  `;
}
