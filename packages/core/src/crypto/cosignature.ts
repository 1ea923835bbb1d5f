import { BullaError } from '../error.ts';
import { concat, toUtf8 } from './bytes.ts';
import { parseCheckpointBody } from './checkpoint.ts';

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
