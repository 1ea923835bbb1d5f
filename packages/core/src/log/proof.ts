import { fromBase64, fromUtf8, parseCheckpointBody, parseNote, toBase64 } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { checkSizes, HASH_BYTES } from './merkle.ts';

// Proofs that data was logged, https://c2sp.org/tlog-proof: text files that verify offline.

const HEADER = 'c2sp.org/tlog-proof@v1';

/** A proof taken apart; nothing in it is verified. */
export interface LogProof {
  /** Data for the application that nothing authenticates; null where there is none. */
  readonly extra: Uint8Array | null;
  readonly index: number;
  /** The inclusion proof, from the leaf's sibling up. */
  readonly hashes: readonly Uint8Array[];
  readonly checkpoint: string;
}

/**
 * Reads a proof. Throws `LOG_PROOF` for anything that {@link formatProof} would not write, and the codes of
 * `parseNote` and `parseCheckpointBody` for the checkpoint in it.
 */
export function parseProof(proof: string | Uint8Array): LogProof {
  const text = typeof proof === 'string' ? proof : attempt(() => fromUtf8(proof));
  if (text instanceof BullaError) throw malformed('A proof is valid UTF-8.', text);
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

function base64(text: string): Uint8Array {
  const bytes = attempt(() => fromBase64(text));
  if (!(bytes instanceof BullaError)) return bytes;
  throw malformed('The hashes and the extra data of a proof are canonical base64.', bytes);
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
