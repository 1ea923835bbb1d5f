import type { Code } from '@bulla/core/codes';
import { equalBytes } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { verifyConsistency } from '@bulla/core/log';
import { counted } from '@bulla/core/text';
import { proveConsistency, rootAt, type TileSource } from '../store/index.ts';

/** How long a log was, and its root then. */
export interface LogState {
  readonly origin: string | null;
  readonly size: number;
  readonly root: Uint8Array;
}

export interface Consistency {
  readonly old: LogState;
  readonly new: LogState;
  readonly proof: readonly Uint8Array[];
  /** Why the log did not only grow: `LOG_ORIGIN` or `LOG_CONSISTENCY`; null where it did. */
  readonly problem: BullaError | null;
}

/**
 * Whether a log only grew from one state to another; a state that is a number is that of the tiles. `length` is how
 * many records these have, where that is known. Throws `USAGE` for a number beyond it, and where the first state is the
 * longer one.
 */
export async function compareStates(
  tiles: TileSource,
  old: LogState | number,
  newer: LogState | number,
  length = Number.POSITIVE_INFINITY,
): Promise<Consistency> {
  const stateOf = async (state: LogState | number) => {
    if (typeof state !== 'number') return state;
    if (state > length)
      throw new BullaError('USAGE', `The chain has ${counted(length, 'record')}, not ${state}.`);
    return { origin: null, size: state, root: await rootAt(tiles, state) };
  };
  const [a, b] = [await stateOf(old), await stateOf(newer)];
  if (a.size > b.size)
    throw new BullaError('USAGE', `The first has ${counted(a.size, 'record')}, the second only ${b.size}.`);
  return { old: a, new: b, ...(await compare(a, b, tiles)) };
}

async function compare(
  a: LogState,
  b: LogState,
  tiles: TileSource,
): Promise<Pick<Consistency, 'proof' | 'problem'>> {
  const bad = (code: Code, message: string) => ({ proof: [], problem: new BullaError(code, message) });
  if (a.origin !== null && b.origin !== null && a.origin !== b.origin)
    return bad('LOG_ORIGIN', `The first is of the log ${a.origin}, the second of ${b.origin}.`);
  if (a.size === b.size && !equalBytes(a.root, b.root))
    return bad('LOG_CONSISTENCY', `There are two different trees of ${counted(a.size, 'record')}.`);
  if (a.size === 0) return { proof: [], problem: null };
  const proof = await proveConsistency(tiles, a.size, b.size);
  try {
    verifyConsistency({ oldSize: a.size, oldRoot: a.root, size: b.size, root: b.root, proof });
    return { proof, problem: null };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return bad('LOG_CONSISTENCY', `The ${counted(b.size, 'record')} do not begin with the ${a.size}.`);
  }
}
