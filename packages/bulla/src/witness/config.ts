import { dirname } from 'node:path';
import { parseVkey, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { formatPolicy, type Policy, parsePolicy, WITNESS_TYPES } from '@bulla/core/log';
import { createDirectory, fileError, findInput, naming, realDisk } from '../os/index.ts';
import { parseWitnessUrl } from './request.ts';

/** The name of the policy in the data directory. */
export const POLICY_FILE = 'witnesses.policy';

const GROUP = 'witnesses';

/** How many witnesses are enough. */
export type Quorum = 'any' | 'all' | number;

interface NewWitness {
  /** What the policy calls it. */
  readonly name: string;
  readonly vkey: string;
  readonly url: string;
  /** How many of all witnesses are enough from now on. Default: more than half. */
  readonly quorum?: Quorum | undefined;
}

/** Reads a policy; null where there is no such file. Throws `INPUT_UNREADABLE` and `LOG_POLICY`. */
export function loadPolicy(file: string): Policy | null {
  const bytes = findInput(file, 'policy');
  return bytes === null ? null : naming(file, () => parsePolicy(bytes));
}

/**
 * Adds a witness to a policy, or begins one: all its witnesses are in one group, which is the quorum. The file is
 * replaced as a whole, durably. Throws `WITNESS_POLICY_BY_HAND`, and changes nothing, for a policy that holds more than
 * that, such as comments or groups; `WITNESS_OPTION`, `WITNESS_QUORUM` and `LOG_POLICY` for what cannot
 * be added; `WITNESS_POLICY_BUSY` while another process is at it; and `INPUT_UNREADABLE` or `FILE_UNWRITABLE`.
 */
export function addWitness(file: string, { name, vkey, url, quorum }: NewWitness): Policy {
  checkUrl(url);
  return replacing(file, (bytes) => {
    const known = bytes === null ? EMPTY : naming(file, () => parsePolicy(bytes));
    if (bytes !== null && !isOurs(known, bytes)) {
      throw new BullaError(
        'WITNESS_POLICY_BY_HAND',
        `${file} was written by hand, and more would be lost than is added; put the witness in by hand too.`,
      );
    }
    const witnesses = [...known.witnesses, { name, verifier: readVkey(vkey), url }];
    const group = {
      name: GROUP,
      threshold: thresholdOf(quorum, witnesses.length),
      members: witnesses.map((witness) => witness.name),
    };
    return { ...known, witnesses, groups: [group], quorum: GROUP };
  });
}

const EMPTY: Policy = { logs: [], witnesses: [], groups: [], quorum: 'none' };

function isOurs(policy: Policy, bytes: Uint8Array): boolean {
  const [group] = policy.groups;
  const plain =
    policy.groups.length === 1 &&
    policy.quorum === GROUP &&
    group!.members.length === policy.witnesses.length;
  return plain && formatPolicy(policy) === Buffer.from(bytes).toString('utf8');
}

function readVkey(vkey: string): Policy['witnesses'][number]['verifier'] {
  let cause: unknown;
  try {
    const verifier = parseVkey(vkey);
    if (WITNESS_TYPES.includes(verifier.type)) return verifier;
  } catch (error) {
    cause = error;
  }
  const reason = cause instanceof Error ? cause.message : 'It is the key of a log.';
  throw new BullaError('WITNESS_OPTION', `This is not the verifier key of a witness: ${reason}`, { cause });
}

function checkUrl(url: string): void {
  if (parseWitnessUrl(url) !== null && !/\s/.test(url)) return;
  throw new BullaError(
    'WITNESS_OPTION',
    'The address of a witness is a URL with http or https, without a user, a query or a fragment.',
  );
}

function thresholdOf(quorum: Quorum | undefined, witnesses: number): number {
  if (quorum === undefined) return Math.floor(witnesses / 2) + 1;
  const threshold = quorum === 'any' ? 1 : quorum === 'all' ? witnesses : quorum;
  if (Number.isInteger(threshold) && threshold >= 1 && threshold <= witnesses) return threshold;
  throw new BullaError('WITNESS_QUORUM', `Of ${witnesses} witnesses, 1 to ${witnesses} can be enough.`);
}

/** Replaces a file; of two processes that do it at once one is refused, by the draft that both would write. */
function replacing(file: string, change: (bytes: Uint8Array | null) => Policy): Policy {
  createDirectory(dirname(file));
  const draft = `${file}.new`;
  const output = attempt(draft, () => realDisk.create(draft, 0o600));
  let policy: Policy;
  try {
    try {
      policy = change(findInput(file, 'policy'));
      const text = toUtf8(formatPolicy(policy));
      attempt(draft, () => {
        realDisk.write(output, text);
        realDisk.sync(output);
      });
    } finally {
      realDisk.close(output);
    }
    attempt(file, () => realDisk.rename(draft, file));
  } catch (error) {
    realDisk.remove(draft);
    throw error;
  }
  attempt(file, () => realDisk.syncDirectory(dirname(file)));
  return policy;
}

function attempt<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new BullaError(
        'WITNESS_POLICY_BUSY',
        `Another process is changing the policy; remove ${file} if none is.`,
        { cause },
      );
    }
    throw fileError('FILE_UNWRITABLE', file, 'written', cause);
  }
}
