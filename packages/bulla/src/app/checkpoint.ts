import { formatVkey, noteVerifier, parseNote, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type AnchorTrust, parseCheckpointBody, readAnchor } from '@bulla/core/log';
import { counted } from '@bulla/core/text';
import { loadKeyring } from '../keys/index.ts';
import type { Chain, StoredCheckpoint } from '../store/index.ts';
import type { Opened } from './open.ts';
import { timeText } from './witnessed.ts';

/** A checkpoint as reports show it. */
interface CheckpointFacts {
  readonly origin: string;
  readonly size: number;
  /** In hex. */
  readonly root: string;
  readonly note: string;
}

export function checkpointFacts({ origin, size, note }: StoredCheckpoint): CheckpointFacts {
  const { root } = parseCheckpointBody(parseNote(note).text);
  return { origin, size, root: toHex(root), note };
}

/** Who stands behind a checkpoint: enough witnesses, the log alone, or nobody that is trusted. */
type CheckpointState = CheckpointFacts & {
  readonly state: 'anchored' | 'local' | 'unverified';
  readonly witnesses: readonly { readonly name: string; readonly time: string }[];
  /** Why nobody does. */
  readonly code?: string;
};

/** The checkpoints of a chain, the newest first, each with who stands behind it. */
export async function listCheckpoints(
  chain: Chain,
  how: AnchorTrust,
  limit: number,
): Promise<CheckpointState[]> {
  return (await chain.checkpoints(limit)).map((stored) => ({
    ...checkpointFacts(stored),
    ...stateOfNote(stored.note, how),
  }));
}

export function stateOfNote(
  note: string,
  how: AnchorTrust,
): Pick<CheckpointState, 'state' | 'witnesses' | 'code'> {
  try {
    const { witnesses, witnessed } = readAnchor(note, how);
    const seen = witnesses.map(({ name, time }) => ({ name, time: timeText(time) }));
    return { state: witnessed ? 'anchored' : 'local', witnesses: seen };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return { state: 'unverified', witnesses: [], code: error.code };
  }
}

const MANY = 1_000_000;

/** The checkpoint at this number of records, by default the newest. Throws `CHECKPOINT_MISSING`. */
export async function findCheckpoint(chain: Chain, size?: number): Promise<StoredCheckpoint> {
  const all = await chain.checkpoints(size === undefined ? 1 : MANY);
  const found = all.find((stored) => size === undefined || stored.size === size);
  if (found !== undefined) return found;
  const which = size === undefined ? '' : ` of ${counted(size, 'record')}`;
  throw new BullaError('CHECKPOINT_MISSING', `The chain ${chain.name} has no checkpoint${which}.`);
}

/** What a witness or a policy knows the log of a chain by. Throws `CHAIN_EMPTY`, and as `loadKeyring` does. */
export async function logVkey({ chain, paths }: Opened): Promise<string> {
  const { publicKey } = loadKeyring(paths.keys).active;
  const origin = await chain.origin();
  if (origin === null)
    throw new BullaError('CHAIN_EMPTY', `The chain ${chain.name} has no records, and so no log yet.`);
  return formatVkey(noteVerifier(origin, publicKey));
}
