import type { Dialect } from './schema.ts';

/**
 * Registered agents, capability links, envelopes and the turns of sessions. The indexes begin with what is asked for,
 * so that a statement finds its rows by them although it compares the tenant as it is.
 */
export function capabilityTables({ key }: Dialect): string {
  return `
    CREATE TABLE capability_agent (
      agent_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      id TEXT NOT NULL,
      content TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      name TEXT NOT NULL,
      static_hash TEXT NOT NULL,
      profile TEXT NOT NULL,
      definition TEXT NOT NULL,
      registered_at TEXT NOT NULL,
      digest TEXT NOT NULL
    );
    CREATE UNIQUE INDEX capability_agent_by_id ON capability_agent (id, coalesce(tenant, ''));
    CREATE UNIQUE INDEX capability_agent_by_content ON capability_agent (content, coalesce(tenant, ''));

    CREATE TABLE capability_link (
      tenant TEXT CHECK (tenant <> ''),
      hash TEXT NOT NULL,
      data TEXT NOT NULL
    );
    CREATE UNIQUE INDEX capability_link_by_hash ON capability_link (hash, coalesce(tenant, ''));

    CREATE TABLE capability_envelope (
      tenant TEXT CHECK (tenant <> ''),
      hash TEXT NOT NULL,
      data TEXT NOT NULL
    );
    CREATE UNIQUE INDEX capability_envelope_by_hash ON capability_envelope (hash, coalesce(tenant, ''));

    CREATE TABLE capability_session (
      tenant TEXT CHECK (tenant <> ''),
      id TEXT NOT NULL,
      agent_id TEXT NOT NULL,
      chain TEXT NOT NULL,
      opened_at TEXT NOT NULL,
      digest TEXT NOT NULL,
      turns BIGINT NOT NULL
    );
    CREATE UNIQUE INDEX capability_session_by_id ON capability_session (id, coalesce(tenant, ''));

    CREATE TABLE capability_turn (
      tenant TEXT CHECK (tenant <> ''),
      session_id TEXT NOT NULL,
      number BIGINT NOT NULL,
      agent TEXT NOT NULL,
      link_hash TEXT NOT NULL,
      envelope_hash TEXT,
      capsule_id TEXT NOT NULL
    );
    CREATE UNIQUE INDEX capability_turn_by_number ON capability_turn (session_id, number, coalesce(tenant, ''));

    CREATE TABLE capability_transition (
      tenant TEXT CHECK (tenant <> ''),
      session_id TEXT NOT NULL,
      turn BIGINT NOT NULL,
      from_link TEXT NOT NULL,
      to_link TEXT NOT NULL,
      changed TEXT NOT NULL,
      capsule_id TEXT NOT NULL
    );
    CREATE UNIQUE INDEX capability_transition_by_turn
      ON capability_transition (session_id, turn, coalesce(tenant, ''));
  `;
}
