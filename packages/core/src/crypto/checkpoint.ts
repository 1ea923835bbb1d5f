import { attempt, BullaError } from '../error.ts';
import { concat, equalBytes, fromBase64, fromHex, toBase64, toUtf8 } from './bytes.ts';

// The text of a checkpoint, https://c2sp.org/tlog-checkpoint. It is read here and not with the rest of the log,
// because a cosignature by ML-DSA-44 signs the values of the lines, not the lines.

/** What a log says of itself at one size. */
export interface Checkpoint {
  /** The identity of the log, a line that is not empty. */
  readonly origin: string;
  /** The number of leaves, at most 2⁵³−1. */
  readonly size: number;
  /** The root of the Merkle tree of that size, 32 bytes. */
  readonly root: Uint8Array;
  /** Further lines, none of them empty. Not every type of signature covers them, so nothing should depend on them. */
  readonly extensions: readonly string[];
}

/** The root of a tree without leaves: the SHA-256 of nothing. Written out, so that loading this file hashes nothing. */
export const EMPTY_ROOT: Uint8Array = fromHex(
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
);

/**
 * Reads the text of a checkpoint, which ends with a newline. Throws `LOG_CHECKPOINT` for anything that
 * {@link formatCheckpointBody} would not write, and `LOG_CHECKPOINT` for a size above 2⁵³−1.
 */
export function parseCheckpointBody(text: string): Checkpoint {
  const [origin, size, root, ...rest] = text.split('\n');
  if (rest.pop() !== '') throw malformed('The text of a checkpoint is at least three lines, each ended.');
  if (!/^(0|[1-9][0-9]*)$/.test(size!))
    throw malformed('The second line of a checkpoint is a size in decimal.');
  const bytes = attempt(() => fromBase64(root!));
  if (bytes instanceof BullaError)
    throw malformed('The third line of a checkpoint is canonical base64.', bytes);
  const checkpoint = { origin: origin!, size: Number(size), root: bytes, extensions: rest };
  checkCheckpoint(checkpoint);
  return checkpoint;
}

/** Writes the text of a checkpoint. Throws what {@link parseCheckpointBody} would throw for it. */
export function formatCheckpointBody(checkpoint: Checkpoint): string {
  checkCheckpoint(checkpoint);
  const { origin, size, root, extensions } = checkpoint;
  return [origin, size, toBase64(root), ...extensions, ''].join('\n');
}

function checkCheckpoint({ origin, size, root, extensions }: Checkpoint): void {
  for (const line of [origin, ...extensions]) {
    if (line === '' || !line.isWellFormed() || /[\u0000-\u001f]/.test(line)) {
      throw malformed(
        'A line of a checkpoint is not empty and holds no control character or lone surrogate.',
      );
    }
  }
  if (!Number.isSafeInteger(size) || size < 0) {
    throw new BullaError('LOG_CHECKPOINT', 'The size of a checkpoint is an integer from 0 to 2^53 - 1.');
  }
  if (root.length !== 32) throw malformed('The root hash of a checkpoint has 32 bytes.');
  if (size === 0 && !equalBytes(root, EMPTY_ROOT))
    throw malformed('The root hash of a tree without leaves is the hash of nothing.');
}

function malformed(message: string, cause?: unknown): BullaError {
  return new BullaError('LOG_CHECKPOINT', message, { cause });
}

// What cosignatures sign, https://c2sp.org/tlog-cosignature. Both forms are made for checkpoints alone and throw
// `LOG_CHECKPOINT` for the text of any other note. Times are POSIX seconds.

/** The message of a cosignature by Ed25519. It does not hold the name of the cosigner. */
export function cosignatureMessage(text: string, time: number): Uint8Array {
  parseCheckpointBody(text);
  return toUtf8(`cosignature/v1\ntime ${time}\n${text}`);
}

/**
 * The message of a cosignature by ML-DSA-44: the name of the cosigner and the values of the first three lines. A
 * time of 0 says nothing of when. Throws `NOTE_NAME` for a name or origin over 255 bytes, and
 * `NOTE_COSIGNATURE` for extension lines, which anybody could change under such a signature.
 */
export function subtreeMessage(name: string, text: string, time: number): Uint8Array {
  const { origin, size, root, extensions } = parseCheckpointBody(text);
  if (extensions.length > 0) {
    throw new BullaError('NOTE_COSIGNATURE', 'An ML-DSA-44 cosignature does not cover extension lines.');
  }
  return concat(
    toUtf8('subtree/v1\n\0'),
    shortOpaque(name),
    uint64(time),
    shortOpaque(origin),
    uint64(0),
    uint64(size),
    root,
  );
}

/** Bytes behind a length of one byte (RFC 8446 §3.4). */
function shortOpaque(text: string): Uint8Array {
  const bytes = toUtf8(text);
  if (bytes.length <= 255) return concat(Uint8Array.of(bytes.length), bytes);
  throw new BullaError('NOTE_NAME', 'An ML-DSA-44 cosignature holds names and origins of at most 255 bytes.');
}

/** A safe integer in eight bytes, the most significant first. */
export function uint64(value: number): Uint8Array {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, BigInt(value));
  return out;
}
