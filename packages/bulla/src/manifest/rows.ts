import type { Declared } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { type Bindings, type Manifest, readBindings, readManifest } from '@bulla/core/manifest';
import type { Effect, Statements } from '../store/index.ts';

// The statements about agents and the versions of their manifests.

type Reading = Pick<Statements, 'tenant' | 'all'>;

/** One accepted version of an agent's manifest. */
export interface StoredVersion {
  readonly agent: string;
  readonly version: number;
  readonly hash: string;
  /** The length of the canonical form; from `LARGE_MANIFEST_BYTES` on it is a large one. */
  readonly bytes: number;
  /** Whether it broke with the version before it. */
  readonly breaking: boolean;
  readonly by: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** The capsule that tells of it. */
  readonly capsuleId: string;
}

const VERSION = `SELECT agent_id AS agent, version, hash, bytes, breaking, pushed_by AS "by", pushed_at AS at,
  capsule_id AS "capsuleId" FROM manifest_version WHERE coalesce(tenant, '') = ? AND agent_id = ?`;

const versionOf = (row: Omit<StoredVersion, 'breaking'> & { readonly breaking: number }): StoredVersion => ({
  ...row,
  breaking: row.breaking === 1,
});

export async function allVersions({ tenant, all }: Reading, agent: string): Promise<StoredVersion[]> {
  const rows = await all<Parameters<typeof versionOf>[0]>(`${VERSION} ORDER BY version`, tenant ?? '', agent);
  return rows.map(versionOf);
}

export async function oneVersion(
  { tenant, all }: Reading,
  agent: string,
  version: number,
): Promise<StoredVersion | null> {
  const sql = `${VERSION} AND version = ?`;
  const [row] = await all<Parameters<typeof versionOf>[0]>(sql, tenant ?? '', agent, version);
  return row === undefined ? null : versionOf(row);
}

export async function agentNames({ tenant, all }: Reading): Promise<string[]> {
  const sql = "SELECT agent_id AS agent FROM agent WHERE coalesce(tenant, '') = ?";
  return (await all<{ agent: string }>(sql, tenant ?? '')).map(({ agent }) => agent).toSorted();
}

/** What the agent declares now; null before it declared anything. */
export async function declaredRow({ tenant, all }: Reading, agent: string): Promise<Declared | null> {
  const sql = "SELECT declared FROM agent WHERE coalesce(tenant, '') = ? AND agent_id = ?";
  const [row] = await all<{ declared: string }>(sql, tenant ?? '', agent);
  return row === undefined ? null : (JSON.parse(row.declared) as Declared);
}

/** What a stored text says. Throws `MANIFEST_STORED` when it is another one than was accepted, or there is none. */
function asAccepted<T>(
  what: string,
  text: string | undefined,
  read: (text: string) => T,
  isIt: (read: T) => boolean,
): T {
  const wrong = (cause?: unknown) =>
    new BullaError('MANIFEST_STORED', `The store does not hold the ${what} accepted.`, { cause });
  if (text === undefined) throw wrong();
  let found: T;
  try {
    found = read(text);
  } catch (error) {
    throw wrong(error);
  }
  if (!isIt(found)) throw wrong();
  return found;
}

/** The manifest with this hash. Throws `MANIFEST_STORED`. */
export async function readContent({ tenant, all }: Reading, hash: string): Promise<Manifest> {
  const sql = "SELECT canonical FROM manifest_content WHERE coalesce(tenant, '') = ? AND hash = ?";
  const [row] = await all<{ canonical: string }>(sql, tenant ?? '', hash);
  const isIt = (manifest: Manifest) => manifest.hash === hash;
  return asAccepted(`manifest ${hash} as it was`, row?.canonical, readManifest, isIt);
}

/** Which content came with an idempotency key, and what version it became; null if the key is new. */
export async function keyed(
  { tenant, all }: Reading,
  agent: string,
  key: string,
): Promise<{ readonly hash: string; readonly version: number } | null> {
  const [row] = await all<{ hash: string; version: number }>(
    `SELECT hash, version FROM manifest_key
     WHERE coalesce(tenant, '') = ? AND agent_id = ? AND idempotency_key = ?`,
    tenant ?? '',
    agent,
    key,
  );
  return row ?? null;
}

