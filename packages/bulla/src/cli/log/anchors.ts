import { fromUtf8, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  type Anchor,
  type AnchorTrust,
  type Policy,
  parseCheckpointBody,
  parsePolicy,
  parseProof,
  readAnchor,
} from '@bulla/core/log';
import {
  type AnchorSources,
  anchorTrust,
  isUnknownSigner,
  missingWitnesses,
  unknownSigner,
} from '@bulla/core/verify';
import { pathsOf } from '../../app/index.ts';
import { openPublished } from '../../log/index.ts';
import { naming, readInput } from '../../os/index.ts';
import { type Chain, readCheckpointLines } from '../../store/index.ts';
import { loadPolicy } from '../../witness/index.ts';
import type { Command } from '../command.ts';
import { collect } from '../terminal/io.ts';
import { NAME_KEYS } from '../verify/hints.ts';
import type { Trust } from '../verify/trust.ts';

/** The options of the commands that hold a chain against checkpoints of it. */
export interface AnchorOptions {
  checkpoint: string[];
  policy?: string;
  tiles?: string;
}

export function anchorOptions(command: Command): Command {
  return command
    .option('--checkpoint <file>', 'a checkpoint that the chain must continue', collect, [])
    .option(
      '--policy <file>',
      'a tlog-policy file: the witnesses to trust, and how many must have seen a checkpoint',
    )
    .option('--tiles <dir|url>', 'the log as it was published, in the layout of tlog-tiles');
}

/** The policy that was named, else the one of the data directory if there is one. */
export function readPolicy({ policy }: Pick<AnchorOptions, 'policy'>): Policy | undefined {
  if (policy !== undefined) return naming(policy, () => parsePolicy(readInput(policy, 'signature')));
  return loadPolicy(pathsOf().witnesses) ?? undefined;
}

/** The checkpoints in a file: one signed note, the one of a proof, or the lines that a store keeps. */
export function readCheckpoints(file: string): string[] {
  const bytes = readInput(file, 'signature');
  try {
    const text = fromUtf8(bytes);
    const lines = readCheckpointLines(text);
    if (lines !== null) return lines;
    const note = text.startsWith('c2sp.org/tlog-proof@') ? parseProof(text).checkpoint : text;
    parseCheckpointBody(parseNote(note).text);
    return [note];
  } catch (cause) {
    const reason = cause instanceof BullaError ? ` ${cause.message}` : '';
    throw new BullaError('LOG_CHECKPOINT', `${file} holds no checkpoint.${reason}`, { cause });
  }
}

/** What a chain is compared with. */
export interface FoundAnchors {
  readonly sources: AnchorSources;
  /** Checkpoints that the store keeps and that vouch for nothing, … */
  readonly unverified: number;
  /** … and how many of them a key signed that is known, but revoked. */
  readonly revoked: number;
}

/**
 * Opens every checkpoint that was named, and with a chain of the store those that the store keeps. Throws what
 * `readAnchor` throws for one that was named, and `LOG_QUORUM` where a policy was named and no checkpoint has the
 * witnesses that it asks for. Undefined when there is none of either kind.
 */
export async function findAnchors(
  options: AnchorOptions,
  trust: Trust,
  chain?: Chain,
): Promise<FoundAnchors | undefined> {
  const policy = readPolicy(options);
  const how = anchorTrust(trust, policy);
  const demanded = options.policy === undefined ? undefined : policy;
  const published = options.tiles === undefined ? undefined : openPublished(options.tiles);
  const publishedNote = await published?.checkpoint();
  const named = options.checkpoint.map(readCheckpoints);
  if (publishedNote !== undefined) named.push([publishedNote]);
  const anchors: Anchor[] = named.flatMap((notes) => {
    const opened = notes.map((note) => openNamed(note, how));
    // A file of a store keeps every checkpoint; that one of them is witnessed is all that can be asked of it.
    const lacking = opened.map((anchor) => missingWitnesses(anchor, demanded));
    const last = lacking.at(-1) ?? null;
    if (last !== null && !lacking.includes(null)) throw new BullaError('LOG_QUORUM', last);
    return opened;
  });
  const kept = chain === undefined ? [] : await storedNotes(chain);
  let unverified = 0;
  let revoked = 0;
  for (const note of kept) {
    try {
      anchors.push(readAnchor(note, how));
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      unverified++;
      if (error.code === 'LOG_KEY_REVOKED') revoked++;
    }
  }
  const asks = demanded !== undefined && demanded.quorum !== 'none';
  if (asks && !anchors.some((anchor) => anchor.witnessed))
    throw new BullaError(
      'LOG_QUORUM',
      'A policy is named, and no checkpoint of the chain with the witnesses that it asks for.',
      { kind: 'unavailable' },
    );
  if (chain === undefined && anchors.length === 0) return undefined;
  const size = publishedNote === undefined ? 0 : parseCheckpointBody(parseNote(publishedNote).text).size;
  return { sources: { anchors, published: published && { tiles: published, size } }, unverified, revoked };
}

function openNamed(note: string, how: AnchorTrust): Anchor {
  try {
    return readAnchor(note, how);
  } catch (error) {
    if (!isUnknownSigner(error)) throw error;
    throw new BullaError(error.code, `${unknownSigner(note)} ${NAME_KEYS}`, { cause: error });
  }
}

/**
 * What the database and the file outside it keep, each once. Those of an earlier origin are left out: the record of
 * the recovery says what the chain does not continue.
 */
async function storedNotes(chain: Chain): Promise<string[]> {
  const origin = await chain.origin();
  const stored = (await chain.checkpoints())
    .filter((checkpoint) => checkpoint.origin === origin)
    .map(({ note }) => note);
  return [...new Set([...stored, ...(await chain.fileCheckpoints())])];
}
