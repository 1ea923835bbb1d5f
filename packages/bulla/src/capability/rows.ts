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
  const { hash: content, text, value } = definition;
  const { agentId, agentName, staticHash, profile } = value.runtime.link;
  const rowDigest = agentDigest({ id, content, registeredAt });
  const values = [id, content, agentId, agentName, staticHash, profile, text, registeredAt, rowDigest];
  await run(
    `INSERT INTO capability_agent
       (tenant, id, content, agent_id, name, static_hash, profile, definition, registered_at, digest)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    tenant,
    ...values,
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
function agentDigest(row: Pick<AgentRow, 'id' | 'content' | 'registeredAt'>): string {
  const { id, content, registeredAt } = row;
  return digest({ id, content, registeredAt }, 'jcs');
}

/** What is kept under its hash. */
type Content = 'link' | 'envelope';

/** Adds what is not there yet. Throws `REGISTRY_CORRUPT` when something else lies under its hash. */
export async function addHashed(
  transaction: Transaction,
  what: Content,
  { hash, text }: Hashed<unknown>,
): Promise<void> {
  const { tenant, run } = transaction;
  const insert = `INSERT INTO capability_${what} (tenant, hash, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`;
  let found = await findText(transaction, what, hash);
  if (found === null) {
    if ((await run(insert, tenant, hash, text)) === 1) return;
    found = await findText(transaction, what, hash);
  }
  if (found !== text) corrupt(`What lies under ${hash} is not what was stored.`);
}

async function findText({ tenant, all }: Reading, what: Content, hash: string): Promise<string | null> {
  const sql = `SELECT data FROM capability_${what} WHERE tenant IS NOT DISTINCT FROM ? AND hash = ?`;
  const [row] = await all<{ data: string }>(sql, tenant, hash);
  return row?.data ?? null;
}

export async function findLink(reading: Reading, hash: string): Promise<Hashed<CapabilityLink> | null> {
  const text = await findText(reading, 'link', hash);
  return text === null ? null : readStoredLink(hash, text);
}

export async function findEnvelope(reading: Reading, hash: string): Promise<Hashed<EnvelopeVerdict> | null> {
  const text = await findText(reading, 'envelope', hash);
  return text === null ? null : readStoredEnvelope(hash, text);
}