/** The bindings of an agent's tools, as they were from one moment on. */
export interface StoredBindings {
  readonly agent: string;
  /** The revision of the declaration, and the version of the manifest that they belong to. */
  readonly rev: number;
  readonly version: number;
  readonly digest: string;
  readonly canonical: string;
  readonly by: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** The capsule that tells of it. */
  readonly capsuleId: string;
}

/** All of them, the first ones first. */
export async function allBindings({ tenant, all }: Reading, agent: string): Promise<StoredBindings[]> {
  return all<StoredBindings>(
    `SELECT agent_id AS agent, rev, version, digest, canonical, bound_by AS "by", bound_at AS at,
       capsule_id AS "capsuleId"
     FROM manifest_bindings WHERE coalesce(tenant, '') = ? AND agent_id = ? ORDER BY rev`,
    tenant ?? '',
    agent,
  );
}

/** The bindings of a revision. Throws `MANIFEST_STORED`. */
export async function readStoredBindings(
  { tenant, all }: Reading,
  { agent, rev, bindings: digest, tools }: Declared,
): Promise<Bindings> {
  const sql = `SELECT canonical FROM manifest_bindings
     WHERE coalesce(tenant, '') = ? AND agent_id = ? AND rev = ?`;
  const [row] = await all<{ canonical: string }>(sql, tenant ?? '', agent, rev);
  const names = tools.map(({ name }) => name);
  const read = (text: string) => readBindings(text, names);
  const isIt = (bindings: Bindings) => bindings.digest === digest;
  return asAccepted(`bindings ${digest} as they were`, row?.canonical, read, isIt);
}

/** A revision of what an agent declares that is about to be stored. */
interface NewBindings {
  /** What the agent declares from now on. */
  readonly declared: Declared;
  /** The revision of what it declared before; null if nothing. */
  readonly before: number | null;
  readonly bindings: Bindings;
  readonly by: string;
  readonly at: number;
  readonly capsuleId: string;
}

/** Stores a revision behind the one that it follows, and nowhere else. Refuses with `MANIFEST_CONFLICT`. */
export function addBindings({ declared, before, bindings, by, at, capsuleId }: NewBindings): Effect {
  const { agent, version, rev } = declared;
  const text = JSON.stringify(declared);
  return async ({ tenant, run }) => {
    const moved =
      before === null
        ? await run(
            `INSERT INTO agent (tenant, agent_id, version, rev, declared) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO NOTHING`,
            ...[tenant, agent, version, rev, text],
          )
        : await run(
            `UPDATE agent SET version = ?, rev = ?, declared = ?
             WHERE coalesce(tenant, '') = ? AND agent_id = ? AND rev = ?`,
            ...[version, rev, text, tenant ?? '', agent, before],
          );
    if (moved === 0) throw conflict();
    await run(
      `INSERT INTO manifest_bindings
         (tenant, agent_id, rev, version, digest, canonical, bound_by, bound_at, capsule_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[tenant, agent, rev, version, bindings.digest, bindings.canonical, by, at, capsuleId],
    );
  };
}

/** A version that is about to be stored. */
interface NewVersion extends NewBindings {
  readonly manifest: Manifest;
  readonly version: StoredVersion;
  readonly idempotencyKey: string | null;
}

/**
 * Stores a version behind the one that it was compared with, and nowhere else. Refuses with `MANIFEST_CONFLICT` when
 * another one came first.
 */
export function addVersion({ manifest, version, idempotencyKey, ...next }: NewVersion): Effect {
  const { agent, version: number } = next.declared;
  return async (transaction) => {
    const { tenant, run } = transaction;
    await addBindings(next)(transaction);
    await run(
      `INSERT INTO manifest_content (tenant, hash, canonical) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
      tenant,
      manifest.hash,
      manifest.canonical,
    );
    await run(
      `INSERT INTO manifest_version
         (tenant, agent_id, version, hash, bytes, breaking, pushed_by, pushed_at, capsule_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[tenant, agent, number, manifest.hash, manifest.bytes, version.breaking ? 1 : 0],
      ...[version.by, version.at, version.capsuleId],
    );
    if (idempotencyKey === null) return;
    const kept = await run(
      `INSERT INTO manifest_key (tenant, agent_id, idempotency_key, hash, version) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
      ...[tenant, agent, idempotencyKey, manifest.hash, number],
    );
    if (kept === 0) throw conflict();
  };
}

function conflict(): BullaError {
  return new BullaError('MANIFEST_CONFLICT', 'Another version of the manifest came first.');
}
