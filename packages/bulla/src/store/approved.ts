import type { Commitment } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import type { Effect, Reading, Transaction } from './driver.ts';

// Calls under an approval, until their answers have arrived, and for a while after.

/** `open`: its host waits. `delivered`: the host has the answer. `lost`: it has not. `repeating`: it is sent again. */
export type ApprovedState = 'open' | 'delivered' | 'lost' | 'repeating';

/** A call that was begun under an approval. */
export interface ApprovedCall {
  /** The decision of a person, or the `exec_hash` of an envelope. */
  readonly approval: string;
  readonly caller: string;
  readonly args: Commitment;
  readonly salt: Uint8Array;
  /** The process that made it. */
  readonly holder: string;
  readonly intent: string;
  /** The capsule of its outcome; null while it runs, and where it is not known. */
  readonly outcome: string | null;
  /** The message that the host was to get. */
  readonly answer: string | null;
  readonly state: ApprovedState;
  /** Whether its process lives. */
  readonly isLiving: boolean;
}

interface Row extends Omit<ApprovedCall, 'args' | 'isLiving'> {
  readonly living: number;
  readonly commitment: string;
  readonly form: Commitment['of'];
}

const COLUMNS = 'approval, caller, commitment, form, salt, holder, intent, outcome, answer, state';
const FOUND = `${COLUMNS}, CASE WHEN EXISTS (SELECT 1 FROM lease WHERE coalesce(lease.tenant, '') = ?
  AND lease.instance = approved.holder AND lease.expires_at > ?) THEN 1 ELSE 0 END AS living`;
const OWN = `coalesce(tenant, '') = ? AND approval = ?`;
const SWEEP = `DELETE FROM approved WHERE approved_key IN
  (SELECT approved_key FROM approved WHERE coalesce(tenant, '') = ? AND due <= ? ORDER BY due LIMIT 64)`;

/**
 * A call begins. One that goes on takes the place of its earlier part, the intent `continues`, which must have ended;
 * refuses with `CONSENT_SPENT` where it went on before.
 */
export function beginApproved(
  {
    approval,
    caller,
    args,
    salt,
    holder,
  }: Omit<ApprovedCall, 'intent' | 'outcome' | 'answer' | 'state' | 'isLiving'>,
  keepMs: number,
  continues?: string,
): (intent: string) => Effect {
  return (intent) => async (transaction) => {
    const { tenant, run } = transaction;
    const now = await transaction.time();
    await run(SWEEP, tenant ?? '', now);
    const before = `DELETE FROM approved WHERE ${OWN} AND intent = ? AND outcome IS NOT NULL`;
    if (continues !== undefined && (await run(before, tenant ?? '', approval, continues)) === 0)
      throw new BullaError('CONSENT_SPENT', 'The call has gone on before.');
    await run(
      `INSERT INTO approved (tenant, ${COLUMNS}, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, 'open', ?)`,
      ...[tenant, approval, caller, args.commitment, args.of, salt, holder, intent, now + keepMs],
    );
  };
}

/** The answer is known, and durable with the outcome. */
export function endApproved(approval: string, outcome: string, answer: string | null): Effect {
  return async ({ tenant, run }) => {
    const set = `UPDATE approved SET outcome = ?, answer = ? WHERE ${OWN}`;
    await run(set, outcome, answer, tenant ?? '', approval);
  };
}

/** Moves a call from one state to another; false where it is in none of the former. */
export async function moveApproved(
  { tenant, run }: Transaction,
  approval: string,
  from: readonly ApprovedState[],
  to: ApprovedState,
): Promise<boolean> {
  const states = from.map(() => '?').join(', ');
  const sql = `UPDATE approved SET state = ? WHERE ${OWN} AND state IN (${states})`;
  return (await run(sql, to, tenant ?? '', approval, ...from)) > 0;
}

/** The call under this approval; null where there is none, or it is not kept any more. */
export async function findApproved(
  reading: Reading,
  approval: string,
  now: number,
): Promise<ApprovedCall | null> {
  const whose = reading.tenant ?? '';
  const sql = `SELECT ${FOUND} FROM approved WHERE ${OWN} AND due > ?`;
  const [row] = await reading.all<Row>(sql, whose, now, whose, approval, now);
  return row === undefined ? null : callOf(row);
}

/** The calls of a caller whose answers did not arrive, or whose process ended before that was known; the oldest first. */
export async function lostApproved(reading: Reading, caller: string, now: number): Promise<ApprovedCall[]> {
  const whose = reading.tenant ?? '';
  const sql = `SELECT ${FOUND} FROM approved WHERE coalesce(tenant, '') = ? AND caller = ?
    AND state IN ('lost', 'open') AND due > ? ORDER BY approved_key LIMIT 64`;
  const rows = await reading.all<Row>(sql, whose, now, whose, caller, now);
  return rows.map(callOf).filter(({ state, isLiving }) => state === 'lost' || !isLiving);
}

function callOf({ commitment, form, salt, living, ...row }: Row): ApprovedCall {
  return { ...row, isLiving: living === 1, args: { commitment, of: form }, salt: new Uint8Array(salt) };
}
