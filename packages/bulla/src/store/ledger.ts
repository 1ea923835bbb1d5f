import {
  type NonceKey,
  nonceReplayed,
  nonceStoreFailed,
  type Permit,
  type Replay,
  type Reservation,
  reservationsOf,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import type { Effect, Reading, Transaction } from './driver.ts';
import { assertNotKilled } from './kills.ts';
import { giveBack, type Holding, lockAll, takeAll, used } from './ledger-limits.ts';
import { createPolicies, currentVersion, type Policies } from './ledger-policies.ts';

/** What became of what an execution holds of limits. Only what is released is free again. */
export type HoldState = 'reserved' | 'committed' | 'released';

/** An envelope whose nonce was consumed. */
interface Execution extends NonceKey {
  readonly exec_hash: string;
  /** The issuer and the id of the authorization that it used up. */
  readonly iss: string;
  readonly jti: string;
  readonly state: HoldState;
  /** The capsules that tell of it; there is no outcome while it is executed, or when the process died meanwhile. */
  readonly intent_id: string;
  readonly outcome_id: string | null;
}

/** An attempt that was refused, and the capsule that tells of it. */
interface Refusal {
  readonly exec_hash: string;
  readonly code: string;
  readonly capsule_id: string;
}

/** What is to be consumed, and under which conditions still. */
interface Consumption {
  readonly permit: Permit;
  /** The capsule that says what is about to be done. */
  readonly intentId: string;
  /** Unix seconds, asked within the transaction when all locks are held. Default: the clock of the database. */
  readonly now?: (() => number) | undefined;
  /** Nothing is consumed while a kill switch stands for one of these. */
  readonly agentIds: readonly string[];
}

/** Nonces, limits, policies and refusals of one tenant; what is changed is changed together with a capsule. */
export interface Ledger extends Policies {
  nonceState(key: NonceKey): Promise<Replay>;
  /** What is used of each limit, by its key. */
  usage(reservations: readonly Pick<Reservation, 'key' | 'from'>[]): Promise<Map<string, bigint>>;
  /**
   * Uses up the nonce and the id of the authorization, and takes the reservations. An id is used once, whoever says to
   * have issued it (RFC 7519 §4.1.7). Refuses with `EE_NONCE_REPLAY`, `EE_AO_USED`, `EE_CONSTRAINT_VIOLATION`,
   * `EE_TTL_EXPIRED`, `EE_POLICY_DRIFT` and `KILLED`.
   */
  consume(consumption: Consumption): Effect;
  /** Says, once, what became of an execution. Refuses with `EE_NOT_RESERVED`. What is consumed stays consumed. */
  settle(execHash: string, state: Exclude<HoldState, 'reserved'>, outcomeId: string): Effect;
  refuse(refusal: Refusal): Effect;
  execution(execHash: string): Promise<Execution | null>;
  refusals(execHash: string): Promise<Refusal[]>;
  /** Executions without an outcome, the oldest first; at most 1,000. */
  unsettled(): Promise<Execution[]>;
}

const COLUMNS = 'exec_hash, replay_scope, tenant_id, caller, nonce, iss, jti, state, intent_id, outcome_id';
const BY_HASH = `coalesce(tenant, '') = ? AND exec_hash = ?`;
const FIND = `SELECT ${COLUMNS} FROM execution WHERE ${BY_HASH}`;
const IS_USED = `SELECT 1 AS used FROM execution
  WHERE coalesce(tenant, '') = ? AND replay_scope = ? AND tenant_id = ? AND caller = ? AND nonce = ?`;
const IS_AUTHORIZATION_USED = `SELECT 1 AS used FROM execution
  WHERE coalesce(tenant, '') = ? AND jti = ?`;
const CONSUME = `INSERT INTO execution (tenant, ${COLUMNS}, held)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'reserved', ?, NULL, '[]') ON CONFLICT DO NOTHING`;
const HOLD = `UPDATE execution SET held = ? WHERE ${BY_HASH}`;
const SETTLE = `UPDATE execution SET state = ?, outcome_id = ? WHERE ${BY_HASH} AND state = 'reserved'`;
const HELD = `SELECT held FROM execution WHERE ${BY_HASH}`;
const UNSETTLED = `SELECT ${COLUMNS} FROM execution WHERE coalesce(tenant, '') = ? AND state = 'reserved'
  ORDER BY execution_key LIMIT 1000`;
const REFUSALS = `SELECT exec_hash, code, capsule_id FROM refusal WHERE ${BY_HASH} ORDER BY refusal_key`;

export function createLedger({ reading }: { readonly reading: Reading }): Ledger {
  const tenant = reading.tenant ?? '';
  return {
    nonceState: async (key) => ((await isUsed(reading, key)) ? 'seen' : 'fresh'),
    async usage(reservations) {
      const sums = new Map<string, bigint>();
      for (const reservation of reservations) sums.set(reservation.key, await used(reading, reservation));
      return sums;
    },
    consume,
    settle,
    refuse,
    ...createPolicies(reading),
    execution: async (execHash) => (await reading.all<Execution>(FIND, tenant, execHash))[0] ?? null,
    refusals: (execHash) => reading.all<Refusal>(REFUSALS, tenant, execHash),
    unsettled: () => reading.all<Execution>(UNSETTLED, tenant),
  };
}

async function isUsed({ tenant, all }: Reading, key: NonceKey): Promise<boolean> {
  const { replay_scope, tenant_id, caller, nonce } = key;
  return (await all(IS_USED, tenant ?? '', replay_scope, tenant_id, caller, nonce)).length > 0;
}

function consume({ permit, intentId, now, agentIds }: Consumption): Effect {
  const { exec_hash, nonce, authorization, envelope, policy, until } = permit;
  const { iss, jti } = authorization.claims;
  return async (transaction) => {
    // The unique indexes decide, not a look beforehand: of two that come at once, one waits for the other.
    const { replay_scope, tenant_id, caller } = nonce;
    const row = [
      transaction.tenant,
      exec_hash,
      replay_scope,
      tenant_id,
      caller,
      nonce.nonce,
      iss,
      jti,
      intentId,
    ];
    const added = await transaction.run(CONSUME, ...row);
    const locked = await lockAll(transaction, added === 0 ? [] : reservationsOf(policy, envelope, 0));
    // Nothing is waited for any more. Asked earlier, the time would be that of before the risk engine or of before
    // the wait, and what is taken would leave its window too soon.
    const time = now === undefined ? Math.floor((await transaction.time()) / 1000) : now();
    // In the order of the checklist. Said so that a clock that is not a number refuses too.
    if (!(time <= until)) throw tooLate(until, time);
    if (added === 0) throw await refusalOf(transaction, permit);
    await assertPolicyStands(transaction, envelope.policy_binding, time);
    const reservations = reservationsOf(policy, envelope, time);
    await takeAll(transaction, locked, reservations);
    await transaction.run(HOLD, writeHoldings(reservations), transaction.tenant ?? '', exec_hash);
    for (const agentId of agentIds) await assertNotKilled(transaction, agentId);
  };
}

/** Why there was no place for an execution: in the order of the checklist, its nonce or its authorization was used. */
async function refusalOf(transaction: Transaction, { nonce, authorization }: Permit): Promise<BullaError> {
  const { jti } = authorization.claims;
  if (await isUsed(transaction, nonce)) return nonceReplayed(nonce);
  const sameAuthorization = await transaction.all(IS_AUTHORIZATION_USED, transaction.tenant ?? '', jti);
  if (sameAuthorization.length === 0) return nonceStoreFailed();
  return new BullaError('EE_AO_USED', 'The authorization was used for another envelope.', {
    path: '/payload/jti',
  });
}

function tooLate(until: number, now: number): BullaError {
  const sentence = `It could be executed until ${until}, and now it is ${now}.`;
  return new BullaError('EE_TTL_EXPIRED', sentence, { path: '/constraints/ttl' });
}

/** A policy may have been published since the envelope was checked. */
async function assertPolicyStands(
  transaction: Transaction,
  bound: Permit['envelope']['policy_binding'],
  now: number,
): Promise<void> {
  const current = await currentVersion(transaction, bound.policy_id, now);
  if (current?.policy_hash === bound.policy_hash) return;
  throw new BullaError('EE_POLICY_DRIFT', 'The policy is no longer the one that was bound.', {
    path: '/policy_binding/policy_hash',
  });
}

function settle(execHash: string, state: Exclude<HoldState, 'reserved'>, outcomeId: string): Effect {
  return async (transaction) => {
    const { tenant, all, run } = transaction;
    const changed = await run(SETTLE, state, outcomeId, tenant ?? '', execHash);
    if (changed === 0)
      throw new BullaError('EE_NOT_RESERVED', 'There is no such execution whose outcome is open.');
    if (state === 'committed') return;
    const [row] = await all<{ held: string }>(HELD, tenant ?? '', execHash);
    await giveBack(transaction, readHoldings(row!.held));
  };
}

function refuse({ exec_hash, code, capsule_id }: Refusal): Effect {
  return async ({ tenant, run }) => {
    const text = 'INSERT INTO refusal (tenant, exec_hash, code, capsule_id) VALUES (?, ?, ?, ?)';
    await run(text, tenant, exec_hash, code, capsule_id);
  };
}

function writeHoldings(holdings: readonly Holding[]): string {
  return JSON.stringify(holdings.map(({ key, bucket, amount }) => [key, bucket, `${amount}`]));
}

function readHoldings(text: string): Holding[] {
  const list = JSON.parse(text) as [string, number, string][];
  return list.map(([key, bucket, amount]) => ({ key, bucket, amount: BigInt(amount) }));
}
