import { BullaError } from '@bulla/core/error';
import { approvedTables } from './schema-approved.ts';
import { capabilityTables } from './schema-capability.ts';
import { consentTables } from './schema-consent.ts';
import { leaseTables } from './schema-leases.ts';
import { ledgerTables } from './schema-ledger.ts';
import { usedTables } from './schema-used.ts';

/** The version of the tables, which a database names. */
export const SCHEMA_VERSION = 1;

/** Throws `STORE_NEWER` for the version of a database that this program does not know. */
export function assertKnown(version: number): void {
  if (version > SCHEMA_VERSION)
    throw new BullaError(
      'STORE_NEWER',
      `The store is of version ${version}; this program knows ${SCHEMA_VERSION}.`,
    );
}

/**
 * How a database writes the tables. A null tenant is a tenant of its own: it is stored as null, and the unique index
 * sees it as the empty string, which no tenant may be called.
 */
export interface Dialect {
  /** The type of a primary key that the database counts up. */
  readonly key: string;
  readonly bytes: string;
  /** The full-text table over summaries and its filling. */
  readonly text: string;
  /** Behind a table whose rows lie in the order of its primary key, where the database can do that. */
  readonly clustered: string;
}

/** The statements that make all tables. */
export function schema(dialect: Dialect): string {
  const parts = [
    ...[chainTables, leaseTables, searchTables],
    ...[ledgerTables, capabilityTables, consentTables, usedTables, approvedTables],
  ];
  return parts.map((tables) => tables(dialect)).join('');
}

/** Chains with their records, what opens the commitments in them, their trees and checkpoints, and kill switches. */
function chainTables({ key, bytes, clustered }: Dialect): string {
  return `
    CREATE TABLE chain (
      chain_key ${key},
      tenant TEXT CHECK (tenant <> ''),
      name TEXT NOT NULL,
      length BIGINT NOT NULL,
      head_hash TEXT,
      tree ${bytes},
      origin TEXT,
      -- counted up to keep out a write that is still on its way when its outcome was settled
      fence BIGINT NOT NULL DEFAULT 0,
      indexed BIGINT NOT NULL DEFAULT 0
    );
    CREATE UNIQUE INDEX chain_by_name ON chain (coalesce(tenant, ''), name);

    CREATE TABLE record (
      record_key ${key},
      chain_key BIGINT NOT NULL,
      sequence BIGINT NOT NULL,
      hash TEXT NOT NULL,
      data TEXT NOT NULL,
      leaf ${bytes} NOT NULL
    );
    CREATE UNIQUE INDEX record_by_sequence ON record (chain_key, sequence);

    CREATE TABLE opening (
      chain_key BIGINT NOT NULL,
      sequence BIGINT NOT NULL,
      kind TEXT NOT NULL,
      salt ${bytes} NOT NULL,
      payload TEXT,
      PRIMARY KEY (chain_key, sequence, kind)
    )${clustered};

    CREATE TABLE node (
      chain_key BIGINT NOT NULL,
      level INTEGER NOT NULL,
      number BIGINT NOT NULL,
      hash ${bytes} NOT NULL,
      PRIMARY KEY (chain_key, level, number)
    );

    CREATE TABLE checkpoint (
      checkpoint_key ${key},
      chain_key BIGINT NOT NULL,
      origin TEXT NOT NULL,
      size BIGINT NOT NULL,
      note TEXT NOT NULL
    );
    CREATE UNIQUE INDEX checkpoint_by_size ON checkpoint (chain_key, origin, size);
    CREATE INDEX checkpoint_by_age ON checkpoint (chain_key, checkpoint_key);

    CREATE TABLE standing_kill (
      tenant TEXT CHECK (tenant <> ''),
      agent_id TEXT CHECK (agent_id <> ''),
      reason TEXT NOT NULL,
      capsule_id TEXT NOT NULL
    );
    CREATE UNIQUE INDEX standing_kill_by_agent ON standing_kill (coalesce(tenant, ''), coalesce(agent_id, ''));
  `;
}

/** What records are found by. It lags behind the chains and can be filled anew from them. */
function searchTables({ text }: Dialect): string {
  return `
    CREATE TABLE found (
      record_key BIGINT PRIMARY KEY,
      chain_key BIGINT NOT NULL,
      sequence BIGINT NOT NULL,
      id TEXT NOT NULL,
      hash TEXT NOT NULL,
      type TEXT NOT NULL,
      domain TEXT NOT NULL,
      parent_id TEXT,
      agent_id TEXT NOT NULL,
      session_id TEXT,
      correlation_id TEXT,
      timestamp TEXT NOT NULL,
      status TEXT NOT NULL
    );
    CREATE INDEX found_by_id ON found (id);
    CREATE INDEX found_by_hash ON found (hash);
    CREATE INDEX found_by_parent ON found (parent_id);
    CREATE INDEX found_by_session ON found (session_id);
    CREATE INDEX found_by_correlation ON found (correlation_id);
    CREATE INDEX found_by_time ON found (chain_key, timestamp);
    CREATE TABLE found_tool (record_key BIGINT NOT NULL, tool TEXT NOT NULL);
    CREATE INDEX found_tool_by_tool ON found_tool (tool, record_key);
    CREATE INDEX found_tool_by_record ON found_tool (record_key);
    CREATE TABLE found_commitment (record_key BIGINT NOT NULL, kind TEXT NOT NULL, commitment TEXT NOT NULL);
    CREATE INDEX found_commitment_by_commitment ON found_commitment (commitment, record_key);
    CREATE INDEX found_commitment_by_record ON found_commitment (record_key);
    ${text}
  `;
}
