import { canonicalize } from '@bulla/core/canon';
import {
  type CapabilityLink,
  type CapabilityLinkField,
  explainCapabilityLinkRelationship,
} from '@bulla/core/capability';
import type { SealedCapsule } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { type Evidence, readEvidence } from '@bulla/core/evidence';
import type { FoundRecord, Store } from '../store/index.ts';
import { DOOR, turnEvidence } from './evidence.ts';
import { corrupt } from './hashed.ts';
import { findLink } from './rows.ts';
import {
  changedFields,
  findSession,
  type SessionRecord,
  type TransitionRow,
  type TurnRow,
  transitionRows,
  turnRows,
} from './sessions.ts';

/** A turn of a session: what the agent could do in it, and the capsule that says so. */
export interface TurnRecord {
  readonly number: number;
  /** The id under which the agent was registered. */
  readonly agent: string;
  readonly linkHash: string;
  readonly link: CapabilityLink;
  readonly envelopeHash: string | null;
  /** The capsule with which the turn began. */
  readonly capsuleId: string;
}

/** A turn in which the agent could do something else than in the turn before. */
export interface Transition {
  readonly turn: number;
  readonly from: string;
  readonly to: string;
  readonly changed: readonly CapabilityLinkField[];
  /** How the two links stand to each other, in plain sentences. */
  readonly relation: string;
  readonly capsuleId: string;
}

/**
 * The turns of a session. Each is held against its sealed capsule, and the chain must have no turn that the rows lack:
 * the rows only make it quick to find what the chain says. Throws `SESSION_UNKNOWN`, and `REGISTRY_CORRUPT` for
 * whatever does not fit. Whether the capsules themselves are good, the verification of the chain tells.
 */
export async function readTurns(store: Store, sessionId: string): Promise<TurnRecord[]> {
  const session = await findSession(store.reading, sessionId);
  // The chain is read first: what it has by then, the rows must have.
  const capsules = await turnCapsules(store, session);
  const rows = await turnRows(store.reading, sessionId, 0);
  const { turns } = await findSession(store.reading, sessionId);
  if (rows.length > turns || rows.length < session.turns) miscounted(session);
  const known = new Set(rows.map(({ capsuleId }) => capsuleId));
  if (known.size !== rows.length || [...capsules.keys()].some((id) => !known.has(id))) miscounted(session);

  const links = new Map<string, CapabilityLink>();
  const records: TurnRecord[] = [];
  let sequence = -1;
  for (const [place, row] of rows.entries()) {
    const capsule = capsules.get(row.capsuleId) ?? (await laterCapsule(store, session, row.capsuleId));
    if (row.number !== place + 1 || capsule === undefined || capsule.sequence <= sequence)
      differs(session, row);
    sequence = capsule.sequence;
    const link = links.get(row.linkHash) ?? (await findLink(store.reading, row.linkHash))?.value;
    if (link === undefined) corrupt(`The link ${row.linkHash} is missing.`);
    links.set(row.linkHash, link);
    if (!tellsTheSame(capsule, session, row, link)) differs(session, row);
    records.push({ ...row, link });
  }
  return records;
}

/** The transitions of a session, held against its turns. Throws as `readTurns` does. */
export async function readTransitions(store: Store, sessionId: string): Promise<Transition[]> {
  const rows = await transitionRows(store.reading, sessionId);
  const turns = await readTurns(store, sessionId);
  const expected: Transition[] = [];
  for (const [place, { number, linkHash, link, capsuleId }] of turns.entries()) {
    const before = turns[place - 1];
    if (before === undefined || before.linkHash === linkHash) continue;
    const changed = changedFields(before.link, link).split(',') as CapabilityLinkField[];
    const relation = explainCapabilityLinkRelationship(before.link, link);
    expected.push({ turn: number, from: before.linkHash, to: linkHash, changed, relation, capsuleId });
  }
  // Turns may have been added since the rows were read, so that there are more now than then.
  const later = expected.slice(rows.length);
  const more = later.length === 0 ? [] : (await transitionRows(store.reading, sessionId)).slice(rows.length);
  const stored = [...rows, ...more].slice(0, expected.length);
  const same =
    rows.length <= expected.length &&
    stored.length === expected.length &&
    expected.every((transition, place) => isOf(stored[place]!, transition));
  if (!same) corrupt(`The transitions of the session ${sessionId} are not those of its turns.`);
  return expected;
}

function isOf(row: TransitionRow, { turn, from, to, changed, capsuleId }: Transition): boolean {
  return (
    row.turn === turn &&
    row.fromLink === from &&
    row.toLink === to &&
    row.changed === changed.join(',') &&
    row.capsuleId === capsuleId
  );
}

const PAGE = 1000;

/** The capsules with which turns of the session began, by id. */
async function turnCapsules(store: Store, session: SessionRecord): Promise<Map<string, SealedCapsule>> {
  const found = new Map<string, SealedCapsule>();
  const query = { chain: session.chain, sessionId: session.id, domain: DOOR, type: 'agent' } as const;
  for (let offset = 0; ; offset += PAGE) {
    const page = await store.find({ ...query, status: 'pending', limit: PAGE, offset });
    for (const one of page) {
      const capsule = read(one);
      found.set(capsule.id, capsule);
    }
    if (page.length < PAGE) return found;
  }
}

/** The capsule of a turn that began while the chain was read. */
async function laterCapsule(
  store: Store,
  session: SessionRecord,
  id: string,
): Promise<SealedCapsule | undefined> {
  const [found] = await store.find({ chain: session.chain, id });
  return found === undefined ? undefined : read(found);
}

function read({ data, intact }: FoundRecord): SealedCapsule {
  if (!intact) return corrupt('A capsule of the session was changed in the store.');
  try {
    return JSON.parse(data) as SealedCapsule;
  } catch (cause) {
    return corrupt('A capsule of the session cannot be read.', cause);
  }
}

function evidenceIn(capsule: SealedCapsule): Evidence | null {
  try {
    return readEvidence(capsule);
  } catch (error) {
    // Whoever can append to the chain can write what no session writes.
    if (error instanceof BullaError) return null;
    throw error;
  }
}

function tellsTheSame(
  capsule: SealedCapsule,
  session: SessionRecord,
  row: TurnRow,
  link: CapabilityLink,
): boolean {
  const { context, outcome, domain } = capsule;
  const expected = turnEvidence({ ...row, link });
  const told = evidenceIn(capsule);
  return (
    domain === DOOR &&
    outcome.status === 'pending' &&
    context.session_id === session.id &&
    context.agent_id === session.agentId &&
    told?.agent === expected.agent &&
    canonicalize(told.capability ?? null, 'jcs') === canonicalize(expected.capability, 'jcs')
  );
}

function differs(session: SessionRecord, { number }: TurnRow): never {
  return corrupt(`Turn ${number} of the session ${session.id} is not what its capsule says.`);
}

function miscounted({ id }: SessionRecord): never {
  return corrupt(`The session ${id} does not have the turns that its chain says.`);
}
