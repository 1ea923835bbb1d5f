import type { Driver, Effect, Statements } from './driver.ts';

/** The salt, and where it is recorded the payload, that opens a commitment. */
export interface Opening {
  readonly commitment: string;
  readonly capsuleId: string;
  readonly kind: string;
  readonly salt: Uint8Array;
  readonly payload: string | null;
}

/** Keeps what opens the commitments of a record. */
export function addOpenings(openings: readonly Opening[]): Effect {
  return async ({ tenant, run }) => {
    for (const { commitment, capsuleId, kind, salt, payload } of openings) {
      await run(
        'INSERT INTO opening (tenant, commitment, capsule_id, kind, salt, payload) VALUES (?, ?, ?, ?, ?, ?)',
        tenant,
        commitment,
        capsuleId,
        kind,
        salt,
        payload,
      );
    }
  };
}

/** What opens a commitment, or null where there is nothing, or nothing any more. */
export async function findOpening(
  { tenant, all }: Pick<Statements, 'tenant' | 'all'>,
  commitment: string,
): Promise<Opening | null> {
  const [row] = await all<Opening>(
    `SELECT commitment, capsule_id AS "capsuleId", kind, salt, payload FROM opening
     WHERE coalesce(tenant, '') = ? AND commitment = ?`,
    tenant ?? '',
    commitment,
  );
  return row === undefined ? null : { ...row, salt: new Uint8Array(row.salt) };
}

/** Erases what opens the commitments of a capsule; how many there were. */
export function eraseOpenings(driver: Driver, capsuleId: string): Promise<number> {
  const sql = "DELETE FROM opening WHERE coalesce(tenant, '') = ? AND capsule_id = ?";
  return driver.erase(sql, driver.reading.tenant ?? '', capsuleId);
}
