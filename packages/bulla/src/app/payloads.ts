import { userInfo } from 'node:os';
import { type CommitmentKind, opens } from '@bulla/core/canon';
import type { SealedCapsule } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { claimsOf, commitmentsOf, isCommitment, readEvidence, resultOf } from '@bulla/core/evidence';
import { type JsonObject, type JsonValue, memberAt, parse } from '@bulla/core/json';
import { type Removed, readRedacted } from '../record/index.ts';
import type { Store } from '../store/index.ts';
import { readFound } from './find.ts';
import type { Opened } from './open.ts';

/** What lies beside the chain of one payload of a call. */
export type KeptPayload = { readonly of: 'args' | 'rest' | 'result' } & (
  | { readonly state: 'whole'; readonly value: JsonValue }
  | { readonly state: 'redacted'; readonly value: JsonValue; readonly removed: readonly Removed[] }
  /** Only the salt is kept; the code says why, where something was to be kept. */
  | { readonly state: 'committed'; readonly code: string | null }
  /** Not even the salt is there any more. */
  | { readonly state: 'erased' }
  /** What lies there does not open the commitment of the record, and is not shown. */
  | { readonly state: 'changed' }
);

/**
 * What is kept of the payloads of a call, by the id of its intent, of its outcome or of its denial; each is held against
 * the commitment of its record. Throws `CAPSULE_NOT_FOUND`, `CAPSULE_HASH` and `EVIDENCE_INVALID`.
 */
export async function keptPayloads(store: Store, id: string): Promise<readonly KeptPayload[]> {
  const record = await lastOf(store, id);
  const commitments = commitmentsOf(record);
  const { redacted = {} } = readEvidence(record) ?? {};
  const opened = async (kind: CommitmentKind) => {
    const commitment = commitments[kind];
    if (commitment === undefined) return null;
    const opening = await store.opening(commitment.commitment);
    if (opening === null || opening.payload === null) return opening === null ? null : 'salt';
    const value = readable(opening.payload);
    const isSame =
      value !== undefined && opening.kind === kind && opens(commitment, kind, value, opening.salt);
    return isSame ? { value } : 'changed';
  };
  const kept = async (of: 'args' | 'rest' | 'result'): Promise<KeptPayload | null> => {
    if (commitments[of] === undefined) return null;
    const whole = await opened(of);
    if (whole === 'changed') return { of, state: 'changed' };
    if (whole !== null && whole !== 'salt') return { of, state: 'whole', ...whole };
    if (of !== 'rest') {
      const copy = await opened(`redacted-${of}`);
      const read = copy === null || typeof copy === 'string' ? null : readRedacted(copy.value);
      if (copy === 'changed' || (copy !== null && read === null)) return { of, state: 'changed' };
      if (read !== null) return { of, state: 'redacted', ...read };
    }
    if (whole === null) return { of, state: 'erased' };
    const why = of === 'rest' ? undefined : redacted[of];
    return { of, state: 'committed', code: why === undefined || isCommitment(why) ? null : why.uncommitted };
  };
  const all = await Promise.all((['args', 'rest', 'result'] as const).map(kept));
  return all.filter((one) => one !== null);
}

/**
 * Erases what opens the payloads of a call, whole or redacted, and what opens the same commitments elsewhere; that it was
 * asked for is recorded first. The chain stays as it is, and nobody can try out values any more. Throws as `keptPayloads`
 * does, and as an append.
 */
export async function erasePayloads(
  { store, record }: Pick<Opened, 'store' | 'record'>,
  id: string,
): Promise<{ readonly erased: number; readonly capsule: SealedCapsule }> {
  const last = await lastOf(store, id);
  const request = `Erase the payloads of ${id}`;
  const capsule = await record.act({
    ...{ type: 'auth', trigger: 'user_request', door: 'admin', source: userInfo().username },
    ...{ agentId: textAt(last, 'context', 'agent_id'), request, status: 'success' },
    evidence: { facts: { erased: id } },
  });
  return { erased: await store.eraseOpenings(textAt(last, 'id')), capsule };
}

/** The record that names all payloads of a call: its outcome, else the record itself. */
async function lastOf(store: Store, id: string): Promise<JsonObject> {
  const [found] = await store.find({ id, limit: 1 });
  if (found === undefined)
    throw new BullaError('CAPSULE_NOT_FOUND', 'The store has no capsule with this id.');
  const record = readFound(found);
  const children = await store.find({ parentId: id, type: 'tool', chain: found.chain });
  const outcomes = children.map(readFound).filter((child) => claimsOf(child).intent === id);
  return outcomes.find((outcome) => resultOf(outcome) !== null) ?? outcomes[0] ?? record;
}

function textAt(record: JsonObject, ...path: string[]): string {
  const text = memberAt(record, path);
  return typeof text === 'string' ? text : '';
}

function readable(text: string): JsonValue | undefined {
  try {
    return parse(text, { allow: ['lone-surrogates'] });
  } catch {
    return undefined;
  }
}
