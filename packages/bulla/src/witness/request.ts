import { fromBase64, fromUtf8, toBase64 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { HASH_BYTES } from '@bulla/core/log';

// What a log sends to a witness, https://c2sp.org/tlog-witness, add-checkpoint. Anybody may send it.

/** The type of an answer 409, which tells the size that the witness cosigned last. */
export const SIZE_TYPE = 'text/x.tlog.size';

const MAX_PROOF_LINES = 63;

/** A checkpoint to be cosigned, with the proof that it continues the one that was cosigned before. */
export interface AddCheckpoint {
  readonly oldSize: number;
  readonly proof: readonly Uint8Array[];
  /** The checkpoint, a signed note; nothing in it is verified. */
  readonly note: string;
}

/** Writes the body of a request. */
export function formatAddCheckpoint({ oldSize, proof, note }: AddCheckpoint): string {
  return [`old ${oldSize}`, ...proof.map(toBase64), '', note].join('\n');
}

/** Reads the body of a request. Throws `WITNESS_REQUEST` for anything that is not exactly as specified. */
export function parseAddCheckpoint(body: Uint8Array): AddCheckpoint {
  const text = decode(body);
  const end = text.indexOf('\n\n');
  if (end < 0) throw refused('A request is lines, an empty line and a checkpoint.');
  const [first, ...lines] = text.slice(0, end).split('\n');
  const oldSize = Number(/^old (0|[1-9][0-9]*)$/.exec(first!)?.[1]);
  if (!Number.isSafeInteger(oldSize)) {
    throw refused('The first line is "old", a space and a size in decimal, at most 2^53 - 1.');
  }
  if (lines.length > MAX_PROOF_LINES) throw refused(`A proof has at most ${MAX_PROOF_LINES} lines.`);
  return { oldSize, proof: lines.map(parseHash), note: text.slice(end + 2) };
}

function decode(body: Uint8Array): string {
  try {
    return fromUtf8(body);
  } catch (cause) {
    throw refused('A request is valid UTF-8.', cause);
  }
}

function parseHash(line: string): Uint8Array {
  let hash: Uint8Array | undefined;
  try {
    hash = fromBase64(line);
  } catch {} // reported below, as for a hash of another size
  if (hash?.length === HASH_BYTES) return hash;
  throw refused('A line of the proof is a hash of 32 bytes in canonical base64.');
}

function refused(message: string, cause?: unknown): BullaError {
  return new BullaError('WITNESS_REQUEST', message, { cause });
}

/** Reads the body of an answer 409; null for one that is not exactly as specified. */
export function parseSize(body: string): number | null {
  const size = Number(/^(0|[1-9][0-9]*)\n$/.exec(body)?.[1]);
  return Number.isSafeInteger(size) ? size : null;
}

/** The address of a witness; null for what is none. */
export function parseWitnessUrl(text: string): URL | null {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  return url.username || url.search || url.hash ? null : url;
}

/** A text from outside in one line of printable ASCII, cut to a length that people read. */
export function printable(text: string, length = 120): string {
  const line = text.trim().replace(/[^\x20-\x7e]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
  return line.length > length ? `${line.slice(0, length)}...` : line;
}
