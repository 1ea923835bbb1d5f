import type { CommitmentKind } from '@bulla/core/canon';
import type { Driver, Reading } from './driver.ts';
import { indexKey } from './index-key.ts';

/** The salt, and where it is recorded the payload, that opens a commitment of a record. */
export interface Opening {
  readonly kind: CommitmentKind;
  readonly salt: Uint8Array;
  /** The payload as JSON. */
  readonly payload: string | null;
}

/** An opening with the record that it belongs to. */
export interface FoundOpening extends Opening {
  readonly chain: string;
  readonly sequence: number;
}

// Openings are rows of the append, keyed by where their record stands in its chain and what they open, so that they are
// written in order. Which record has a commitment is known to the search tables.

const COMMITMENTS = `found_commitment JOIN found ON found.record_key = found_commitment.record_key
  JOIN chain ON chain.chain_key = found.chain_key`;
const OF_COMMITMENT = `WHERE found_commitment.commitment = ? AND coalesce(chain.tenant, '') = ?`;

/** What opens a commitment, or null where there is nothing, or nothing any more. */
export async function findOpening(
  { tenant, all }: Reading,
  commitment: string,
): Promise<FoundOpening | null> {
  const [row] = await all<FoundOpening>(
    `SELECT chain.name AS chain, opening.sequence, opening.kind, opening.salt, opening.payload
     FROM ${COMMITMENTS} JOIN opening ON opening.chain_key = found.chain_key AND opening.sequence = found.sequence
       AND opening.kind = found_commitment.kind
     ${OF_COMMITMENT}
     ORDER BY opening.payload IS NULL, found.record_key LIMIT 1`,
    indexKey(commitment),
    tenant ?? '',
  );
  return row === undefined ? null : { ...row, salt: new Uint8Array(row.salt) };
}

/**
 * Erases what opens the commitments of a capsule, wherever the same commitment stands: a question and the call that it
 * was about share theirs. How many openings there were.
 */
export async function eraseOpenings(driver: Driver, capsuleId: string): Promise<number> {
  const { tenant, all } = driver.reading;
  const shared = await all<{ commitment: string }>(
    `SELECT found_commitment.commitment FROM ${COMMITMENTS}
     WHERE found.id = ? AND coalesce(chain.tenant, '') = ?`,
    indexKey(capsuleId),
    tenant ?? '',
  );
  let erased = await driver.erase(
    `DELETE FROM approved WHERE coalesce(tenant, '') = ? AND (intent = ? OR outcome = ?)`,
    ...[tenant ?? '', indexKey(capsuleId), indexKey(capsuleId)],
  );
  for (const { commitment } of shared) {
    erased += await driver.erase(
      `DELETE FROM opening WHERE (chain_key, sequence, kind) IN
       (SELECT found.chain_key, found.sequence, found_commitment.kind FROM ${COMMITMENTS} ${OF_COMMITMENT})`,
      commitment,
      tenant ?? '',
    );
  }
  return erased;
}
