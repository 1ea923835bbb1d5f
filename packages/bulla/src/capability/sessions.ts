import { digest } from '@bulla/core/canon';
import { type AgentSnapshotEnvelope, type CapabilityLink, diffCapabilityLinks } from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import type { Effect, Transaction } from '../store/index.ts';
import { corrupt, type Hashed } from './hashed.ts';
import { addHashed, findLink, type Reading } from './rows.ts';

/** A session of an agent. */
export interface SessionRecord {
  /** 128 random bits, in hex. */
  readonly id: string;
  /** What the agent's maker calls it. */
  readonly agentId: string;
  /** The chain that has its capsules. */
  readonly chain: string;
  /** RFC 3339. */
  readonly openedAt: string;
  readonly turns: number;
}

/** A turn as its row says it. */
export interface TurnRow {
  readonly number: number;
  readonly agent: string;
  readonly linkHash: string;
  readonly envelopeHash: string | null;
  readonly capsuleId: string;
}

/** A transition as its row says it. */
export interface TransitionRow {
  readonly turn: number;
  readonly fromLink: string;
  readonly toLink: string;
  /** The fields of the links that differ, with commas between them. */
  readonly changed: string;
  readonly capsuleId: string;
}

type NewSession = Omit<SessionRecord, 'turns'>;

export async function addSession({ tenant, run }: Transaction, session: NewSession): Promise<void> {
  const { id, agentId, chain, openedAt } = session;
  await run(
    `INSERT INTO capability_session (tenant, id, agent_id, chain, opened_at, digest, turns)
     VALUES (?, ?, ?, ?, ?, ?, 0)`,
    ...[tenant, id, agentId, chain, openedAt, sessionDigest(session)],
  );
}

/** Throws `SESSION_UNKNOWN`, and `REGISTRY_CORRUPT`. */
export async function findSession(
  { tenant, all }: Reading,
  id: string,
  forUpdate: Transaction['forUpdate'] = '',
): Promise<SessionRecord> {
  const [row] = await all<SessionRecord & { readonly digest: string }>(
    `SELECT id, agent_id AS "agentId", chain, opened_at AS "openedAt", digest, turns FROM capability_session
     WHERE tenant IS NOT DISTINCT FROM ? AND id = ?${forUpdate}`,
    tenant,
    id,
  );
  if (row === undefined) throw new BullaError('SESSION_UNKNOWN', 'There is no session of this id.');
  const { digest: stored, ...session } = row;
  if (stored !== sessionDigest(session)) corrupt(`The session ${id} is not what was opened.`);
  return session;
}

/** Over what stays as it was. How many turns there were, the turns tell. */
function sessionDigest({ id, agentId, chain, openedAt }: NewSession): string {
  return digest({ id, agentId, chain, openedAt }, 'jcs');
}

/** A turn that is about to begin. */
interface NewTurn {
  readonly session: Pick<SessionRecord, 'id' | 'agentId' | 'chain'>;
  /** The id under which the agent is registered. */
  readonly agent: string;
  readonly link: Hashed<CapabilityLink>;
  readonly envelope: Hashed<AgentSnapshotEnvelope> | null;
  readonly capsuleId: string;
}

/** The place of a turn in its session. */
export interface Begun {
  readonly number: number;
  /** The link of the turn before, if there was one. */
  readonly before: Hashed<CapabilityLink> | null;
}

/**
 * The turn begins together with its capsule: it gets its number, its link is kept, and a transition where the link is
 * another than in the turn before. `begun` is told its place; what it is told last holds once the record is durable.
 */
export function beginTurn(turn: NewTurn, begun: (place: Begun) => void): Effect {
  return async (transaction) => {
    const { tenant, run } = transaction;
    const { session, agent, link, envelope, capsuleId } = turn;
    const found = await findSession(transaction, session.id, transaction.forUpdate);
    if (found.agentId !== session.agentId || found.chain !== session.chain)
      corrupt(`The session ${session.id} is not the one that was opened.`);
    const last = await turnRows(transaction, session.id, found.turns);
    if (last.length !== (found.turns === 0 ? 0 : 1) || (last[0]?.number ?? 0) !== found.turns)
      corrupt(`The session ${session.id} does not have the turns that it counts.`);
    const number = found.turns + 1;
    const before = last[0] === undefined ? null : await findLink(transaction, last[0].linkHash);
    if (last[0] !== undefined && before === null) corrupt(`The link ${last[0].linkHash} is missing.`);

    await addHashed(transaction, 'link', link);
    if (envelope !== null) await addHashed(transaction, 'envelope', envelope);
    await run(
      `INSERT INTO capability_turn (tenant, session_id, number, agent, link_hash, envelope_hash, capsule_id)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ...[tenant, session.id, number, agent, link.hash, envelope?.hash ?? null, capsuleId],
    );
    if (before !== null && before.hash !== link.hash) {
      await run(
        `INSERT INTO capability_transition (tenant, session_id, turn, from_link, to_link, changed, capsule_id)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        ...[tenant, session.id, number, before.hash, link.hash],
        ...[changedFields(before.value, link.value), capsuleId],
      );
    }
    await run(
      'UPDATE capability_session SET turns = ? WHERE tenant IS NOT DISTINCT FROM ? AND id = ?',
      number,
      tenant,
      session.id,
    );
    begun({ number, before });
  };
}

/** The fields that differ, as a row has them. */
export function changedFields(before: CapabilityLink, after: CapabilityLink): string {
  return diffCapabilityLinks(before, after)
    .changed.map(({ field }) => field)
    .join(',');
}

/** The turns from a number on, in order. */
export function turnRows({ tenant, all }: Reading, sessionId: string, from: number): Promise<TurnRow[]> {
  return all<TurnRow>(
    `SELECT number, agent, link_hash AS "linkHash", envelope_hash AS "envelopeHash", capsule_id AS "capsuleId"
     FROM capability_turn WHERE tenant IS NOT DISTINCT FROM ? AND session_id = ? AND number >= ? ORDER BY number`,
    tenant,
    sessionId,
    from,
  );
}

export function transitionRows({ tenant, all }: Reading, sessionId: string): Promise<TransitionRow[]> {
  return all<TransitionRow>(
    `SELECT turn, from_link AS "fromLink", to_link AS "toLink", changed, capsule_id AS "capsuleId"
     FROM capability_transition WHERE tenant IS NOT DISTINCT FROM ? AND session_id = ? ORDER BY turn`,
    tenant,
    sessionId,
  );
}
