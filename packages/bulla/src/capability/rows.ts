import { digest } from '@bulla/core/canon';
import type {
  AgentSnapshotEnvelope,
  CapabilityLink,
  CapabilityProfile,
  EnvelopeVerdict,
  RegisteredAgentWire,
  SchemaSource,
} from '@bulla/core/capability';
import type { Statements, Transaction } from '../store/index.ts';
import { corrupt, type Hashed, readStoredEnvelope, readStoredLink } from './hashed.ts';

export type Reading = Pick<Statements, 'tenant' | 'all'>;

/** An agent as it was registered. */
export interface AgentRecord {
  /** 128 random bits, in hex. */
  readonly id: string;
  /** What its maker calls it. */
  readonly agentId: string;
  readonly name: string;
  readonly staticHash: string;
  readonly profile: CapabilityProfile;
  readonly schemaSource: SchemaSource;
  /** All that the static hash is made of; its context is empty, because it is not kept. */
  readonly definition: RegisteredAgentWire;
  /** RFC 3339. */
  readonly registeredAt: string;
}

interface AgentRow {
  readonly id: string;
  readonly content: string;
  readonly agentId: string;
  readonly name: string;
  readonly staticHash: string;
  readonly profile: string;
  readonly definition: string;
  readonly registeredAt: string;
  readonly digest: string;
}

const AGENT = `SELECT id, content, agent_id AS "agentId", name, static_hash AS "staticHash", profile, definition,
  registered_at AS "registeredAt", digest FROM capability_agent WHERE tenant IS NOT DISTINCT FROM ?`;

/** Adds an agent under this id, unless the same definition is there already. */
export async function addAgent(
  { tenant, run }: Transaction,
  id: string,
  definition: Hashed<AgentSnapshotEnvelope>,
  registeredAt: string,
): Promise<void> {
  const { agentId, agentName, staticHash, profile } = definition.value.runtime.link;
  await run(
    `INSERT INTO capability_agent
       (tenant, id, content, agent_id, name, static_hash, profile, definition, registered_at, digest)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    tenant,
    id,
    definition.hash,
    agentId,
    agentName,
    staticHash,
    profile,
    definition.text,
    registeredAt,
    agentDigest({ id, content: definition.hash, registeredAt }),
  );
}

/** Throws `REGISTRY_CORRUPT`, as all that reads here does. */
export async function findAgent(
  { tenant, all }: Reading,
  by: { readonly id: string } | { readonly content: string },
): Promise<AgentRecord | null> {
  const [column, value] = 'id' in by ? ['id', by.id] : ['content', by.content];
  const [row] = await all<AgentRow>(`${AGENT} AND ${column} = ?`, tenant, value);
  return row === undefined ? null : readAgent(row);
}

/** All of them, in the order in which they were registered. */
export async function allAgents({ tenant, all }: Reading): Promise<AgentRecord[]> {
  return (await all<AgentRow>(`${AGENT} ORDER BY agent_key`, tenant)).map(readAgent);
}

function readAgent(row: AgentRow): AgentRecord {
  const { id, content, agentId, name, staticHash, profile, registeredAt } = row;
  const { envelope } = readStoredEnvelope(content, row.definition).value;
  const { link } = envelope.runtime;
  const same =
    row.digest === agentDigest(row) &&
    agentId === link.agentId &&
    name === link.agentName &&
    staticHash === link.staticHash &&
    profile === link.profile;
  if (!same || envelope.static === undefined) corrupt(`The agent ${id} is not what was registered.`);
  const { schemaSource } = link;
  return {
    ...{ id, agentId, name, staticHash, profile: link.profile, schemaSource },
    ...{ definition: envelope.static, registeredAt },
  };
}

/** Over what the definition does not hold; a row that was put together from two is found by it. */
function agentDigest({
  id,
  content,
  registeredAt,
}: Pick<AgentRow, 'id' | 'content' | 'registeredAt'>): string {
  return digest({ id, content, registeredAt }, 'jcs');
}

type Table = 'capability_link' | 'capability_envelope';

/** Adds what is not there yet. Throws `REGISTRY_CORRUPT` when something else lies under its hash. */
async function addHashed(
  { tenant, all, run }: Transaction,
  table: Table,
  hashed: Hashed<unknown>,
): Promise<void> {
  const sql = `SELECT data FROM ${table} WHERE tenant IS NOT DISTINCT FROM ? AND hash = ?`;
  const find = async () => (await all<{ data: string }>(sql, tenant, hashed.hash))[0];
  let found = await find();
  if (found === undefined) {
    const insert = `INSERT INTO ${table} (tenant, hash, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`;
    if ((await run(insert, tenant, hashed.hash, hashed.text)) === 1) return;
    found = await find();
  }
  if (found?.data !== hashed.text) corrupt(`What lies under ${hashed.hash} is not what was stored.`);
}

export function addLink(transaction: Transaction, link: Hashed<CapabilityLink>): Promise<void> {
  return addHashed(transaction, 'capability_link', link);
}

export function addEnvelope(
  transaction: Transaction,
  envelope: Hashed<AgentSnapshotEnvelope>,
): Promise<void> {
  return addHashed(transaction, 'capability_envelope', envelope);
}

async function findText({ tenant, all }: Reading, table: Table, hash: string): Promise<string | null> {
  const sql = `SELECT data FROM ${table} WHERE tenant IS NOT DISTINCT FROM ? AND hash = ?`;
  const [row] = await all<{ data: string }>(sql, tenant, hash);
  return row?.data ?? null;
}

export async function findLink(reading: Reading, hash: string): Promise<Hashed<CapabilityLink> | null> {
  const text = await findText(reading, 'capability_link', hash);
  return text === null ? null : readStoredLink(hash, text);
}

export async function findEnvelope(reading: Reading, hash: string): Promise<Hashed<EnvelopeVerdict> | null> {
  const text = await findText(reading, 'capability_envelope', hash);
  return text === null ? null : readStoredEnvelope(hash, text);
}
