import { BullaError } from '@bulla/core/error';
import { evaluatePolicy, type Policy } from '@bulla/core/log';
import type { Chain, StoredCheckpoint } from '../store/index.ts';

/** What one witness has cosigned of a chain. */
export interface SeenByWitness {
  readonly name: string;
  readonly url: string | null;
  /** The size of the largest checkpoint that it cosigned, and when by its clock; null for none. */
  readonly size: number | null;
  readonly time: string | null;
  /** How many records came after it. */
  readonly behind: number;
}

interface WitnessedChain {
  readonly records: number;
  /** The size of the newest checkpoint; null without one. */
  readonly checkpoint: number | null;
  /** Whether enough witnesses cosigned that one. */
  readonly quorum: boolean;
  readonly witnesses: readonly SeenByWitness[];
}

/** What the witnesses of a policy have cosigned of a chain, and how far that is behind its end. */
export async function witnessedChain(chain: Chain, policy: Policy): Promise<WitnessedChain> {
  const { length } = await chain.head();
  // A chain that was recovered goes on under another name, of which the old checkpoints say nothing.
  const origin = await chain.origin();
  const checkpoints = (await chain.checkpoints()).filter((checkpoint) => checkpoint.origin === origin);
  const standings = checkpoints.map(({ size, note }) => ({ size, ...standing(policy, note) }));
  const newest = standings.reduce<Standing | null>((a, b) => (a === null || b.size > a.size ? b : a), null);
  return {
    records: length,
    checkpoint: newest?.size ?? null,
    quorum: newest?.quorum ?? false,
    witnesses: policy.witnesses.map(({ name, url }) => seenBy(name, url, standings, length)),
  };
}

interface Standing extends Pick<StoredCheckpoint, 'size'> {
  readonly witnesses: readonly { readonly name: string; readonly time: number }[];
  readonly quorum: boolean;
}

function standing(policy: Policy, note: string): Omit<Standing, 'size'> {
  try {
    return evaluatePolicy(policy, note);
  } catch (error) {
    if (error instanceof BullaError && error.code === 'NOTE_UNVERIFIED')
      return { witnesses: [], quorum: policy.quorum === 'none' };
    throw error;
  }
}

function seenBy(
  name: string,
  url: string | null,
  standings: readonly Standing[],
  length: number,
): SeenByWitness {
  let best: { size: number; time: number } | null = null;
  for (const { size, witnesses } of standings) {
    const found = witnesses.find((witness) => witness.name === name);
    if (found !== undefined && (best === null || size > best.size)) best = { size, time: found.time };
  }
  const time = best && timeText(best.time);
  return { name, url, size: best?.size ?? null, time, behind: length - (best?.size ?? 0) };
}

/** A time in seconds as text; the largest that a cosignature can state have no date. */
export function timeText(time: number): string {
  return time <= 8.64e12 ? new Date(time * 1000).toISOString() : `second ${time}`;
}
