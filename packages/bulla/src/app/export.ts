import { readHashed } from '@bulla/core/capsule';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { asLine } from '../os/index.ts';
import type { Chain } from '../store/index.ts';

/** A record as it is stored, on a line of its own. */
interface ExportedRecord {
  readonly sequence: number;
  readonly line: Uint8Array;
  /** Why its content is not what was sealed; null where it is. */
  readonly error: BullaError | null;
}

/**
 * The records of a chain from one on. Evidence is given whole, also where it was changed: only behind the last record
 * this throws `CAPSULE_HASH` if any was, and `CHAIN_EMPTY` if there was none.
 */
export async function* exportRecords(chain: Chain, from: number): AsyncGenerator<ExportedRecord> {
  let count = 0;
  let changed = 0;
  for await (const { sequence, data, hash } of chain.records(from)) {
    const error = changeOf(data, hash);
    count++;
    if (error !== null) changed++;
    // One line for every reader, also where somebody wrote line breaks into the database.
    yield { sequence, line: asLine(toUtf8(data)), error };
  }
  if (changed > 0)
    throw new BullaError(
      'CAPSULE_HASH',
      `The content of ${changed} of ${count} records was changed in the store.`,
    );
  if (count === 0)
    throw new BullaError('CHAIN_EMPTY', `The chain ${chain.name} has no records from ${from} on.`);
}

function changeOf(data: string, hash: string): BullaError | null {
  try {
    readHashed(data, hash);
    return null;
  } catch (error) {
    if (error instanceof BullaError) return error;
    throw error;
  }
}
