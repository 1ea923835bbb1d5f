import {
  fromBase64,
  fromUtf8,
  type NoteVerifier,
  parseCheckpointBody,
  parseNote,
  toBase64,
} from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { checkSizes, HASH_BYTES, leafHash } from './merkle.ts';
import { evaluatePolicy, type Policy, type PolicyOptions, type PolicyResult } from './policy.ts';
import { verifyInclusion } from './verify.ts';

// Proofs that data was logged, https://c2sp.org/tlog-proof: text files that verify offline.

const HEADER = 'c2sp.org/tlog-proof@v1';

/** A proof taken apart; nothing in it is verified. */
export interface LogProof {
  /** Data for the application that nothing authenticates; null where there is none. */
  readonly extra: Uint8Array | null;
  readonly index: number;
  /** The inclusion proof, from the leaf's sibling up. */
  readonly hashes: readonly Uint8Array[];
  /** The signed checkpoint, as it was written. */
  readonly checkpoint: string;
}

/**
 * Reads a proof. Throws `LOG_PROOF` for anything that {@link formatProof} would not write, and the codes of
 * `parseNote` and `parseCheckpointBody` for the checkpoint in it.
 */
export function parseProof(proof: string | Uint8Array): LogProof {
  const text = typeof proof === 'string' ? proof : decode(proof);
  const blank = text.indexOf('\n\n');
  if (blank < 0) throw malformed('A proof is followed by a blank line and a checkpoint.');
  const [header, ...lines] = text.slice(0, blank).split('\n');
  if (header !== HEADER) throw malformed(`The first line of a proof is ${HEADER}.`);
  const extra = /^extra (.*)$/s.exec(lines[0] ?? '')?.[1];
  if (extra !== undefined) lines.shift();
  const index = /^index (0|[1-9][0-9]*)$/.exec(lines.shift() ?? '')?.[1];
  if (index === undefined) throw malformed('A proof names the index of its entry in decimal.');
  const parsed: LogProof = {
    extra: extra === undefined ? null : base64(extra),
    index: Number(index),
    hashes: lines.map(base64),
    checkpoint: text.slice(blank + 2),
  };
  checkProof(parsed);
  return parsed;
}

function decode(proof: Uint8Array): string {
  try {
    return fromUtf8(proof);
  } catch (cause) {
    throw malformed('A proof is valid UTF-8.', cause);
  }
}

function base64(text: string): Uint8Array {
  try {
    return fromBase64(text);
  } catch (cause) {
    throw malformed('The hashes and the extra data of a proof are canonical base64.', cause);
  }
}

/** Writes a proof. Throws what {@link parseProof} would throw for it. */
export function formatProof(proof: LogProof): string {
  checkProof(proof);
  const { extra, index, hashes, checkpoint } = proof;
  const lines = [HEADER, ...(extra === null ? [] : [`extra ${toBase64(extra)}`]), `index ${index}`];
  return [...lines, ...hashes.map(toBase64), '', checkpoint].join('\n');
}

function checkProof({ extra, index, hashes, checkpoint }: LogProof): void {
  checkSizes(index);
  if (extra?.length === 0) throw malformed('A proof without extra data has no line for it.');
  if (hashes.some((hash) => hash.length !== HASH_BYTES))
    throw malformed(`The hashes of a proof have ${HASH_BYTES} bytes.`);
  parseCheckpointBody(parseNote(checkpoint).text);
}

function malformed(message: string, cause?: unknown): BullaError {
  return new BullaError('LOG_PROOF', message, { cause });
}

/** Without witnesses. */
const LOGS_ALONE: Policy = { logs: [], witnesses: [], groups: [], quorum: 'none' };

/**
 * Checks that data is an entry of a log, in this order: the checkpoint is signed by the log itself, with a known key
 * that bears its origin as its name, and badly by no known key; the quorum of witnesses cosigned it; and the data
 * is at its place in the tree. Keys of logs in place of a policy ask for no witness: the log could then show
 * everybody another tree. Throws `LOG_UNSIGNED`, `LOG_QUORUM`, and the codes of {@link parseProof},
 * `openCheckpoint` and `verifyInclusion`.
 */
export function verifyProof(
  proof: string | Uint8Array | LogProof,
  data: Uint8Array,
  trust: Policy | readonly NoteVerifier[],
  options: PolicyOptions = {},
): PolicyResult {
  const { index, hashes, checkpoint } = isParsed(proof) ? proof : parseProof(proof);
  const result = isPolicy(trust)
    ? evaluatePolicy(trust, checkpoint, options)
    : evaluatePolicy(LOGS_ALONE, checkpoint, { logs: [...trust, ...(options.logs ?? [])] });
  if (result.log === null) {
    throw new BullaError('LOG_UNSIGNED', 'No known key of the log itself signed the checkpoint.');
  }
  if (!result.quorum) {
    throw new BullaError(
      'LOG_QUORUM',
      'The witnesses who cosigned the checkpoint are not those that the policy asks for.',
    );
  }
  const { size, root } = result.checkpoint;
  verifyInclusion({ leaf: leafHash(data), index, size, root, proof: hashes });
  return result;
}

function isParsed(proof: string | Uint8Array | LogProof): proof is LogProof {
  return typeof proof === 'object' && 'checkpoint' in proof;
}

function isPolicy(trust: Policy | readonly NoteVerifier[]): trust is Policy {
  return 'quorum' in trust;
}
